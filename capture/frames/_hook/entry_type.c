/* The callable that stands for a decorated function.

   In: Entry(function, miss). Out: an object that behaves as the function does: it binds as a method, shows the
   function's name, documentation and signature, takes attributes, pickles by name. What users set lives in its own
   __dict__; the attributes of `info` show through, so whoever makes entries can add to what they offer. */
#include "hook.h"

/* Attributes that are the function's, to read and to write. */
static const char *const forwarded_names[] = {
    "__name__",        "__qualname__",    "__module__",  "__doc__",     "__defaults__", "__kwdefaults__",
    "__annotations__", "__type_params__", "__globals__", "__closure__", "__code__",     "__builtins__",
};

static bool
is_dunder(PyObject *name)
{
    return PyUnicode_GET_LENGTH(name) > 4 && PyUnicode_READ_CHAR(name, 0) == '_' && PyUnicode_READ_CHAR(name, 1) == '_';
}

static bool
is_forwarded(Entry *self, PyObject *name)
{
    if (self->function == NULL || !is_dunder(name)) {
        return false;
    }
    for (size_t i = 0; i < Py_ARRAY_LENGTH(forwarded_names); i++) {
        if (PyUnicode_CompareWithASCIIString(name, forwarded_names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static PyObject *
attribute_of_others(Entry *self, PyObject *name)
{
    bool is_public = PyUnicode_GET_LENGTH(name) > 0 && PyUnicode_READ_CHAR(name, 0) != '_';
    if (is_public && self->info != NULL && self->info != Py_None) {
        PyObject *value = PyObject_GetAttr(self->info, name);
        if (value != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
            return value;
        }
        PyErr_Clear();
    }
    if (self->function == NULL) {
        PyErr_SetObject(PyExc_AttributeError, name);
        return NULL;
    }
    return PyObject_GetAttr(self->function, name);
}

static PyObject *
entry_getattro(PyObject *op, PyObject *name)
{
    Entry *self = (Entry *)op;
    if (is_forwarded(self, name)) {
        return PyObject_GetAttr(self->function, name);
    }
    if (self->dict != NULL) {
        PyObject *value = PyDict_GetItemWithError(self->dict, name);
        if (value != NULL || PyErr_Occurred()) {
            return Py_XNewRef(value);
        }
    }
    PyObject *value = PyObject_GenericGetAttr(op, name);
    if (value != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return value;
    }
    PyErr_Clear();
    return attribute_of_others(self, name);
}

/* Only `plain` is ours to set; a function may have an attribute of any other name. */
static int
entry_setattro(PyObject *op, PyObject *name, PyObject *value)
{
    Entry *self = (Entry *)op;
    if (is_forwarded(self, name)) {
        return PyObject_SetAttr(self->function, name, value);
    }
    if (is_dunder(name) || PyUnicode_CompareWithASCIIString(name, "plain") == 0) {
        return PyObject_GenericSetAttr(op, name, value);
    }
    if (self->dict == NULL) {
        self->dict = PyDict_New();
    }
    if (self->dict == NULL) {
        return -1;
    }
    if (value != NULL) {
        return PyDict_SetItem(self->dict, name, value);
    }
    if (PyDict_DelItem(self->dict, name) < 0) {
        PyErr_SetObject(PyExc_AttributeError, name);
        return -1;
    }
    return 0;
}

static PyObject *
entry_descr_get(PyObject *op, PyObject *instance, PyObject *owner)
{
    return instance == NULL || instance == Py_None ? Py_NewRef(op) : PyMethod_New(op, instance);
}

static PyObject *
entry_repr(PyObject *op)
{
    Entry *self = (Entry *)op;
    if (self->name != NULL && self->name != Py_None) {
        return PyUnicode_FromFormat("<compiled %S at %p>", self->name, op);
    }
    if (self->of_frames || self->function == NULL) {
        return PyUnicode_FromFormat("<captured frames of %V at %p>",
                                    self->code == NULL ? NULL : self->code->co_qualname, "code that is gone", op);
    }
    PyObject *qualname = ((PyFunctionObject *)self->function)->func_qualname;
    return PyUnicode_FromFormat("<compiled function %U at %p>", qualname, op);
}

/* ---- methods ---- */

static PyObject *
entry_add_method(PyObject *op, PyObject *variant)
{
    if (!Py_IS_TYPE(variant, VariantType)) {
        PyErr_Format(PyExc_TypeError, "not a Variant: %R", variant);
        return NULL;
    }
    if (entry_add((Entry *)op, (Variant *)variant) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
entry_clear_method(PyObject *op, PyObject *unused)
{
    entry_clear_rows((Entry *)op);
    Py_RETURN_NONE;
}

static PyObject *
entry_itself(PyObject *op, PyObject *unused)
{
    return Py_NewRef(op);
}

static PyObject *
entry_reduce(PyObject *op, PyObject *unused)
{
    Entry *self = (Entry *)op;
    if (self->function == NULL) {
        PyErr_SetString(PyExc_TypeError, "the entry of captured frames cannot be pickled");
        return NULL;
    }
    return Py_NewRef(((PyFunctionObject *)self->function)->func_qualname);
}

static PyMethodDef entry_methods[] = {
    {"add", entry_add_method, METH_O, PyDoc_STR("add(variant)\n--\n\nLet calls use this variant.")},
    {"clear", entry_clear_method, METH_NOARGS, PyDoc_STR("clear()\n--\n\nForget all variants.")},
    {"__copy__", entry_itself, METH_NOARGS, NULL},
    {"__deepcopy__", entry_itself, METH_O, NULL},
    {"__reduce__", entry_reduce, METH_NOARGS, NULL},
    {NULL},
};

static PyObject *
entry_get_variants(PyObject *op, void *unused)
{
    Entry *self = (Entry *)op;
    PyObject *variants = PyTuple_New(self->count);
    for (Py_ssize_t i = 0; variants != NULL && i < self->count; i++) {
        PyTuple_SET_ITEM(variants, i, Py_NewRef(self->rows[i].variant));
    }
    return variants;
}

static PyGetSetDef entry_getset[] = {
    {"variants", entry_get_variants, NULL, PyDoc_STR("the variants, most recently used first"), NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL},
};

static PyMemberDef entry_members[] = {
    {"plain", T_BOOL, offsetof(Entry, plain), 0, "always run the plain function"},
    {"function", T_OBJECT, offsetof(Entry, function), READONLY, "the plain function; of frames, only during a miss"},
    {"code", T_OBJECT, offsetof(Entry, code), READONLY, "the code object the variants stand for"},
    {"info", T_OBJECT, offsetof(Entry, info), READONLY, "whatever its maker attached"},
    {"__wrapped__", T_OBJECT_EX, offsetof(Entry, function), READONLY, "the plain function"},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Entry, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(Entry, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Entry, weakrefs), READONLY, NULL},
    {NULL},
};

/* ---- life ---- */

static PyObject *
entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "miss", "name", "info", NULL};
    PyObject *function, *miss = Py_None, *name = Py_None, *info = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|OOO:Entry", names, &PyFunction_Type, &function, &miss, &name,
                                     &info)) {
        return NULL;
    }
    Entry *self = (Entry *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = entry_call;
    self->function = Py_NewRef(function);
    self->miss = miss == Py_None ? NULL : Py_NewRef(miss);
    self->name = Py_NewRef(name);
    self->info = Py_NewRef(info);
    self->code = (PyCodeObject *)Py_NewRef(PyFunction_GET_CODE(function));
    self->slots = argument_count(self->code);
    return (PyObject *)self;
}

static int
entry_traverse(PyObject *op, visitproc visit, void *arg)
{
    Entry *self = (Entry *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->function);
    Py_VISIT(self->miss);
    Py_VISIT(self->info);
    Py_VISIT(self->name);
    Py_VISIT(self->globals);
    Py_VISIT(self->dict);
    for (Py_ssize_t i = 0; i < self->count; i++) {
        Py_VISIT(self->rows[i].variant);
        Py_VISIT(self->rows[i].clone);
    }
    return 0;
}

static int
entry_tp_clear(PyObject *op)
{
    Entry *self = (Entry *)op;
    entry_clear_rows(self);
    Py_CLEAR(self->function);
    Py_CLEAR(self->miss);
    Py_CLEAR(self->info);
    Py_CLEAR(self->name);
    Py_CLEAR(self->globals);
    Py_CLEAR(self->dict);
    return 0;
}

static void
entry_dealloc(PyObject *op)
{
    Entry *self = (Entry *)op;
    PyTypeObject *type = Py_TYPE(op);
    PyObject_GC_UnTrack(op);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs(op);
    }
    entry_tp_clear(op);
    if (!self->of_frames) {
        Py_XDECREF(self->code);
    }
    type->tp_free(op);
    Py_DECREF(type);
}

PyDoc_STRVAR(entry_doc,
             "Entry(function, miss=None, name=None, info=None)\n--\n\n"
             "A callable that behaves as `function` and runs a variant of it where the guards of one hold.\n"
             "Where none do, `miss(entry, arguments)` may return a new Variant.");

static PyType_Slot entry_slots[] = {
    {Py_tp_doc, (void *)entry_doc},
    {Py_tp_new, entry_new},
    {Py_tp_dealloc, entry_dealloc},
    {Py_tp_traverse, entry_traverse},
    {Py_tp_clear, entry_tp_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_repr, entry_repr},
    {Py_tp_getattro, entry_getattro},
    {Py_tp_setattro, entry_setattro},
    {Py_tp_descr_get, entry_descr_get},
    {Py_tp_methods, entry_methods},
    {Py_tp_members, entry_members},
    {Py_tp_getset, entry_getset},
    {0, NULL},
};

PyType_Spec entry_spec = {
    .name = "capture.frames._hook.Entry",
    .basicsize = sizeof(Entry),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = entry_slots,
};
