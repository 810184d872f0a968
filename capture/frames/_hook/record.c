/* What is remembered per code object: whether its frames are captured, and their entries.

   In: a code object. Out: its record, kept in the code object's extra storage, so finding it costs a few nanoseconds and
   it dies with the code. The garbage collector cannot see into that storage: nothing here owns the code or a function. */
#include "hook.h"

#define MOST_NAMESPACES 8

static Py_ssize_t extra_index = -1;
static Record *records; /* all of them, newest first */

/* Entries outlive their code if somebody holds them: they forget it. */
static void
drop_entries(Record *record)
{
    Entry **entries = record->entries;
    Py_ssize_t count = record->count;
    record->entries = NULL;
    record->count = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        entry_clear_rows(entries[i]);
        entries[i]->code = NULL;
        Py_DECREF(entries[i]);
    }
    PyMem_Free(entries);
}

static void
record_free(void *extra)
{
    Record *record = extra;
    if (record == NULL) {
        return;
    }
    *(record->previous == NULL ? &records : &record->previous->next) = record->next;
    if (record->next != NULL) {
        record->next->previous = record->previous;
    }
    drop_entries(record);
    PyMem_Free(record);
}

int
record_init(void)
{
    extra_index = CODE_EXTRA_INDEX(record_free);
    if (extra_index < 0) {
        PyErr_SetString(PyExc_ImportError, "no room for data of code objects: too many other users");
        return -1;
    }
    return 0;
}

Record *
record_find(PyCodeObject *code)
{
    void *extra = NULL;
    if (CODE_EXTRA_GET((PyObject *)code, extra_index, &extra) < 0) {
        PyErr_Clear();
        return NULL;
    }
    return extra;
}

static Record *
record_make(PyCodeObject *code)
{
    Record *record = record_find(code);
    if (record != NULL) {
        return record;
    }
    record = PyMem_Calloc(1, sizeof(Record));
    if (record == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (CODE_EXTRA_SET((PyObject *)code, extra_index, record) < 0) {
        PyMem_Free(record);
        return NULL;
    }
    record->next = records;
    if (records != NULL) {
        records->previous = record;
    }
    records = record;
    return record;
}

int
record_replacement(PyCodeObject *code)
{
    Record *record = record_make(code);
    if (record == NULL) {
        return -1;
    }
    record->decision = REPLACEMENT;
    return 0;
}

/* 1, 0, or -1 with an exception; without a callback the answer is 0. */
static int
ask(PyObject *callback, PyObject *const *args, Py_ssize_t nargs)
{
    if (callback == NULL) {
        return 0;
    }
    Py_INCREF(callback);
    PyObject *answer = call_aside(callback, args, nargs);
    int decision = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    Py_DECREF(callback);
    return decision;
}

static int
decide_below(PyCodeObject *code, Record **record)
{
    if (*record == NULL || (*record)->decision == UNDECIDED) {
        if (callbacks.should_capture == NULL) {
            return 0; /* for now */
        }
        int decision = ask(callbacks.should_capture, (PyObject *const[]){(PyObject *)code}, 1);
        *record = decision < 0 ? NULL : record_make(code);
        if (*record == NULL) {
            return -1;
        }
        if ((*record)->decision == UNDECIDED) {
            (*record)->decision = decision ? CAPTURE : SKIP;
        }
    }
    return (*record)->decision == CAPTURE;
}

static int
decide_in_scope(PyCodeObject *code, PyObject *globals, int scope, Record **record)
{
    const uint64_t bit = (uint64_t)1 << scope;
    if (*record == NULL || !((*record)->asked & bit)) {
        PyObject *number = PyLong_FromLong(scope);
        if (number == NULL) {
            return -1;
        }
        int decision = ask(callbacks.in_scope, (PyObject *const[]){(PyObject *)code, globals, number}, 3);
        Py_DECREF(number);
        *record = decision < 0 ? NULL : record_make(code);
        if (*record == NULL) {
            return -1;
        }
        (*record)->asked |= bit;
        (*record)->inside |= decision ? bit : 0;
    }
    return ((*record)->inside & bit) != 0 && (*record)->decision != REPLACEMENT;
}

int
record_decide(PyCodeObject *code, PyObject *globals, int scope, Record **record)
{
    *record = record_find(code);
    return scope > 0 ? decide_in_scope(code, globals, scope, record) : decide_below(code, record);
}

Entry *
record_entry(Record *record, PyCodeObject *code, PyObject *globals)
{
    for (Py_ssize_t i = 0; i < record->count; i++) {
        if (record->entries[i]->globals == globals) {
            return record->entries[i];
        }
    }
    if (record->count == MOST_NAMESPACES) {
        return NULL;
    }
    Entry **entries = PyMem_Realloc(record->entries, (record->count + 1) * sizeof(Entry *));
    if (entries == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    record->entries = entries;
    Entry *entry = entry_for_frames(code, globals);
    if (entry != NULL) {
        entries[record->count++] = entry;
    }
    return entry;
}

void
record_forget(PyCodeObject *code)
{
    Record *record = record_find(code);
    if (record != NULL && record->decision != REPLACEMENT) {
        record->decision = UNDECIDED;
        record->asked = record->inside = 0;
        drop_entries(record);
    }
}

/* The number is about to stand for another scope. */
void
record_forget_scope(int scope)
{
    const uint64_t bit = (uint64_t)1 << scope;
    scopes_known &= ~bit;
    for (Record *record = records; record != NULL; record = record->next) {
        record->asked &= ~bit;
        record->inside &= ~bit;
    }
}

/* Dropping entries may free code objects and with them records: start again after each. */
void
record_forget_all(void)
{
    Record *record = records;
    while (record != NULL) {
        record->asked = record->inside = 0;
        if (record->decision == REPLACEMENT || (record->decision == UNDECIDED && record->count == 0)) {
            record = record->next;
            continue;
        }
        bool had_entries = record->count > 0;
        record->decision = UNDECIDED;
        drop_entries(record);
        record = had_entries ? records : record->next;
    }
}
