/* A variant: guards, and what runs while they hold.

   In: a guard program, the replacement code, and optionally (executor, input slots, output template).
   Out: an immutable object; on a hit the executor runs without a Python frame, or the replacement code in one. */
#include "hook.h"

/* How a call's result is made of the executor's tuple and of operands. */
struct Template {
    enum { ITEM, OPERAND, CONSTANT, TUPLE, LIST, DICT } kind;
    Py_ssize_t index;     /* ITEM: in the executor's tuple; OPERAND: among the operands */
    PyObject *object;     /* CONSTANT: the object; DICT: the (key, template) pairs. Borrowed from the variant */
    Py_ssize_t count;
    Template *children;
};

/* ---- templates ---- */

static void
template_free(Template *template)
{
    for (Py_ssize_t i = 0; i < template->count; i++) {
        template_free(&template->children[i]);
    }
    PyMem_Free(template->children);
}

/* What parsing a template needs to know: where slots are, and the operands found so far. */
typedef struct {
    const SlotMap *map;
    Direct *direct;
} Parser;

static Py_ssize_t
add_operand(Direct *direct, Py_ssize_t slot)
{
    Py_ssize_t count = direct->inputs + direct->held;
    Py_ssize_t *grown = PyMem_Realloc(direct->slots, (count + 1) * sizeof(Py_ssize_t));
    if (grown == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    direct->slots = grown;
    grown[count] = slot;
    return count;
}

static Py_ssize_t
physical_slot(const SlotMap *map, PyObject *number)
{
    Py_ssize_t slot = PyLong_AsSsize_t(number);
    if (slot == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (slot < 0 || slot >= map->count || map->physical[slot] < 0) {
        PyErr_Format(PyExc_ValueError, "the guards fill no slot %zd", slot);
        return -1;
    }
    return map->physical[slot];
}

static int template_parse(Template *template, PyObject *spec, const Parser *parser);

static int
template_parse_children(Template *template, PyObject *specs, const Parser *parser)
{
    Py_ssize_t count = PyTuple_GET_SIZE(specs);
    template->children = PyMem_Calloc(count + 1, sizeof(Template));
    if (template->children == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (; template->count < count; template->count++) {
        PyObject *child = PyTuple_GET_ITEM(specs, template->count);
        if (template->kind == DICT) {
            if (!PyTuple_CheckExact(child) || PyTuple_GET_SIZE(child) != 2) {
                PyErr_SetString(PyExc_TypeError, "a dict template needs (key, template) pairs");
                return -1;
            }
            child = PyTuple_GET_ITEM(child, 1);
        }
        if (template_parse(&template->children[template->count], child, parser) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
template_parse_slot(Template *template, PyObject *number, const Parser *parser)
{
    Py_ssize_t slot = physical_slot(parser->map, number);
    template->index = slot < 0 ? -1 : add_operand(parser->direct, slot);
    if (template->index < 0) {
        return -1;
    }
    parser->direct->held++;
    return 0;
}

static int
template_parse(Template *template, PyObject *spec, const Parser *parser)
{
    static const char *const names[] = {"item", "slot", "const", "tuple", "list", "dict"};
    if (!PyTuple_CheckExact(spec) || PyTuple_GET_SIZE(spec) != 2 || !PyUnicode_Check(PyTuple_GET_ITEM(spec, 0))) {
        PyErr_Format(PyExc_TypeError, "an output template is a pair (kind, operand), not %R", spec);
        return -1;
    }
    PyObject *operand = PyTuple_GET_ITEM(spec, 1);
    for (int kind = 0; kind < (int)Py_ARRAY_LENGTH(names); kind++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(spec, 0), names[kind]) != 0) {
            continue;
        }
        *template = (Template){.kind = kind, .object = operand};
        if (kind == ITEM) {
            template->index = PyLong_AsSsize_t(operand);
            return template->index == -1 && PyErr_Occurred() ? -1 : 0;
        }
        if (kind == OPERAND) {
            return template_parse_slot(template, operand, parser);
        }
        if (kind == CONSTANT) {
            return 0;
        }
        if (!PyTuple_CheckExact(operand)) {
            PyErr_Format(PyExc_TypeError, "a %s template needs a tuple", names[kind]);
            return -1;
        }
        return template_parse_children(template, operand, parser);
    }
    PyErr_Format(PyExc_ValueError, "no such output template: %R", spec);
    return -1;
}

static PyObject *template_build(const Template *template, PyObject *results, PyObject *const *operands);

static PyObject *
build_dict(const Template *template, PyObject *results, PyObject *const *operands)
{
    PyObject *dict = PyDict_New();
    for (Py_ssize_t i = 0; dict != NULL && i < template->count; i++) {
        PyObject *key = PyTuple_GET_ITEM(PyTuple_GET_ITEM(template->object, i), 0);
        PyObject *value = template_build(&template->children[i], results, operands);
        if (value == NULL || PyDict_SetItem(dict, key, value) < 0) {
            Py_CLEAR(dict);
        }
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *
build_sequence(const Template *template, PyObject *results, PyObject *const *operands)
{
    bool is_tuple = template->kind == TUPLE;
    PyObject *sequence = is_tuple ? PyTuple_New(template->count) : PyList_New(template->count);
    for (Py_ssize_t i = 0; sequence != NULL && i < template->count; i++) {
        PyObject *value = template_build(&template->children[i], results, operands);
        if (value == NULL) {
            Py_CLEAR(sequence);
        } else if (is_tuple) {
            PyTuple_SET_ITEM(sequence, i, value);
        } else {
            PyList_SET_ITEM(sequence, i, value);
        }
    }
    return sequence;
}

static PyObject *
template_build(const Template *template, PyObject *results, PyObject *const *operands)
{
    switch (template->kind) {
    case ITEM:
        if (template->index < 0 || template->index >= PyTuple_GET_SIZE(results)) {
            PyErr_Format(PyExc_SystemError, "the executor returned %zd values, number %zd is wanted",
                         PyTuple_GET_SIZE(results), template->index);
            return NULL;
        }
        return Py_NewRef(PyTuple_GET_ITEM(results, template->index));
    case OPERAND:
        return Py_NewRef(operands[template->index]);
    case CONSTANT:
        return Py_NewRef(template->object);
    case DICT:
        return build_dict(template, results, operands);
    default:
        return build_sequence(template, results, operands);
    }
}

/* ---- the executor ---- */

static int
direct_parse(Variant *self, const SlotMap *map)
{
    PyObject *executor, *inputs, *outputs;
    if (self->direct_spec == Py_None) {
        return 0;
    }
    if (!PyTuple_CheckExact(self->direct_spec) ||
        !PyArg_ParseTuple(self->direct_spec, "OO!O", &executor, &PyTuple_Type, &inputs, &outputs)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "direct is None or (executor, input slots, output template)");
        }
        return -1;
    }
    if (!PyCallable_Check(executor)) {
        PyErr_SetString(PyExc_TypeError, "the executor is not callable");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++, self->direct.inputs++) {
        Py_ssize_t slot = physical_slot(map, PyTuple_GET_ITEM(inputs, i));
        if (slot < 0 || add_operand(&self->direct, slot) < 0) {
            return -1;
        }
    }
    self->direct.outputs = PyMem_Calloc(1, sizeof(Template));
    if (self->direct.outputs == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Parser parser = {map, &self->direct};
    if (template_parse(self->direct.outputs, outputs, &parser) < 0) {
        return -1;
    }
    self->direct.executor = executor;
    return 0;
}

static Outcome
finish_direct(Variant *self, PyObject *results, PyObject *const *operands, PyObject **result)
{
    if (results == NULL) {
        return FAILED;
    }
    Outcome outcome = PLAIN;
    if (PyTuple_CheckExact(results)) {
        *result = template_build(self->direct.outputs, results, operands);
        outcome = *result == NULL ? FAILED : DONE;
    } else if (results != Py_None) {
        PyErr_Format(PyExc_SystemError, "the executor returned %.100s, not a tuple or None", Py_TYPE(results)->tp_name);
        outcome = FAILED;
    }
    Py_DECREF(results);
    return outcome;
}

/* The operands are owned while the executor runs: other threads may replace what the guards loaded. The place in front
   of them is the callee's to use. */
static Outcome
run_with(Variant *self, PyObject *const *slots, PyObject **operands, PyObject **result)
{
    const Direct *direct = &self->direct;
    Py_ssize_t count = direct->inputs + direct->held;
    for (Py_ssize_t i = 0; i < count; i++) {
        operands[i] = Py_NewRef(slots[direct->slots[i]]);
    }
    PyObject *results = PyObject_Vectorcall(direct->executor, operands,
                                            (size_t)direct->inputs | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Outcome outcome = finish_direct(self, results, operands, result);
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_DECREF(operands[i]);
    }
    return outcome;
}

#define FEW 16

Outcome
variant_run(Variant *self, PyObject *const *slots, PyObject **result)
{
    Py_ssize_t count = self->direct.inputs + self->direct.held;
    if (count < FEW) {
        PyObject *operands[FEW];
        operands[0] = operands[1] = NULL;
        return run_with(self, slots, operands + 1, result);
    }
    PyObject **operands = PyMem_Malloc((count + 1) * sizeof(PyObject *));
    if (operands == NULL) {
        PyErr_NoMemory();
        return FAILED;
    }
    Outcome outcome = run_with(self, slots, operands + 1, result);
    PyMem_Free(operands);
    return outcome;
}

/* ---- the type ---- */

static PyObject *
variant_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"program", "code", "direct", "native", "info", "evaluated", NULL};
    PyObject *spec, *code, *direct = Py_None, *info = Py_None;
    int native = 1;
    Py_ssize_t evaluated = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!|OpOn:Variant", names, &spec, &PyCode_Type, &code, &direct,
                                     &native, &info, &evaluated)) {
        return NULL;
    }
    Variant *self = (Variant *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->spec = Py_NewRef(spec);
    self->code = (PyCodeObject *)Py_NewRef(code);
    self->direct_spec = Py_NewRef(direct);
    self->info = Py_NewRef(info);
    self->native = native;
    self->evaluated = evaluated;
    SlotMap map = {0};
    int status = program_compile(&self->program, &map, spec, argument_count(self->code));
    status = status < 0 ? status : direct_parse(self, &map);
    PyMem_Free(map.physical);
    if (status < 0 || record_replacement(self->code) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static int
variant_traverse(PyObject *op, visitproc visit, void *arg)
{
    Variant *self = (Variant *)op;
    Py_VISIT(Py_TYPE(op));
    Py_VISIT(self->spec);
    Py_VISIT(self->code);
    Py_VISIT(self->direct_spec);
    Py_VISIT(self->info);
    return 0;
}

static void
variant_dealloc(PyObject *op)
{
    Variant *self = (Variant *)op;
    PyTypeObject *type = Py_TYPE(op);
    PyObject_GC_UnTrack(op);
    program_free(&self->program);
    if (self->direct.outputs != NULL) {
        template_free(self->direct.outputs);
        PyMem_Free(self->direct.outputs);
    }
    PyMem_Free(self->direct.slots);
    Py_XDECREF(self->spec);
    Py_XDECREF(self->code);
    Py_XDECREF(self->direct_spec);
    Py_XDECREF(self->info);
    type->tp_free(op);
    Py_DECREF(type);
}

static PyObject *
variant_repr(PyObject *op)
{
    Variant *self = (Variant *)op;
    return PyUnicode_FromFormat("<Variant of %U, %llu hits%s>", self->code->co_qualname,
                                (unsigned long long)self->hits, self->direct.executor == NULL ? "" : ", direct");
}

/* What its maker attached shows through: `variant.guards` is `variant.info.guards`. */
static PyObject *
variant_getattro(PyObject *op, PyObject *name)
{
    PyObject *info = ((Variant *)op)->info;
    PyObject *value = PyObject_GenericGetAttr(op, name);
    if (value != NULL || info == Py_None || PyUnicode_READ_CHAR(name, 0) == '_' ||
        !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return value;
    }
    PyErr_Clear();
    return PyObject_GetAttr(info, name);
}

static PyObject *
variant_holds(PyObject *op, PyObject *args)
{
    Variant *self = (Variant *)op;
    PyObject *arguments, *function;
    if (!PyArg_ParseTuple(args, "O!O!:holds", &PyTuple_Type, &arguments, &PyFunction_Type, &function)) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(arguments);
    if (count != argument_count(self->code)) {
        PyErr_Format(PyExc_ValueError, "the code has %zd argument slots, not %zd", argument_count(self->code), count);
        return NULL;
    }
    Slots slots;
    if (slots_init(&slots, self->program.slots) < 0) {
        return NULL;
    }
    memcpy(slots.at, &PyTuple_GET_ITEM(arguments, 0), count * sizeof(PyObject *));
    bool holds = program_holds(&self->program, slots.at, function);
    slots_free(&slots);
    return PyBool_FromLong(holds);
}

static PyMethodDef variant_methods[] = {
    {"holds", variant_holds, METH_VARARGS,
     PyDoc_STR("holds(arguments, function)\n--\n\nWhether the guards hold for these argument slots.")},
    {NULL},
};

static PyMemberDef variant_members[] = {
    {"program", T_OBJECT, offsetof(Variant, spec), READONLY, "the guard program, as compile_guards returns it"},
    {"code", T_OBJECT, offsetof(Variant, code), READONLY, "the replacement code"},
    {"direct", T_OBJECT, offsetof(Variant, direct_spec), READONLY, "None or (executor, input slots, template)"},
    {"native", T_BOOL, offsetof(Variant, native), READONLY, "whether the code has plain parts that call other code"},
    {"info", T_OBJECT, offsetof(Variant, info), READONLY, "whatever its maker attached"},
    {"evaluated", T_PYSSIZET, offsetof(Variant, evaluated), READONLY, "how many instructions it stands for"},
    {"hits", T_ULONGLONG, offsetof(Variant, hits), READONLY, "how often its guards held"},
    {NULL},
};

PyDoc_STRVAR(variant_doc, "Variant(program, code, direct=None, native=True, info=None, evaluated=0)\n--\n\n"
                          "Guards, and what runs while they hold. Immutable.");

static PyType_Slot variant_slots[] = {
    {Py_tp_doc, (void *)variant_doc},
    {Py_tp_new, variant_new},
    {Py_tp_dealloc, variant_dealloc},
    {Py_tp_traverse, variant_traverse},
    {Py_tp_repr, variant_repr},
    {Py_tp_getattro, variant_getattro},
    {Py_tp_methods, variant_methods},
    {Py_tp_members, variant_members},
    {0, NULL},
};

PyType_Spec variant_spec = {
    .name = "capture.frames._hook.Variant",
    .basicsize = sizeof(Variant),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = variant_slots,
};
