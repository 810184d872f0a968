/* What a call does: the one decision that decorated functions and captured frames share.

   In: an entry and the values of the argument slots. Out: run the plain code, run a variant's code, or a finished
   result. A miss asks Python for a new variant; what it returns must hold for the very same slots, else the call
   runs plainly. */
#include "arrays.h"
#include "hook.h"

bool
is_pointless(const Entry *entry, PyObject *const *slots, Py_ssize_t arguments)
{
    if (!entry->idle) {
        return false;
    }
    for (Py_ssize_t i = 0; i < arguments; i++) {
        if (slots[i] != NULL && PyArray_CheckExact(slots[i])) {
            return false;
        }
    }
    return true;
}

int
slots_init(Slots *slots, Py_ssize_t capacity)
{
    slots->at = slots->room;
    slots->capacity = ROOM;
    if (capacity > ROOM) {
        slots->at = PyMem_Malloc(capacity * sizeof(PyObject *));
        slots->capacity = capacity;
        if (slots->at == NULL) {
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}

void
slots_free(Slots *slots)
{
    if (slots->at != slots->room) {
        PyMem_Free(slots->at);
    }
}

/* A miss may bring a variant that needs more slots than any before. */
static int
slots_grow(Slots *slots, Py_ssize_t capacity, Py_ssize_t arguments)
{
    if (capacity <= slots->capacity) {
        return 0;
    }
    PyObject **larger = PyMem_Malloc(capacity * sizeof(PyObject *));
    if (larger == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(larger, slots->at, arguments * sizeof(PyObject *));
    slots_free(slots);
    slots->at = larger;
    slots->capacity = capacity;
    return 0;
}

/* The row whose guards hold comes to the front. */
static Row *
find_row(Entry *entry, PyObject **slots, PyObject *function)
{
    for (Py_ssize_t i = 0; i < entry->count; i++) {
        Row row = entry->rows[i];
        if (program_holds(&row.variant->program, slots, function)) {
            row.variant->hits++;
            if (i > 0) {
                memmove(entry->rows + 1, entry->rows, i * sizeof(Row));
                entry->rows[0] = row;
            }
            return entry->rows;
        }
    }
    return NULL;
}

static PyObject *
ask(Entry *entry, PyObject *function, PyObject *const *slots, Py_ssize_t arguments)
{
    PyObject *miss = entry->of_frames ? callbacks.miss : entry->miss;
    PyObject *values = miss == NULL ? NULL : PyTuple_New(arguments);
    if (values == NULL) {
        return miss == NULL ? Py_NewRef(Py_None) : NULL;
    }
    for (Py_ssize_t i = 0; i < arguments; i++) {
        PyTuple_SET_ITEM(values, i, Py_NewRef(slots[i]));
    }
    Py_INCREF(miss);
    if (entry->of_frames) {
        entry->busy = true;
        entry->function = Py_NewRef(function);
    }
    PyObject *answer = call_aside(miss, (PyObject *const[]){(PyObject *)entry, values}, 2);
    if (entry->of_frames) {
        Py_CLEAR(entry->function);
        entry->busy = false;
    }
    Py_DECREF(miss);
    Py_DECREF(values);
    return answer;
}

/* Asks for a variant and adds it: RUN if it was added, PLAIN if there is none, or if the entry has come to stand for
   other code meanwhile. */
static Outcome
handle_miss(Entry *entry, PyObject *function, Slots *slots, Py_ssize_t arguments)
{
    if (entry->busy) {
        return PLAIN; /* another thread is asking for these frames */
    }
    PyCodeObject *code = (PyCodeObject *)Py_NewRef(entry->code);
    PyObject *answer = ask(entry, function, slots->at, arguments);
    bool current = entry->code == code;
    Py_DECREF(code);
    if (answer == NULL) {
        return FAILED;
    }
    Outcome outcome = PLAIN;
    if (Py_IS_TYPE(answer, VariantType) && current) {
        bool ready = entry_add(entry, (Variant *)answer) == 0 && slots_grow(slots, entry->slots, arguments) == 0;
        outcome = ready ? RUN : FAILED;
    } else if (!Py_IS_TYPE(answer, VariantType) && answer != Py_None) {
        PyErr_Format(PyExc_TypeError, "the miss callback returned %.100s, not a Variant or None",
                     Py_TYPE(answer)->tp_name);
        outcome = FAILED;
    }
    Py_DECREF(answer);
    return outcome;
}

Outcome
choose(Entry *entry, PyObject *function, Slots *slots, Py_ssize_t arguments, Row *row, PyObject **result)
{
    Row *found = find_row(entry, slots->at, function);
    if (found == NULL) {
        if (is_pointless(entry, slots->at, arguments)) {
            return PLAIN;
        }
        Outcome outcome = handle_miss(entry, function, slots, arguments);
        if (outcome != RUN) {
            return outcome;
        }
        found = find_row(entry, slots->at, function);
        if (found == NULL) {
            return PLAIN;
        }
    }
    row->variant = (Variant *)Py_NewRef(found->variant);
    row->clone = Py_XNewRef(found->clone);
    Outcome outcome = RUN;
    if (row->variant->direct.executor != NULL) {
        outcome = variant_run(row->variant, slots->at, result);
    }
    if (outcome != PLAIN) {
        counts.evaluated += row->variant->evaluated;
    }
    if (outcome != RUN) {
        Py_CLEAR(row->variant);
        Py_CLEAR(row->clone);
    }
    return outcome;
}
