/* A weak entry: what replacement code holds in place of an entry, to call it or to hand it to a Continuation.

   The garbage collector does not look into code objects. If they owned the entries of their resume functions, a loop of
   continuations would never be freed. Calling one, with a tuple of arguments, is calling the entry: no C function of its
   own stands between, which CPython would count as a level of recursion. */
#include "hook.h"

typedef struct {
    PyObject_HEAD
    PyObject *reference;
    vectorcallfunc vectorcall;
} WeakEntry;

PyObject *
strong_entry(PyObject *entry)
{
    PyObject *found = Py_IS_TYPE(entry, WeakEntryType) ? weakly_referenced(((WeakEntry *)entry)->reference)
                                                       : Py_NewRef(entry);
    if (found == NULL || !Py_IS_TYPE(found, EntryType) || ((Entry *)found)->function == NULL) {
        Py_XDECREF(found);
        PyErr_SetString(PyExc_TypeError, "not an Entry of a function that is alive");
        return NULL;
    }
    return found;
}

/* The items of a tuple in one of our own. The caller's stack holds `state` until the call is over: where nobody else
   does it is emptied, so that arguments do not live longer than in plain Python. */
static PyObject *
taken(PyObject *state)
{
    Py_ssize_t count = PyTuple_GET_SIZE(state);
    PyObject *given = PyTuple_New(count);
    for (Py_ssize_t i = 0; given != NULL && i < count; i++) {
        PyObject *item = PyTuple_GET_ITEM(state, i);
        if (Py_REFCNT(state) == 1) {
            PyTuple_SET_ITEM(state, i, Py_NewRef(Py_None));
            PyTuple_SET_ITEM(given, i, item);
        } else {
            PyTuple_SET_ITEM(given, i, Py_NewRef(item));
        }
    }
    return given;
}

static PyObject *
weak_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    if (PyVectorcall_NARGS(nargsf) != 1 || kwnames != NULL || !PyTuple_CheckExact(args[0])) {
        PyErr_SetString(PyExc_TypeError, "a WeakEntry takes the arguments of its entry as a tuple");
        return NULL;
    }
    PyObject *entry = strong_entry(self);
    PyObject *given = entry == NULL ? NULL : taken(args[0]);
    PyObject *result = NULL;
    if (given != NULL) {
        PyObject *const *items = &PyTuple_GET_ITEM(given, 0);
        result = continuation_run(entry_run_once((Entry *)entry, items, PyTuple_GET_SIZE(given), NULL, given));
    }
    Py_XDECREF(entry);
    return result;
}

static PyObject *
weak_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *entry;
    if (kwargs != NULL || !PyArg_ParseTuple(args, "O!:WeakEntry", EntryType, &entry)) {
        PyErr_SetString(PyExc_TypeError, "WeakEntry(entry)");
        return NULL;
    }
    WeakEntry *self = (WeakEntry *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = weak_call;
        self->reference = PyWeakref_NewRef(entry, NULL);
        if (self->reference == NULL) {
            Py_CLEAR(self);
        }
    }
    return (PyObject *)self;
}

static void
weak_dealloc(PyObject *op)
{
    PyTypeObject *type = Py_TYPE(op);
    Py_XDECREF(((WeakEntry *)op)->reference);
    type->tp_free(op);
    Py_DECREF(type);
}

static PyMemberDef weak_members[] = {
    {"reference", T_OBJECT, offsetof(WeakEntry, reference), READONLY, "the entry, weakly"},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(WeakEntry, vectorcall), READONLY, NULL},
    {NULL},
};

PyDoc_STRVAR(weak_doc, "WeakEntry(entry)\n--\n\nCalls the entry with the items of a tuple, as long as somebody else owns it.");

static PyType_Slot weak_slots[] = {
    {Py_tp_doc, (void *)weak_doc},
    {Py_tp_new, weak_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, weak_dealloc},
    {Py_tp_members, weak_members},
    {0, NULL},
};

PyType_Spec weak_entry_spec = {
    .name = "capture.frames._hook.WeakEntry",
    .basicsize = sizeof(WeakEntry),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = weak_slots,
};
