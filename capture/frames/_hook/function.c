/* Functions with an entry of their own: scopes without the frame hook, from 3.12.

   In: functions, as they are made. Out: those whose code is in a scope and has array work are called through here, and
   go on as captured frames do; all others get their own entry back at their first calls, and cost nothing from then on.
   What is called while no thread is in a scope gets its own entry back until one is entered again. */
#include "arrays.h"
#include "hook.h"

vectorcallfunc plain_vectorcall; /* of all Python functions without an entry of their own */

#if FUNCTIONS_HAVE_ENTRIES

/* Calls without an array among the arguments that code without array work so far may have, before it is left alone. */
#define MOST_POINTLESS 64

/* References to functions that are parked, at first; then as many as there are, and half as many again. */
#define FEW_PARKED 256

static int watcher = -1;
static PyObject *parked; /* list of weak references to functions that wait for a scope to be entered */
static Py_ssize_t most_parked = FEW_PARKED;

static PyObject *call_plain(PyThreadState *tstate, PyObject *function, PyObject *const *args, size_t nargsf,
                            PyObject *kwnames);

static bool
has_array(PyObject *const *args, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyArray_CheckExact(args[i])) {
            return true;
        }
    }
    return false;
}

/* ---- functions that wait ---- */

static void
forget_dead(PyObject *references)
{
    Py_ssize_t alive = 0, count = PyList_GET_SIZE(references);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *reference = PyList_GET_ITEM(references, i), *function = weakly_referenced(reference);
        if (function != NULL) {
            Py_DECREF(function);
            PyList_SetItem(references, alive++, Py_NewRef(reference));
        }
    }
    (void)PyList_SetSlice(references, alive, count, NULL);
    most_parked = Py_MAX(FEW_PARKED, alive + alive / 2);
}

/* What cannot be noted is no longer watched at all. */
static void
park(PyFunctionObject *function)
{
    PyFunction_SetVectorcall(function, plain_vectorcall);
    PyObject *reference = PyWeakref_NewRef((PyObject *)function, NULL);
    if (parked == NULL) {
        parked = PyList_New(0);
    }
    if (reference != NULL && parked != NULL && PyList_Append(parked, reference) == 0) {
        Py_DECREF(reference);
        if (PyList_GET_SIZE(parked) > most_parked) {
            forget_dead(parked);
        }
        return;
    }
    Py_XDECREF(reference);
    PyErr_Clear();
}

void
functions_unpark(void)
{
    PyObject *references = parked;
    parked = NULL;
    for (Py_ssize_t i = 0; references != NULL && i < PyList_GET_SIZE(references); i++) {
        PyObject *function = weakly_referenced(PyList_GET_ITEM(references, i));
        if (function != NULL) {
            function_watch((PyFunctionObject *)function);
            Py_DECREF(function);
        }
    }
    Py_XDECREF(references);
}

/* ---- calls ---- */

/* Whether a call may be captured. `*keep` is false if no later call will be either. */
static Entry *
find_entry(PyThreadState *tstate, PyFunctionObject *function, PyObject *const *args, Py_ssize_t count, bool *keep)
{
    PyCodeObject *code = (PyCodeObject *)function->func_code;
    Record *record;
    *keep = false;
    if (!is_capturable_code(code) || stack_is_short()) {
        return NULL;
    }
    *keep = true;
    int scope = current_scope();
    if (thread.quiet || thread.armed > 0 || is_watched(tstate, code)) {
        return NULL; /* where the hook is armed it sees the frame */
    }
    if (scope == 0) {
        if (scopes_entered == 0) {
            park(function);
        }
        return NULL;
    }
    int captured = record_decide(code, function->func_globals, scope, &record);
    if (captured == 0) {
        *keep = record_may_be_inside(record, scopes_known);
        return NULL;
    }
    Entry *entry = captured > 0 ? record_entry(record, code, function->func_globals) : NULL;
    *keep = entry != NULL && !entry->plain;
    if (!*keep) {
        return NULL;
    }
    if (entry->idle && entry->count == 0 && !has_array(args, count)) {
        *keep = ++entry->pointless <= MOST_POINTLESS;
        return NULL;
    }
    return entry;
}

/* Kept apart for the same reason as in entry.c. */
static Py_NO_INLINE Outcome
decide_call(Entry *entry, PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames, Row *row,
            PyObject **result)
{
    Slots slots;
    Packed packed;
    if (slots_init(&slots, entry->slots) < 0) {
        return FAILED;
    }
    Outcome outcome = PLAIN;
    if (bind_arguments((PyFunctionObject *)function, args, PyVectorcall_NARGS(nargsf), kwnames, slots.at, &packed)) {
        outcome = choose(entry, function, &slots, argument_count(entry->code), row, result);
        packed_free(&packed);
    }
    slots_free(&slots);
    return outcome;
}

static PyObject *
run_clone(PyThreadState *tstate, PyObject *function, Row *row, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *clone = clone_function(function, row->variant);
    PyObject *result = clone == NULL ? NULL : call_function(tstate, clone, args, nargsf, kwnames, NULL);
    Py_XDECREF(clone);
    Py_DECREF(row->variant);
    Py_XDECREF(row->clone);
    return result != NULL && Py_IS_TYPE(result, ContinuationType) ? continuation_run(result) : result;
}

static PyObject *
call_watched(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyThreadState *tstate = PyThreadState_Get();
    Py_ssize_t count = PyVectorcall_NARGS(nargsf) + (kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames));
    bool keep;
    Entry *entry = find_entry(tstate, (PyFunctionObject *)function, args, count, &keep);
    if (entry == NULL && PyErr_Occurred()) {
        return NULL;
    }
    if (!keep) {
        PyFunction_SetVectorcall((PyFunctionObject *)function, plain_vectorcall);
    }
    if (entry == NULL) {
        return call_plain(tstate, function, args, nargsf, kwnames);
    }
    Row row;
    PyObject *result = NULL;
    Py_INCREF(entry);
    Outcome outcome = decide_call(entry, function, args, nargsf, kwnames, &row, &result);
    Py_DECREF(entry);
    if (outcome == RUN) {
        return run_clone(tstate, function, &row, args, nargsf, kwnames);
    }
    return outcome == PLAIN ? call_plain(tstate, function, args, nargsf, kwnames) : result;
}

/* Calls between Python functions take nothing of CPython's counter of C calls: neither does this. */
static PyObject *
call_plain(PyThreadState *tstate, PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    int taken = recursion_enter(tstate, 1, stack_share());
    PyObject *result = plain_vectorcall(function, args, nargsf, kwnames);
    recursion_leave(tstate, taken);
    return result;
}

/* ---- which functions ---- */

void
function_watch(PyFunctionObject *function)
{
    PyCodeObject *code = (PyCodeObject *)function->func_code;
    Record *record = record_find(code);
    bool outside = record != NULL && (record->decision == REPLACEMENT || !record_may_be_inside(record, scopes_known));
    if (!outside && is_capturable_code(code) && function->vectorcall == plain_vectorcall) {
        /* A function is given its code's version after it was announced here: with one, calls would be specialised. */
        code->co_version = 0;
        PyFunction_SetVectorcall(function, call_watched);
    }
}

static int
note_function(PyFunction_WatchEvent event, PyFunctionObject *function, PyObject *unused)
{
    if (event == PyFunction_EVENT_CREATE) {
        function_watch(function);
    }
    return 0;
}

bool
functions_watch(void)
{
    if (watcher < 0) {
        watcher = PyFunction_AddWatcher(note_function);
    }
    return watcher >= 0;
}

#else

void
function_watch(PyFunctionObject *function)
{
}

bool
functions_watch(void)
{
    return true;
}

void
functions_unpark(void)
{
}

#endif

int
function_init(PyObject *code)
{
    PyObject *globals = PyDict_New();
    PyObject *function = globals == NULL ? NULL : PyFunction_New(code, globals);
    Py_XDECREF(globals);
    if (function == NULL) {
        return -1;
    }
    plain_vectorcall = ((PyFunctionObject *)function)->vectorcall;
    Py_DECREF(function);
    return 0;
}
