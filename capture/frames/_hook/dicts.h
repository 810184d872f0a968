/* Reading exact dicts without running user code. */
#ifndef CAPTURE_DICTS_H
#define CAPTURE_DICTS_H

#include "constants.h"
#include "steps.h"

/* A table with general keys: compares hashes as stored, and only keys whose comparison is Python's own. */
static PyObject *
search_general(PyDictObject *dict, PyObject *key, Py_hash_t hash, bool *undecided)
{
    PyDictKeyEntry *entry = DK_ENTRIES(dict->ma_keys);
    for (Py_ssize_t i = 0; i < dict->ma_keys->dk_nentries; i++, entry++) {
        if (entry->me_value == NULL || entry->me_hash != hash) {
            continue;
        }
        if (entry->me_key == key) {
            return entry->me_value;
        }
        if (!is_plain_constant(entry->me_key)) {
            *undecided = true;
            return NULL;
        }
        int equal = PyObject_RichCompareBool(entry->me_key, key, Py_EQ);
        if (equal < 0) { /* a comparison counts as a call, and this one was too deep */
            PyErr_Clear();
            *undecided = true;
            return NULL;
        }
        if (equal) {
            return entry->me_value;
        }
    }
    return NULL;
}

static PyObject *
search_dict(PyObject *dict, PyObject *key, Py_hash_t hash, bool *undecided)
{
    PyDictObject *table = (PyDictObject *)dict;
    if (!DK_IS_UNICODE(table->ma_keys)) {
        return search_general(table, key, hash, undecided);
    }
    PyObject *value = _PyDict_GetItem_KnownHash(dict, key, hash);
    if (value == NULL) {
        PyErr_Clear();
    }
    return value;
}

/* The value at position `index` of a table with string keys, if it belongs to exactly this key. */
static inline PyObject *
entry_at(PyDictObject *dict, Py_ssize_t index, PyObject *key)
{
    PyDictUnicodeEntry *entry = DK_UNICODE_ENTRIES(dict->ma_keys) + index;
    if (entry->me_key != key) {
        return NULL;
    }
    return dict->ma_values != NULL ? dict->ma_values->values[index] : entry->me_value;
}

static Py_ssize_t
find_position(PyDictKeysObject *keys, PyObject *key)
{
    for (Py_ssize_t i = 0; i < keys->dk_nentries; i++) {
        if (DK_UNICODE_ENTRIES(keys)[i].me_key == key) {
            return i;
        }
    }
    return HINT_USELESS;
}

static Py_NO_INLINE PyObject *
search_and_remember(Step *step, PyObject *dict)
{
    bool undecided = false;
    PyObject *value = search_dict(dict, step->key, step->hash, &undecided);
    PyDictKeysObject *keys = ((PyDictObject *)dict)->ma_keys;
    if (value != NULL && step->hint != HINT_USELESS && DK_IS_UNICODE(keys)) {
        step->hint = find_position(keys, step->key);
    }
    return value;
}

static inline PyObject *
read_dict(Step *step, PyObject *dict)
{
    PyDictKeysObject *keys = ((PyDictObject *)dict)->ma_keys;
    if (step->hint >= 0 && step->hint < keys->dk_nentries && DK_IS_UNICODE(keys)) {
        PyObject *value = entry_at((PyDictObject *)dict, step->hint, step->key);
        if (value != NULL) {
            return value;
        }
    }
    return search_and_remember(step, dict);
}

#endif
