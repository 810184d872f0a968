/* The module: types, callbacks, and the functions hook.py offers. */
#include "arrays.h"
#include "hook.h"

Callbacks callbacks = {.nested = true};
Counts counts;
PyTypeObject *EntryType, *VariantType, *ContinuationType, *WeakEntryType, *RegionType;

static PyObject *
or_none(PyObject *object)
{
    return Py_NewRef(object == NULL ? Py_None : object);
}

static PyObject *
set_callbacks(PyObject *module, PyObject *args)
{
    PyObject *miss, *should_capture;
    if (!PyArg_ParseTuple(args, "OO:set_callbacks", &miss, &should_capture)) {
        return NULL;
    }
    PyObject *before = Py_BuildValue("NN", or_none(callbacks.miss), or_none(callbacks.should_capture));
    if (before != NULL) {
        Py_XSETREF(callbacks.miss, miss == Py_None ? NULL : Py_NewRef(miss));
        Py_XSETREF(callbacks.should_capture, should_capture == Py_None ? NULL : Py_NewRef(should_capture));
    }
    return before;
}

static PyObject *
set_in_scope(PyObject *module, PyObject *callback)
{
    Py_XSETREF(callbacks.in_scope, callback == Py_None ? NULL : Py_NewRef(callback));
    Py_RETURN_NONE;
}

static int
parse_scope(PyObject *number)
{
    long scope = PyLong_AsLong(number);
    if (scope >= 0 && scope <= MOST_SCOPES) {
        return (int)scope;
    }
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "scopes are numbered from 0 to %d", MOST_SCOPES);
    }
    return -1;
}

static PyObject *
enter_scope(PyObject *module, PyObject *number)
{
    int scope = parse_scope(number);
    if (scope < 0 || !hook_enter_scope(scope)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
leave_scope(PyObject *module, PyObject *number)
{
    int outer = parse_scope(number);
    if (outer < 0) {
        return NULL;
    }
    if (thread.scopes == 0) {
        PyErr_SetString(PyExc_RuntimeError, "this thread is in no scope");
        return NULL;
    }
    hook_leave_scope(outer);
    Py_RETURN_NONE;
}

static PyObject *
set_process_scope(PyObject *module, PyObject *number)
{
    int scope = parse_scope(number);
    if (scope < 0 || !hook_set_process_scope(scope)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
watch_function(PyObject *module, PyObject *function)
{
    if (!PyFunction_Check(function)) {
        PyErr_Format(PyExc_TypeError, "not a function: %R", function);
        return NULL;
    }
    function_watch((PyFunctionObject *)function);
    Py_RETURN_NONE;
}

static PyObject *
forget_scope(PyObject *module, PyObject *number)
{
    int scope = parse_scope(number);
    if (scope < 0) {
        return NULL;
    }
    record_forget_scope(scope);
    Py_RETURN_NONE;
}

static PyObject *
mark(PyObject *module, PyObject *args)
{
    PyObject *entry;
    int of_scope, idle;
    if (!PyArg_ParseTuple(args, "O!pp:mark", EntryType, &entry, &of_scope, &idle)) {
        return NULL;
    }
    ((Entry *)entry)->of_scope = of_scope;
    ((Entry *)entry)->idle = idle;
    Py_RETURN_NONE;
}

static PyObject *
set_nested(PyObject *module, PyObject *value)
{
    int nested = PyObject_IsTrue(value);
    if (nested < 0) {
        return NULL;
    }
    bool before = callbacks.nested;
    callbacks.nested = nested;
    return PyBool_FromLong(before);
}

static PyObject *
arm(PyObject *module, PyObject *unused)
{
    hook_arm();
    Py_RETURN_NONE;
}

static PyObject *
disarm(PyObject *module, PyObject *unused)
{
    if (thread.armed == 0) {
        PyErr_SetString(PyExc_RuntimeError, "this thread has not armed the hook");
        return NULL;
    }
    hook_disarm();
    Py_RETURN_NONE;
}

static PyObject *
armed_depth(PyObject *module, PyObject *unused)
{
    return PyLong_FromLong(thread.armed);
}

static PyObject *
current_info(PyObject *module, PyObject *unused)
{
    return or_none(thread.info);
}

static PyObject *
begin_quiet(PyObject *module, PyObject *unused)
{
    thread.quiet++;
    Py_RETURN_NONE;
}

static PyObject *
end_quiet(PyObject *module, PyObject *unused)
{
    if (thread.quiet == 0) {
        PyErr_SetString(PyExc_RuntimeError, "this thread is not quiet");
        return NULL;
    }
    thread.quiet--;
    Py_RETURN_NONE;
}

/* Calls a function, or executes a code object in a namespace, as if nobody had called the caller: its frame is the
   outermost one, for people and for the recursion limit. */
static PyObject *
call_at_base(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "call_at_base(function, *args)");
        return NULL;
    }
    PyThreadState *tstate = PyThreadState_Get();
    Base base = base_enter(tstate);
    PyObject *result = PyCode_Check(args[0]) && nargs == 2 ? PyEval_EvalCode(args[0], args[1], args[1])
                                                           : PyObject_Vectorcall(args[0], args + 1, nargs - 1, NULL);
    base_leave(tstate, base);
    return result;
}

static PyObject *
call_apart(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "call_apart(function, *args)");
        return NULL;
    }
    return call_aside(args[0], args + 1, nargs - 1);
}

static PyObject *
spare(PyObject *module, PyObject *value)
{
    return Py_NewRef(value);
}

static PyObject *
after_fork(PyObject *module, PyObject *unused)
{
    hook_after_fork();
    Py_RETURN_NONE;
}

static int
check_code(PyObject *code)
{
    if (PyCode_Check(code)) {
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "not a code object: %R", code);
    return -1;
}

static PyObject *
code_record(PyObject *module, PyObject *code)
{
    static const char *const decisions[] = {"undecided", "skip", "capture", "replacement"};
    if (check_code(code) < 0) {
        return NULL;
    }
    Record *record = record_find((PyCodeObject *)code);
    Py_ssize_t count = record == NULL ? 0 : record->count;
    PyObject *entries = PyTuple_New(count);
    for (Py_ssize_t i = 0; entries != NULL && i < count; i++) {
        PyTuple_SET_ITEM(entries, i, Py_NewRef((PyObject *)record->entries[i]));
    }
    return entries == NULL ? NULL
                           : Py_BuildValue("sN", decisions[record == NULL ? UNDECIDED : record->decision], entries);
}

static PyObject *
forget(PyObject *module, PyObject *code)
{
    if (check_code(code) < 0) {
        return NULL;
    }
    record_forget((PyCodeObject *)code);
    Py_RETURN_NONE;
}

static PyObject *
forget_all(PyObject *module, PyObject *unused)
{
    record_forget_all();
    Py_RETURN_NONE;
}

static PyObject *
get_counts(PyObject *module, PyObject *unused)
{
    return Py_BuildValue("{sK sK sK sK sK sK sK}", "captured", counts.captured, "plain", counts.plain, "generators",
                         counts.generators, "bodies", counts.bodies, "rests", counts.rests, "plain_rests",
                         counts.plain_rests, "evaluated", counts.evaluated);
}

static PyMethodDef methods[] = {
    {"set_callbacks", set_callbacks, METH_VARARGS, PyDoc_STR("set_callbacks(miss, should_capture)\n--\n\n")},
    {"set_in_scope", set_in_scope, METH_O, PyDoc_STR("set_in_scope(callback)\n--\n\n")},
    {"enter_scope", enter_scope, METH_O, PyDoc_STR("enter_scope(number)\n--\n\n")},
    {"leave_scope", leave_scope, METH_O, PyDoc_STR("leave_scope(outer)\n--\n\n")},
    {"set_process_scope", set_process_scope, METH_O, PyDoc_STR("set_process_scope(number)\n--\n\n")},
    {"watch_function", watch_function, METH_O, PyDoc_STR("watch_function(function)\n--\n\n")},
    {"forget_scope", forget_scope, METH_O, PyDoc_STR("forget_scope(number)\n--\n\n")},
    {"mark", mark, METH_VARARGS, PyDoc_STR("mark(entry, of_scope, idle)\n--\n\n")},
    {"call_apart", (PyCFunction)(void (*)(void))call_apart, METH_FASTCALL,
     PyDoc_STR("call_apart(function, *args)\n--\n\n")},
    {"call_at_base", (PyCFunction)(void (*)(void))call_at_base, METH_FASTCALL,
     PyDoc_STR("call_at_base(function, *args)\n--\n\n")},
    {"region_left", region_left, METH_O, PyDoc_STR("region_left(error)\n--\n\n")},
    {"spare", spare, METH_O, PyDoc_STR("spare(value)\n--\n\n")},
    {"set_nested", set_nested, METH_O, PyDoc_STR("set_nested(on)\n--\n\n")},
    {"arm", arm, METH_NOARGS, PyDoc_STR("arm()\n--\n\n")},
    {"disarm", disarm, METH_NOARGS, PyDoc_STR("disarm()\n--\n\n")},
    {"armed_depth", armed_depth, METH_NOARGS, PyDoc_STR("armed_depth()\n--\n\n")},
    {"current_info", current_info, METH_NOARGS, PyDoc_STR("current_info()\n--\n\n")},
    {"begin_quiet", begin_quiet, METH_NOARGS, PyDoc_STR("begin_quiet()\n--\n\n")},
    {"end_quiet", end_quiet, METH_NOARGS, PyDoc_STR("end_quiet()\n--\n\n")},
    {"after_fork", after_fork, METH_NOARGS, PyDoc_STR("after_fork()\n--\n\n")},
    {"code_record", code_record, METH_O, PyDoc_STR("code_record(code)\n--\n\n")},
    {"forget", forget, METH_O, PyDoc_STR("forget(code)\n--\n\n")},
    {"counts", get_counts, METH_NOARGS, PyDoc_STR("counts()\n--\n\n")},
    {"forget_all", forget_all, METH_NOARGS, PyDoc_STR("forget_all()\n--\n\n")},
    {NULL},
};

static int
add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
    if (*type == NULL) {
        *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    }
    return *type == NULL ? -1 : PyModule_AddType(module, *type);
}

static int
module_exec(PyObject *module)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "only the main interpreter can capture frames");
        return -1;
    }
    static bool initialised; /* the module may be imported afresh; what CPython knows of us stays */
    if (!initialised && (arrays_init() < 0 || record_init() < 0 || evalframe_init() < 0)) {
        return -1;
    }
    if (add_type(module, &entry_spec, &EntryType) < 0 || add_type(module, &variant_spec, &VariantType) < 0 ||
        add_type(module, &continuation_spec, &ContinuationType) < 0 ||
        add_type(module, &weak_entry_spec, &WeakEntryType) < 0 || add_type(module, &region_spec, &RegionType) < 0) {
        return -1;
    }
    if (unbound == NULL && (unbound = PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type)) == NULL) {
        return -1;
    }
    if (PyModule_AddObjectRef(module, "UNBOUND", unbound) < 0) {
        return -1;
    }
    continuation_ready();
    initialised = true;
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "capture.frames._hook",
    .m_doc = "Frame hook, guards and the callable, in C. Use capture.frames.hook.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__hook(void)
{
    return PyModuleDef_Init(&definition);
}
