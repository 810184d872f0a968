/* A continuation: "go on with this entry and these arguments", returned by replacement code at a graph break.

   In: Continuation(entry, arguments). Out: an immutable object that whoever ran the code runs next, so that any
   number of breaks in one function nest neither Python frames nor C calls. It never reaches the user. */
#include "hook.h"

typedef struct {
    PyObject_HEAD
    PyObject *entry;
    PyObject *arguments;
} Continuation;

PyObject *
continuation_run(PyObject *result)
{
    while (result != NULL && Py_IS_TYPE(result, ContinuationType)) {
        Entry *entry = (Entry *)Py_NewRef(((Continuation *)result)->entry);
        PyObject *arguments = Py_NewRef(((Continuation *)result)->arguments);
        Py_DECREF(result); /* nobody else has it: the arguments have one owner less */
        result = entry_run_once(entry, &PyTuple_GET_ITEM(arguments, 0), PyTuple_GET_SIZE(arguments), NULL, arguments);
        Py_DECREF(entry);
    }
    return result;
}

static PyObject *
continuation_make(PyObject *entry, PyObject *arguments)
{
    if (!PyTuple_CheckExact(arguments)) {
        PyErr_SetString(PyExc_TypeError, "a Continuation takes an Entry and a tuple");
        return NULL;
    }
    PyObject *strong = strong_entry(entry);
    if (strong == NULL) {
        return NULL;
    }
    Continuation *self = (Continuation *)ContinuationType->tp_alloc(ContinuationType, 0);
    if (self == NULL) {
        Py_DECREF(strong);
        return NULL;
    }
    self->entry = strong;
    self->arguments = Py_NewRef(arguments);
    return (PyObject *)self;
}

static PyObject *
continuation_vectorcall(PyObject *type, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (PyVectorcall_NARGS(nargsf) != 2 || kwnames != NULL) {
        PyErr_SetString(PyExc_TypeError, "Continuation(entry, arguments)");
        return NULL;
    }
    return continuation_make(args[0], args[1]);
}

static PyObject *
continuation_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    if (PyTuple_GET_SIZE(args) != 2 || kwargs != NULL) {
        PyErr_SetString(PyExc_TypeError, "Continuation(entry, arguments)");
        return NULL;
    }
    return continuation_make(PyTuple_GET_ITEM(args, 0), PyTuple_GET_ITEM(args, 1));
}

static int
continuation_traverse(PyObject *op, visitproc visit, void *arg)
{
    Continuation *self = (Continuation *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->entry);
    Py_VISIT(self->arguments);
    return 0;
}

static int
continuation_clear(PyObject *op)
{
    Continuation *self = (Continuation *)op;
    Py_CLEAR(self->entry);
    Py_CLEAR(self->arguments);
    return 0;
}

static void
continuation_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);
    PyObject_GC_UnTrack(op);
    continuation_clear(op);
    type->tp_free(op);
    Py_DECREF(type);
}

static PyMemberDef continuation_members[] = {
    {"entry", T_OBJECT, offsetof(Continuation, entry), READONLY, "the entry that goes on"},
    {"arguments", T_OBJECT, offsetof(Continuation, arguments), READONLY, "its positional arguments"},
    {NULL},
};

PyDoc_STRVAR(continuation_doc, "Continuation(entry, arguments)\n--\n\n"
                               "Returned by replacement code: go on with this entry and these arguments.");

static PyType_Slot continuation_slots[] = {
    {Py_tp_doc, (void *)continuation_doc},
    {Py_tp_new, continuation_new},
    {Py_tp_dealloc, continuation_dealloc},
    {Py_tp_traverse, continuation_traverse},
    {Py_tp_clear, continuation_clear},
    {Py_tp_members, continuation_members},
    {0, NULL},
};

PyType_Spec continuation_spec = {
    .name = "capture.frames._hook.Continuation",
    .basicsize = sizeof(Continuation),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = continuation_slots,
};

/* Replacement code makes one per break: skip tp_new's argument tuple. */
void
continuation_ready(void)
{
    ContinuationType->tp_vectorcall = continuation_vectorcall;
}
