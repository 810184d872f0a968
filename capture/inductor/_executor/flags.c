/* Floating-point status: which errors NumPy would tell of here and now, and telling of them.
 *
 * Kernels keep one flag word per operation. The errstate is read where NumPy 2 keeps it (a context variable that
 * holds a capsule; its first field packs the modes), or by `np.geterr` if a self-test at import finds that this
 * NumPy keeps it elsewhere. */
#include "executor.h"

#define MODE_BITS 3
#define MODE_MASK 7
enum { MODE_IGNORE, MODE_WARN };

/* NumPy's order, which is also the order of its warnings for one operation. */
static const uint32_t KINDS[] = {FLAG_DIVIDE, FLAG_OVERFLOW, FLAG_UNDERFLOW, FLAG_INVALID};
enum { KIND_COUNT = sizeof(KINDS) / sizeof(KINDS[0]) };
#define ALL_KINDS (FLAG_DIVIDE | FLAG_OVERFLOW | FLAG_UNDERFLOW | FLAG_INVALID)

static PyObject *errstate_variable; /* the context variable, NULL if this NumPy has none */
static PyObject *errstate_reader;   /* called instead if it is set */
static PyObject *errstate_maker;    /* of states that raise */
static PyObject *raising_state;     /* the last one it has made, for these modes */
static int raising_modes = -1;
static PyObject *warnings_namespace, *filters_name;

/* ------------------------------------------------------------------ errstate */

int
errstate_modes(void)
{
    PyObject *state;
    if (errstate_reader != NULL || errstate_variable == NULL) {
        PyObject *modes = errstate_reader == NULL ? PyLong_FromLong(-1) : PyObject_CallNoArgs(errstate_reader);
        int packed = modes == NULL ? -1 : (int)PyLong_AsLong(modes);
        Py_XDECREF(modes);
        return packed;
    }
    if (PyContextVar_Get(errstate_variable, NULL, &state) < 0) {
        return -1;
    }
    const int *modes = state == NULL ? NULL : PyCapsule_GetPointer(state, "numpy.ufunc.extobj");
    int packed = modes == NULL ? -1 : *modes;
    Py_XDECREF(state);
    if (packed < 0 && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_RuntimeError, "NumPy's errstate is not where it was at import");
    }
    return packed;
}

PyObject *
errstate_set_reader(PyObject *module, PyObject *reader)
{
    Py_XSETREF(errstate_reader, reader == Py_None ? NULL : Py_NewRef(reader));
    Py_RETURN_NONE;
}

PyObject *
errstate_set_maker(PyObject *module, PyObject *maker)
{
    Py_XSETREF(errstate_maker, Py_NewRef(maker));
    raising_modes = -1;
    Py_RETURN_NONE;
}

PyObject *
errstate_raise(void)
{
    int modes = errstate_modes();
    if (modes < 0) {
        return NULL;
    }
    if (errstate_maker == NULL || errstate_variable == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "nobody makes errstates");
        return NULL;
    }
    if (modes != raising_modes) {
        PyObject *state = PyObject_CallFunction(errstate_maker, "i", modes);
        if (state == NULL) {
            return NULL;
        }
        Py_XSETREF(raising_state, state);
        raising_modes = modes;
    }
    return PyContextVar_Set(errstate_variable, raising_state);
}

void
errstate_leave(PyObject *token)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (PyContextVar_Reset(errstate_variable, token) < 0) {
        PyErr_WriteUnraisable(token);
    }
    Py_DECREF(token);
    PyErr_Restore(type, value, traceback);
}

static int
mode_of(int modes, int kind)
{
    return modes >> (kind * MODE_BITS) & MODE_MASK;
}

/* The kinds (as flags) among `raised` whose mode is `mode`. */
static uint32_t
kinds_in_mode(int modes, uint32_t raised, int mode)
{
    uint32_t kinds = 0;
    for (int i = 0; i < KIND_COUNT; i++) {
        if (raised & KINDS[i] && mode_of(modes, i) == mode) {
            kinds |= KINDS[i];
        }
    }
    return kinds;
}

/* ------------------------------------------------------------------ filters */

typedef enum { PASSES, RAISES, ENDS } Verdict;

/* What a filter makes of a RuntimeWarning: it may let others decide, may raise, or decides itself not to. */
static int
verdict_of(PyObject *filter)
{
    if (!PyTuple_Check(filter) || PyTuple_GET_SIZE(filter) != 5) {
        return RAISES; /* not ours to understand */
    }
    PyObject *action = PyTuple_GET_ITEM(filter, 0);
    int covers = PyObject_IsSubclass(PyExc_RuntimeWarning, PyTuple_GET_ITEM(filter, 2));
    if (covers <= 0) {
        return covers < 0 ? -1 : PASSES;
    }
    if (!PyUnicode_Check(action) || PyUnicode_CompareWithASCIIString(action, "error") == 0) {
        return RAISES;
    }
    PyObject *line = PyTuple_GET_ITEM(filter, 4);
    int everywhere = PyTuple_GET_ITEM(filter, 1) == Py_None && PyTuple_GET_ITEM(filter, 3) == Py_None &&
                     PyLong_CheckExact(line) && PyObject_Not(line) == 1;
    return everywhere ? ENDS : PASSES;
}

/* Whether some filter may turn a RuntimeWarning into an error: one that stands before all that let each of them
 * pass. Texts, modules and lines are not looked at: a wrong yes is merely slow. */
static int
filters_may_raise(void)
{
    PyObject *filters = PyDict_GetItemWithError(warnings_namespace, filters_name);
    if (filters == NULL || !PyList_Check(filters)) {
        return PyErr_Occurred() ? -1 : 1;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters); i++) {
        int verdict = verdict_of(PyList_GET_ITEM(filters, i));
        if (verdict != PASSES) {
            return verdict < 0 ? -1 : verdict == RAISES;
        }
    }
    return 0;
}

int
warnings_stay_warnings(void)
{
    int modes = errstate_modes();
    if (modes < 0) {
        return -1;
    }
    uint32_t warned = kinds_in_mode(modes, ALL_KINDS, MODE_WARN);
    if ((warned | kinds_in_mode(modes, ALL_KINDS, MODE_IGNORE)) != ALL_KINDS) {
        return 0;
    }
    int may_raise = warned ? filters_may_raise() : 0;
    return may_raise < 0 ? -1 : !may_raise;
}

int
errors_are_ignored(uint32_t kinds)
{
    int modes = errstate_modes();
    return modes < 0 ? -1 : kinds_in_mode(modes, kinds, MODE_IGNORE) == kinds;
}

/* ------------------------------------------------------------------ after the kernels */

static PyObject *
words_as_tuple(const uint32_t *words, int count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple != NULL && i < count; i++) {
        PyObject *word = PyLong_FromUnsignedLong(words[i]);
        if (word == NULL) {
            Py_CLEAR(tuple);
        }
        else {
            PyTuple_SET_ITEM(tuple, i, word);
        }
    }
    return tuple;
}

/* Have the kinds in `warned` told of, operation by operation. */
static Outcome
report(Executor *executor, const Frame *frame, uint32_t warned)
{
    PyObject *words = words_as_tuple(frame->flags, executor->program.flag_count);
    if (words == NULL) {
        return FAILED;
    }
    PyObject *value = PyObject_CallFunction(executor->report, "OOk", executor->plan, words, (unsigned long)warned);
    Py_DECREF(words);
    Py_XDECREF(value);
    return value == NULL ? FAILED : DONE;
}

Outcome
settle_flags(Executor *executor, Frame *frame)
{
    uint32_t raised = 0;
    for (int i = 0; i < executor->program.flag_count; i++) {
        raised |= frame->flags[i];
    }
    if (raised == 0) {
        return DONE;
    }
    int modes = errstate_modes();
    if (modes < 0) {
        return FAILED;
    }
    if (raised & FLAG_UNSURE && !frame->written && kinds_in_mode(modes, ALL_KINDS, MODE_IGNORE) != ALL_KINDS) {
        return EXITED;
    }
    raised &= ALL_KINDS;
    uint32_t warned = kinds_in_mode(modes, raised, MODE_WARN);
    uint32_t ignored = kinds_in_mode(modes, raised, MODE_IGNORE);
    int may_raise = warned ? filters_may_raise() : 0;
    if (may_raise < 0) {
        return FAILED;
    }
    if (!frame->written && (may_raise || (warned | ignored) != raised)) {
        return EXITED;
    }
    return warned ? report(executor, frame, warned) : DONE;
}

int
flags_setup(void)
{
    PyObject *warnings = PyImport_ImportModule("warnings");
    PyObject *umath = PyImport_ImportModule("numpy._core.umath");
    filters_name = PyUnicode_InternFromString("filters");
    if (warnings == NULL || umath == NULL || filters_name == NULL) {
        Py_XDECREF(warnings);
        Py_XDECREF(umath);
        return -1;
    }
    warnings_namespace = Py_NewRef(PyModule_GetDict(warnings));
    errstate_variable = PyObject_GetAttrString(umath, "_extobj_contextvar");
    if (errstate_variable == NULL) {
        PyErr_Clear();
    }
    else if (!PyContextVar_CheckExact(errstate_variable)) {
        Py_CLEAR(errstate_variable);
    }
    Py_DECREF(warnings);
    Py_DECREF(umath);
    return 0;
}
