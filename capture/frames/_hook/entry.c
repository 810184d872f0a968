/* Calling an entry: the way from a call of a decorated function to its result.

   In: a vectorcall. Out: the result of a variant's executor, of its code, or of the plain function; continuations that
   replacement code hands back are run here one after the other, so that they do not nest. */
#include "hook.h"

/* ---- rows ---- */

/* A replacement must take exactly the arguments and free variables the original takes. */
static bool
same_signature(PyCodeObject *a, PyCodeObject *b)
{
    const int flags = CO_VARARGS | CO_VARKEYWORDS | CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    return a->co_argcount == b->co_argcount && a->co_posonlyargcount == b->co_posonlyargcount &&
           a->co_kwonlyargcount == b->co_kwonlyargcount && a->co_nfreevars == b->co_nfreevars &&
           (a->co_flags & flags) == (b->co_flags & flags);
}

int
entry_add(Entry *entry, Variant *variant)
{
    for (Py_ssize_t i = 0; i < entry->count; i++) {
        if (entry->rows[i].variant == variant) {
            return 0;
        }
    }
    if (entry->code == NULL || !same_signature(entry->code, variant->code)) {
        PyErr_SetString(PyExc_ValueError, "the variant's code takes other arguments than the function");
        return -1;
    }
    Row *rows = PyMem_Realloc(entry->rows, (entry->count + 1) * sizeof(Row));
    if (rows == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    entry->rows = rows;
    PyObject *clone = NULL;
    if (!entry->of_frames) {
        clone = clone_function(entry->function, variant);
        if (clone == NULL) {
            return -1;
        }
    }
    rows[entry->count++] = (Row){(Variant *)Py_NewRef(variant), clone};
    entry->slots = Py_MAX(entry->slots, variant->program.slots);
    return 0;
}

void
entry_clear_rows(Entry *entry)
{
    Row *rows = entry->rows;
    Py_ssize_t count = entry->count;
    entry->rows = NULL;
    entry->count = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_DECREF(rows[i].variant);
        Py_XDECREF(rows[i].clone);
    }
    PyMem_Free(rows);
}

Entry *
entry_for_frames(PyCodeObject *code, PyObject *globals)
{
    Entry *entry = (Entry *)EntryType->tp_alloc(EntryType, 0);
    if (entry != NULL) {
        entry->vectorcall = entry_call;
        entry->code = code;
        entry->globals = Py_NewRef(globals);
        entry->of_frames = true;
        entry->slots = argument_count(code);
    }
    return entry;
}

/* ---- calling ---- */

/* The user may give a function other code: variants of the old one are void. */
static void
follow_code(Entry *entry)
{
    PyObject *code = PyFunction_GET_CODE(entry->function);
    if (code != (PyObject *)entry->code) {
        Py_SETREF(entry->code, (PyCodeObject *)Py_NewRef(code));
        entry_clear_rows(entry);
        entry->slots = argument_count(entry->code);
    }
}

/* Defaults may be replaced too; they are the only part of a function, besides its code, that can. */
static int
follow_defaults(PyObject *clone, PyObject *original)
{
    PyObject *defaults = PyFunction_GET_DEFAULTS(original), *keywords = PyFunction_GET_KW_DEFAULTS(original);
    if (PyFunction_GET_DEFAULTS(clone) != defaults &&
        PyFunction_SetDefaults(clone, defaults == NULL ? Py_None : defaults) < 0) {
        return -1;
    }
    if (PyFunction_GET_KW_DEFAULTS(clone) != keywords &&
        PyFunction_SetKwDefaults(clone, keywords == NULL ? Py_None : keywords) < 0) {
        return -1;
    }
    return 0;
}

/* Kept apart from the call itself: the slots must not lie on the C stack of a deep recursion. */
static Py_NO_INLINE Outcome
decide(Entry *entry, PyObject *const *args, size_t nargsf, PyObject *kwnames, Row *row, PyObject **result)
{
    Slots slots;
    Packed packed;
    follow_code(entry);
    if (slots_init(&slots, entry->slots) < 0) {
        return FAILED;
    }
    Outcome outcome = PLAIN;
    PyFunctionObject *function = (PyFunctionObject *)entry->function;
    if (bind_arguments(function, args, PyVectorcall_NARGS(nargsf), kwnames, slots.at, &packed)) {
        outcome = choose(entry, entry->function, &slots, argument_count(entry->code), row, result);
        packed_free(&packed);
    }
    slots_free(&slots);
    return outcome;
}

/* Runs code that may call more code to capture: that is captured on behalf of this entry. */
static PyObject *
call_armed(PyThreadState *tstate, Entry *entry, PyObject *clone, PyObject *const *args, size_t nargsf,
           PyObject *kwnames, PyObject *given)
{
    PyObject *outer = thread.info;
    int outer_scope = thread.scope;
    thread.scope = 0;
    thread.info = Py_XNewRef(entry->info);
    hook_arm();
    PyObject *result = call_function(tstate, clone, args, nargsf, kwnames, given);
    hook_disarm();
    Py_XDECREF(thread.info);
    thread.info = outer;
    thread.scope = outer_scope;
    return result;
}

/* Runs a variant's code in a frame of its own. */
static PyObject *
run_row(PyThreadState *tstate, Entry *entry, Row *row, PyObject *const *args, size_t nargsf, PyObject *kwnames,
        PyObject *given)
{
    PyObject *result = NULL;
    if (follow_defaults(row->clone, entry->function) < 0) {
        Py_XDECREF(given);
    } else if (row->variant->native && callbacks.nested && !entry->of_scope) {
        result = call_armed(tstate, entry, row->clone, args, nargsf, kwnames, given);
    } else {
        result = call_function(tstate, row->clone, args, nargsf, kwnames, given);
    }
    Py_DECREF(row->variant);
    Py_DECREF(row->clone);
    return result;
}

/* One call, without running the continuation it may return. `given`, stolen, is a tuple that holds the arguments and is
   given up as soon as a frame has them, so that they do not live longer than in plain Python. */
PyObject *
entry_run_once(Entry *entry, PyObject *const *args, size_t nargsf, PyObject *kwnames, PyObject *given)
{
    PyThreadState *tstate = PyThreadState_Get();
    Row row;
    PyObject *result = NULL;
    Outcome outcome = PLAIN;
    if (!entry->plain && !thread.quiet && !stack_is_short() && !is_watched(tstate, entry->code)) {
        outcome = decide(entry, args, nargsf, kwnames, &row, &result);
    }
    if (given != NULL) {
        *(outcome == PLAIN ? &counts.plain_rests : &counts.rests) += 1;
    }
    if (outcome == RUN) {
        return run_row(tstate, entry, &row, args, nargsf, kwnames, given);
    }
    if (outcome == PLAIN) {
        PyObject *function = Py_NewRef(entry->function);
        result = call_function(tstate, function, args, nargsf, kwnames, given);
        Py_DECREF(function);
        return result;
    }
    Py_XDECREF(given);
    return result;
}

PyObject *
entry_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Entry *entry = (Entry *)self;
    if (entry->of_frames) {
        PyErr_SetString(PyExc_TypeError, "the entry of captured frames is not callable");
        return NULL;
    }
    if (entry->function == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "this entry was cleared by the garbage collector");
        return NULL;
    }
    PyObject *result = entry_run_once(entry, args, nargsf, kwnames, NULL);
    return result != NULL && Py_IS_TYPE(result, ContinuationType) ? continuation_run(result) : result;
}
