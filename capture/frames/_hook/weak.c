/* A weak entry: what replacement code holds in place of an entry, to call it or to hand it to a Continuation.

   The garbage collector does not look into code objects. If they owned the entries of their resume functions, a loop of
   continuations would never be freed. Calling one is calling the entry: no C function of its own stands between, which
   CPython would count as a level of recursion. */
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

static PyObject *
weak_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *entry = strong_entry(self);
    if (entry == NULL) {
        return NULL;
    }
    PyObject *result = entry_call(entry, args, nargsf, kwnames);
    Py_DECREF(entry);
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
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(WeakEntry, vectorcall), READONLY, NULL},
    {NULL},
};

PyDoc_STRVAR(weak_doc, "WeakEntry(entry)\n--\n\nCalls the entry, as long as somebody else owns it.");

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
