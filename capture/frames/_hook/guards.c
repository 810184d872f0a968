/* Guards in C: evaluates a flat program of steps over slots.

   In: the slots of a call, arguments first. Out: one bool. A step loads a value into a slot or checks the value of one.
   Steps never run user code, raise or allocate; whatever they cannot decide that way does not hold. */
#include "constants.h"
#include "dicts.h"
#include "steps.h"

PyObject *
plain_dict_get(PyObject *dict, PyObject *key)
{
    bool undecided = false;
    Py_hash_t hash = PyObject_Hash(key);
    return search_dict(dict, key, hash, &undecided);
}

/* ---- loads ---- */

static inline bool
keep(const Step *step, PyObject **slots, PyObject *value)
{
    slots[step->slot] = value;
    return value != NULL;
}

static inline PyObject *
parent_of(const Step *step, PyObject **slots, PyObject *function)
{
    return step->other < 0 ? function : slots[step->other];
}

static inline bool
load_function(Step *step, PyObject **slots, PyObject *function)
{
    return keep(step, slots, function);
}

static inline bool
load_constant(Step *step, PyObject **slots, PyObject *function)
{
    return keep(step, slots, step->object);
}

static inline bool
load_global(Step *step, PyObject **slots, PyObject *function)
{
    return keep(step, slots, read_dict(step, step->object));
}

/* The cell itself. */
static inline bool
load_closure_cell(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *owner = parent_of(step, slots, function);
    if (!PyFunction_Check(owner)) {
        return false;
    }
    PyObject *closure = PyFunction_GET_CLOSURE(owner);
    if (closure == NULL || step->index >= PyTuple_GET_SIZE(closure)) {
        return false;
    }
    return keep(step, slots, PyTuple_GET_ITEM(closure, step->index));
}

static inline bool
load_cell(Step *step, PyObject **slots, PyObject *function)
{
    return load_closure_cell(step, slots, function) && keep(step, slots, PyCell_GET(slots[step->slot]));
}

static inline bool
load_contents(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *cell = slots[step->other];
    return PyCell_Check(cell) && keep(step, slots, PyCell_GET(cell));
}

static inline bool
load_globals(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *other = slots[step->other];
    return PyFunction_Check(other) && keep(step, slots, PyFunction_GET_GLOBALS(other));
}

static inline bool
load_function_part(Step *step, PyObject **slots, PyObject *function)
{
    PyFunctionObject *other = (PyFunctionObject *)slots[step->other];
    if (!PyFunction_Check(other)) {
        return false;
    }
    PyObject *parts[] = {other->func_name, other->func_qualname, other->func_doc, other->func_module};
    PyObject *part = parts[step->index & 3];
    return keep(step, slots, part == NULL ? Py_None : part);
}

/* What a class statement's class is called now. */
static inline bool
load_class_part(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *class = slots[step->other];
    if (!PyType_Check(class) || !PyType_HasFeature((PyTypeObject *)class, Py_TPFLAGS_HEAPTYPE)) {
        return false;
    }
    PyHeapTypeObject *heap = (PyHeapTypeObject *)class;
    return keep(step, slots, step->index == 0 ? heap->ht_name : heap->ht_qualname);
}

static inline bool
load_attribute(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *module = slots[step->other];
    if (!PyModule_CheckExact(module)) {
        return false;
    }
    PyObject *dict = PyModule_GetDict(module);
    return dict != NULL && PyDict_CheckExact(dict) && keep(step, slots, read_dict(step, dict));
}

static PyObject *
search_values(Step *step, PyDictKeysObject *keys, PyDictValues *values)
{
    if (step->hint < 0 || step->hint >= keys->dk_nentries ||
        DK_UNICODE_ENTRIES(keys)[step->hint].me_key != step->key) {
        step->hint = HINT_UNKNOWN;
        for (Py_ssize_t i = 0; i < keys->dk_nentries; i++) {
            PyObject *key = DK_UNICODE_ENTRIES(keys)[i].me_key;
            if (key == step->key || (key != NULL && PyUnicode_Compare(key, step->key) == 0)) {
                step->hint = i;
                break;
            }
        }
    }
    return step->hint < 0 ? NULL : values->values[step->hint];
}

static inline bool
load_instance_attribute(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *self = slots[step->other], *dict;
    PyDictValues *values = instance_values(self, &dict);
    if (values != NULL) {
        PyDictKeysObject *keys = ((PyHeapTypeObject *)Py_TYPE(self))->ht_cached_keys;
        return keys != NULL && keep(step, slots, search_values(step, keys, values));
    }
    return dict != NULL && PyDict_CheckExact(dict) && keep(step, slots, read_dict(step, dict));
}

static inline bool
load_type_attribute(Step *step, PyObject **slots, PyObject *function)
{
    return keep(step, slots, _PyType_Lookup(Py_TYPE(slots[step->other]), step->key));
}

static inline bool
load_class_attribute(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *class = slots[step->other];
    return PyType_Check(class) && keep(step, slots, _PyType_Lookup((PyTypeObject *)class, step->key));
}

/* What the classes behind `step->object`, in the order of the class in the slot, hold under a name. */
static inline bool
load_super_attribute(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *class = slots[step->other], *mro;
    if (!PyType_Check(class) || (mro = ((PyTypeObject *)class)->tp_mro) == NULL) {
        return false;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(mro), i = 0;
    while (i < count && PyTuple_GET_ITEM(mro, i) != step->object) {
        i++;
    }
    for (i++; i < count; i++) {
        bool undecided = false;
        PyObject *dict = class_dict((PyTypeObject *)PyTuple_GET_ITEM(mro, i));
        PyObject *value = dict == NULL ? NULL : search_dict(dict, step->key, step->hash, &undecided);
        if (value != NULL || undecided) {
            return keep(step, slots, value);
        }
    }
    return false;
}

/* -1: it is no container that is known. */
static inline Py_ssize_t
length_of(PyObject *value)
{
    if (PyTuple_Check(value) || PyList_CheckExact(value)) {
        return Py_SIZE(value);
    }
    return PyDict_CheckExact(value) ? PyDict_GET_SIZE(value) : -1;
}

/* A short length as an int that is always there: slots do not own what they hold. */
static inline bool
load_len(Step *step, PyObject **slots, PyObject *function)
{
    Py_ssize_t length = length_of(slots[step->other]);
    if (length < 0 || length > 256) {
        return false;
    }
    PyObject *number = PyLong_FromSsize_t(length);
    Py_XDECREF(number);
    return keep(step, slots, number);
}

static inline bool
load_member(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *self = slots[step->other];
    PyMemberDescrObject *member = (PyMemberDescrObject *)step->object;
    if (!Py_IS_TYPE(step->object, &PyMemberDescr_Type) || member->d_member->type != T_OBJECT_EX ||
        !PyObject_TypeCheck(self, member->d_common.d_type)) {
        return false;
    }
    return keep(step, slots, *(PyObject **)((char *)self + member->d_member->offset));
}

static inline bool
load_bound(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *method = slots[step->other];
    return PyMethod_Check(method) &&
           keep(step, slots, step->index == 0 ? PyMethod_GET_FUNCTION(method) : PyMethod_GET_SELF(method));
}

/* Tuples of a subclass too: their elements as they are stored. */
static inline bool
load_item(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *parent = slots[step->other];
    if (PyDict_CheckExact(parent)) {
        return keep(step, slots, read_dict(step, parent));
    }
    bool is_tuple = PyTuple_Check(parent);
    if (step->index == NO_INDEX || !(is_tuple || PyList_CheckExact(parent))) {
        return false;
    }
    Py_ssize_t size = Py_SIZE(parent), index = step->index < 0 ? step->index + size : step->index;
    if (index < 0 || index >= size) {
        return false;
    }
    return keep(step, slots, is_tuple ? PyTuple_GET_ITEM(parent, index) : PyList_GET_ITEM(parent, index));
}

static inline bool
load_default(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *owner = parent_of(step, slots, function);
    PyObject *defaults = PyFunction_Check(owner) ? PyFunction_GET_DEFAULTS(owner) : NULL;
    if (defaults == NULL) {
        return false;
    }
    Py_ssize_t size = PyTuple_GET_SIZE(defaults), index = step->index < 0 ? step->index + size : step->index;
    return index >= 0 && index < size && keep(step, slots, PyTuple_GET_ITEM(defaults, index));
}

static inline bool
load_keyword_default(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *owner = parent_of(step, slots, function);
    PyObject *defaults = PyFunction_Check(owner) ? PyFunction_GET_KW_DEFAULTS(owner) : NULL;
    return defaults != NULL && PyDict_CheckExact(defaults) && keep(step, slots, read_dict(step, defaults));
}

/* ---- checks ---- */

static inline bool
check_is(Step *step, PyObject **slots, PyObject *function)
{
    return slots[step->slot] == step->object;
}

static inline bool
check_type(Step *step, PyObject **slots, PyObject *function)
{
    return (PyObject *)Py_TYPE(slots[step->slot]) == step->object;
}

static inline bool
check_equals(Step *step, PyObject **slots, PyObject *function)
{
    return same_constant(slots[step->slot], step->object);
}

/* A number of the type of the two bounds. Floats are bounded in size; zero and what is not finite are within. */
static inline bool
check_within(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *value = slots[step->slot];
    PyObject *low = PyTuple_GET_ITEM(step->object, 0), *high = PyTuple_GET_ITEM(step->object, 1);
    if (Py_TYPE(value) != Py_TYPE(low)) {
        return false;
    }
    if (PyFloat_CheckExact(value)) {
        double size = fabs(PyFloat_AS_DOUBLE(value));
        return size == 0 || !isfinite(size) || (PyFloat_AS_DOUBLE(low) <= size && size <= PyFloat_AS_DOUBLE(high));
    }
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow == 0 && PyLong_AsLongLong(low) <= number && number <= PyLong_AsLongLong(high);
}

static inline bool
check_length(Step *step, PyObject **slots, PyObject *function)
{
    return length_of(slots[step->slot]) == step->index;
}

static inline bool
check_at_least(Step *step, PyObject **slots, PyObject *function)
{
    Py_ssize_t length = length_of(slots[step->slot]);
    return length >= 0 && length >= step->index;
}

static inline bool
check_code(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *value = slots[step->slot];
    return PyFunction_Check(value) && PyFunction_GET_CODE(value) == step->object;
}

static inline bool
check_keys(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *value = slots[step->slot], *key;
    Py_ssize_t size = PyTuple_GET_SIZE(step->object), position = 0;
    if (!PyDict_CheckExact(value) || PyDict_GET_SIZE(value) != size) {
        return false;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        if (!PyDict_Next(value, &position, &key, NULL) || !same_constant(key, PyTuple_GET_ITEM(step->object, i))) {
            return false;
        }
    }
    return true;
}

/* The version of the keys object that all empty dicts share. */
#define SHARED_VERSION 1

/* The interpreter gives the keys of a dict a version when it specialises a global name, and takes it back when a key
   comes or goes: while a version we have seen is still there, the key is still missing. */
static inline bool
check_missing(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *dict = slots[step->slot];
    if (!PyDict_CheckExact(dict)) {
        return false;
    }
    PyDictKeysObject *keys = ((PyDictObject *)dict)->ma_keys;
    bool combined = ((PyDictObject *)dict)->ma_values == NULL;
    if (combined && keys->dk_version > SHARED_VERSION && keys->dk_version == step->keys_version) {
        return true;
    }
    bool undecided = false;
    if (search_dict(dict, step->key, step->hash, &undecided) != NULL || undecided) {
        return false;
    }
    step->keys_version = combined ? keys->dk_version : 0;
    return true;
}

static inline bool
check_class_lacks(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *class = slots[step->slot];
    return PyType_Check(class) && _PyType_Lookup((PyTypeObject *)class, step->key) == NULL;
}

static inline bool
check_instance_lacks(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *self = slots[step->slot], *dict;
    if (PyType_Check(self)) {
        return false;
    }
    PyDictValues *values = instance_values(self, &dict);
    if (values != NULL) {
        PyDictKeysObject *keys = ((PyHeapTypeObject *)Py_TYPE(self))->ht_cached_keys;
        return keys == NULL || search_values(step, keys, values) == NULL;
    }
    bool undecided = false;
    return dict == NULL || (PyDict_CheckExact(dict) && search_dict(dict, step->key, step->hash, &undecided) == NULL &&
                            !undecided);
}

/* The order of a class's bases is this very tuple; a class whose bases change gets another one. */
static inline bool
check_mro(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *class = slots[step->slot];
    return PyType_Check(class) && ((PyTypeObject *)class)->tp_mro == step->object;
}

/* How often a class was registered with an abstract one: the library counts that, for its own caches. */
static inline bool
check_registrations(Step *step, PyObject **slots, PyObject *function)
{
    static PyObject *count = NULL;
    if (count == NULL) {
        PyObject *module = PyImport_ImportModule("_abc");
        count = module == NULL ? NULL : PyObject_GetAttrString(module, "get_cache_token");
        Py_XDECREF(module);
    }
    PyObject *now = count == NULL ? NULL : PyObject_CallNoArgs(count);
    bool same = now != NULL && PyLong_AsSsize_t(now) == step->index;
    Py_XDECREF(now);
    PyErr_Clear();
    return same;
}

static inline bool
check_same(Step *step, PyObject **slots, PyObject *function)
{
    return slots[step->slot] == slots[step->other];
}

static inline bool
check_different(Step *step, PyObject **slots, PyObject *function)
{
    return slots[step->slot] != slots[step->other];
}

static inline bool
check_apart(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *first = slots[step->slot], *second = slots[step->other];
    if (!PyArray_CheckExact(first) || !PyArray_CheckExact(second)) {
        return false;
    }
    return arrays_apart((PyArrayObject *)first, (PyArrayObject *)second);
}

/* Not what an object keeps its attributes in. */
static inline bool
check_not_dict_of(Step *step, PyObject **slots, PyObject *function)
{
    PyObject *self = slots[step->other], *dict;
    if (PyType_Check(self)) {
        return true;
    }
    instance_values(self, &dict);
    return dict == NULL || dict != slots[step->slot];
}

static inline bool
check_array(Step *step, PyObject **slots, PyObject *function)
{
    return array_holds(step->array, slots[step->slot]);
}

static inline bool
check_relation(Step *step, PyObject **slots, PyObject *function)
{
    return relation_holds(step->relation, step->slot, slots);
}

/* ---- evaluation ---- */

bool
program_holds(const Program *program, PyObject **slots, PyObject *function)
{
    Step *step = program->steps, *end = step + program->count;
    for (; step < end; step++) {
        bool holds;
        switch (step->op) {
#define ROW(name, run, operands)                                                                                   \
    case OP_##run:                                                                                                 \
        holds = run(step, slots, function);                                                                        \
        break;
            STEPS(ROW)
#undef ROW
        default:
            Py_UNREACHABLE();
        }
        if (!holds) {
            return false;
        }
    }
    return true;
}
