/* The module capture.inductor._executor; capture/inductor/executor.py is what others use. */
#define CAPTURE_EXECUTOR_MODULE
#include "executor.h"

static PyObject *
errstate(PyObject *module, PyObject *unused)
{
    int modes = errstate_modes();
    return modes < 0 ? NULL : PyLong_FromLong(modes);
}

static PyObject *
warnings_stay(PyObject *module, PyObject *unused)
{
    int stay = warnings_stay_warnings();
    return stay < 0 ? NULL : PyBool_FromLong(stay);
}

static PyObject *
worker_count(PyObject *module, PyObject *unused)
{
    return PyLong_FromLong(pool_size());
}

static PyObject *
share_count(PyObject *module, PyObject *unused)
{
    return PyLong_FromUnsignedLongLong(shares_count());
}

static PyObject *
set_waking(PyObject *module, PyObject *nanoseconds)
{
    long long wanted = PyLong_AsLongLong(nanoseconds);
    if (wanted == -1 && PyErr_Occurred()) {
        return NULL;
    }
    return PyLong_FromLongLong(pool_set_waking(wanted));
}

/* What `ufunc._get_strided_loop` fills in; NumPy names the capsule after the version that introduced it. */
typedef struct {
    void *loop, *context, *auxiliary;
    npy_bool requires_python, no_floatingpoint_errors;
} CallInfo;

static PyObject *
loop_addresses(PyObject *module, PyObject *capsule)
{
    const CallInfo *info = PyCapsule_GetPointer(capsule, "numpy_1.24_ufunc_call_info");
    if (info == NULL) {
        return NULL;
    }
    if (info->loop == NULL || info->requires_python) {
        PyErr_SetString(PyExc_ValueError, "no loop that runs without Python");
        return NULL;
    }
    return Py_BuildValue("KKK", (unsigned long long)(uintptr_t)info->loop,
                         (unsigned long long)(uintptr_t)info->context,
                         (unsigned long long)(uintptr_t)info->auxiliary);
}

static PyMethodDef methods[] = {
    {"errstate", errstate, METH_NOARGS, "NumPy's error modes in force, 3 bits a kind."},
    {"set_errstate_reader", errstate_set_reader, METH_O, "Read the error modes by a function; None: directly."},
    {"set_errstate_maker", errstate_set_maker, METH_O, "Who makes of modes NumPy's state that raises what they tell of."},
    {"warnings_stay", warnings_stay, METH_NOARGS, "Whether no floating-point error would raise or call anything."},
    {"loop_addresses", loop_addresses, METH_O, "Function, context and auxiliary data of an inner loop of NumPy's."},
    {"memory", memory_statistics, METH_NOARGS, "What waits in the pool of blocks, and how often it helped."},
    {"set_memory_limit", memory_set_limit, METH_O, "Bound the bytes that wait in the pool; gives the old bound."},
    {"share_count", share_count, METH_NOARGS, "How often programs have shared work out over threads."},
    {"set_waking", set_waking, METH_O, "Nanoseconds of work from which on threads are woken; gives the old number."},
    {"worker_count", worker_count, METH_NOARGS, "How many threads have been started."},
    {NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_executor",
    .m_doc = "Runs compiled graphs.",
    .m_size = -1, /* one pool of threads and memory per process: not for subinterpreters */
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__executor(void)
{
    import_array();
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) {
        return NULL;
    }
    if (PyType_Ready(&LeaseType) < 0 || memory_setup() != 0 || pool_setup() != 0 || flags_setup() < 0 ||
        PyModule_AddType(module, &ExecutorType) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
