/* Counts the instructions that Python executes in this thread: sys.monitoring tells of all of them.

   In: weigh(code) -> bytes, asked once per code object: what executing the instruction at each code unit counts for.
   Out: a total. From 3.12 on `count` is the callback of sys.monitoring's INSTRUCTION event; before, `trace` makes it
   the trace function of this thread. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if PY_VERSION_HEX < 0x030C0000
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#define PyUnstable_Code_GetExtra _PyCode_GetExtra
#define PyUnstable_Code_SetExtra _PyCode_SetExtra
#endif

static PyObject *weigh;
static Py_ssize_t extra_index = -1;
static unsigned long long total;
static unsigned long thread;

static void
drop(void *weights)
{
    Py_XDECREF((PyObject *)weights);
}

static int
add(PyObject *code, Py_ssize_t unit)
{
    PyObject *weights = NULL;
    if (PyUnstable_Code_GetExtra(code, extra_index, (void **)&weights) < 0) {
        return -1;
    }
    if (weights == NULL) {
        weights = PyObject_CallOneArg(weigh, code);
        if (weights == NULL || PyUnstable_Code_SetExtra(code, extra_index, weights) < 0) {
            return -1;
        }
    }
    if (unit < PyBytes_GET_SIZE(weights)) {
        total += (unsigned char)PyBytes_AS_STRING(weights)[unit];
    }
    return 0;
}

static PyObject *
count(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (PyThread_get_thread_ident() != thread) {
        Py_RETURN_NONE;
    }
    if (nargs != 2 || add(args[0], PyLong_AsSsize_t(args[1]) / 2) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static int
on_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    if (what == PyTrace_CALL) {
        if (PyObject_SetAttrString((PyObject *)frame, "f_trace_opcodes", Py_True) < 0) {
            return -1;
        }
        return PyObject_SetAttrString((PyObject *)frame, "f_trace_lines", Py_False);
    }
    if (what != PyTrace_OPCODE) {
        return 0;
    }
    PyCodeObject *code = PyFrame_GetCode(frame);
    int status = add((PyObject *)code, PyFrame_GetLasti(frame) / 2);
    Py_DECREF(code);
    return status;
}

static PyObject *
trace(PyObject *module, PyObject *on)
{
    PyEval_SetTrace(PyObject_IsTrue(on) ? on_event : NULL, NULL);
    Py_RETURN_NONE;
}

static PyObject *
set_weigh(PyObject *module, PyObject *callback)
{
    Py_XSETREF(weigh, Py_NewRef(callback));
    thread = PyThread_get_thread_ident();
    Py_RETURN_NONE;
}

static PyObject *
get_total(PyObject *module, PyObject *unused)
{
    return PyLong_FromUnsignedLongLong(total);
}

static PyMethodDef methods[] = {
    {"count", (PyCFunction)(void (*)(void))count, METH_FASTCALL, NULL},
    {"trace", trace, METH_O, NULL},
    {"set_weigh", set_weigh, METH_O, NULL},
    {"total", get_total, METH_NOARGS, NULL},
    {NULL},
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "counter", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC
PyInit_counter(void)
{
    extra_index = PyUnstable_Eval_RequestCodeExtraIndex(drop);
    return extra_index < 0 ? NULL : PyModule_Create(&definition);
}
