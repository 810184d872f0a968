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

static int
ask_should_capture(PyCodeObject *code)
{
    PyObject *callback = Py_NewRef(callbacks.should_capture);
    thread.quiet++;
    PyObject *answer = PyObject_CallOneArg(callback, (PyObject *)code);
    thread.quiet--;
    int decision = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    Py_DECREF(callback);
    return decision;
}

Record *
record_decide(PyCodeObject *code)
{
    static Record nobody_to_ask = {.decision = UNDECIDED};
    Record *record = record_find(code);
    if (record != NULL && record->decision != UNDECIDED) {
        return record;
    }
    if (callbacks.should_capture == NULL) {
        return &nobody_to_ask;
    }
    int decision = ask_should_capture(code);
    record = decision < 0 ? NULL : record_make(code);
    if (record != NULL && record->decision == UNDECIDED) {
        record->decision = decision ? CAPTURE : SKIP;
    }
    return record;
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
        drop_entries(record);
    }
}

/* Dropping entries may free code objects and with them records: start again after each. */
void
record_forget_all(void)
{
    Record *record = records;
    while (record != NULL) {
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
