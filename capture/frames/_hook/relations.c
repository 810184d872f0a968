/* Evaluates relations between sizes: a stack machine over 64-bit integers. What overflows, divides by zero or finds no
   size does not hold.

   In: the postfix programs of size_guards.py, the left side followed by the right one. Out: whether they compare so. */
#include "relations.h"

#include "steps.h"

enum { CONSTANT, DIMENSION, NUMBER, ADD, MULTIPLY, FLOORDIV, MODULO, MINIMUM, MAXIMUM, CODES };
enum { EQUAL, DIFFERENT, LESS, AT_MOST, COMPARES };
#define DEEPEST 64

static bool
size_of(const Instruction *at, PyObject *value, long long *size)
{
    if (at->code == NUMBER) {
        int overflow = 0;
        if (!PyLong_CheckExact(value)) {
            return false;
        }
        *size = PyLong_AsLongLongAndOverflow(value, &overflow);
        return overflow == 0;
    }
    if (!PyArray_CheckExact(value) || PyArray_NDIM((PyArrayObject *)value) <= at->number) {
        return false;
    }
    *size = PyArray_DIM((PyArrayObject *)value, (int)at->number);
    return true;
}

/* With Python's rounding, towards minus infinity. */
static bool
divide(int code, long long a, long long b, long long *result)
{
    if (b == 0 || (b == -1 && a == LLONG_MIN)) {
        return false;
    }
    long long quotient = a / b, rest = a % b;
    bool inexact = rest != 0 && (rest < 0) != (b < 0);
    *result = code == FLOORDIV ? quotient - inexact : rest + (inexact ? b : 0);
    return true;
}

static bool
combine(int code, long long a, long long b, long long *result)
{
    switch (code) {
    case ADD:
        return !__builtin_add_overflow(a, b, result);
    case MULTIPLY:
        return !__builtin_mul_overflow(a, b, result);
    case MINIMUM:
        *result = a < b ? a : b;
        return true;
    case MAXIMUM:
        *result = a < b ? b : a;
        return true;
    default:
        return divide(code, a, b, result);
    }
}

static bool
compare(int how, long long left, long long right)
{
    switch (how) {
    case EQUAL:
        return left == right;
    case DIFFERENT:
        return left != right;
    case LESS:
        return left < right;
    default:
        return left <= right;
    }
}

static inline bool
operand(const Instruction *at, Py_ssize_t own, PyObject **slots, long long *value)
{
    *value = at->number;
    return at->code == CONSTANT || size_of(at, slots[at->slot < 0 ? own : at->slot], value);
}

bool
relation_computes(const Relation *relation, Py_ssize_t own, PyObject **slots)
{
    if (relation->count == 2) { /* two sizes, or a size and a constant */
        long long left, right;
        return operand(relation->code, own, slots, &left) && operand(relation->code + 1, own, slots, &right) &&
               compare(relation->compare, left, right);
    }
    long long stack[DEEPEST];
    int depth = 0;
    for (const Instruction *at = relation->code; at < relation->code + relation->count; at++) {
        if (at->code <= NUMBER) {
            if (!operand(at, own, slots, &stack[depth++])) {
                return false;
            }
        }
        else {
            depth--;
            if (!combine(at->code, stack[depth - 1], stack[depth], &stack[depth - 1])) {
                return false;
            }
        }
    }
    return compare(relation->compare, stack[0], stack[1]);
}

/* ---- parsing ---- */

static int
parse_instruction(Instruction *at, PyObject *row, PyObject *slots, const SlotMap *map, int *depth)
{
    Py_ssize_t value;
    if (!PyTuple_Check(row) || !PyArg_ParseTuple(row, "inL", &at->code, &value, &at->number)) {
        return -1;
    }
    *depth += at->code <= NUMBER ? 1 : -1;
    bool known = value >= 0 && value <= PyTuple_GET_SIZE(slots);
    if (at->code < 0 || at->code >= CODES || *depth < 1 || *depth >= DEEPEST || !known) {
        PyErr_Format(PyExc_ValueError, "no instruction of a relation: %R", row);
        return -1;
    }
    at->slot = -1;
    if (value > 0) {
        Py_ssize_t slot = PyLong_AsSsize_t(PyTuple_GET_ITEM(slots, value - 1));
        if (slot < 0 || slot >= map->count || map->physical[slot] < 0) {
            PyErr_Format(PyExc_ValueError, "slot %zd is not filled by an earlier step", slot);
            return -1;
        }
        at->slot = map->physical[slot];
    }
    return 0;
}

Relation *
relation_parse(PyObject *operand, const SlotMap *map)
{
    PyObject *slots, *rows;
    int compare, depth = 0;
    if (!PyTuple_Check(operand) ||
        !PyArg_ParseTuple(operand, "iO!O!", &compare, &PyTuple_Type, &slots, &PyTuple_Type, &rows)) {
        return NULL;
    }
    Py_ssize_t count = PyTuple_GET_SIZE(rows);
    Relation *relation = PyMem_Malloc(sizeof(Relation) + count * sizeof(Instruction));
    if (relation == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    relation->compare = compare;
    relation->same = false;
    relation->count = count;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (parse_instruction(&relation->code[i], PyTuple_GET_ITEM(rows, i), slots, map, &depth) < 0) {
            PyMem_Free(relation);
            return NULL;
        }
    }
    if (depth != 2 || compare < 0 || compare >= COMPARES) {
        PyErr_SetString(PyExc_ValueError, "a relation compares two sizes");
        PyMem_Free(relation);
        return NULL;
    }
    return relation;
}

/* ---- what other steps know ---- */

/* The array step that has seen to it that a size is there; NULL if none has. */
static ArraySpec *
array_behind(const Instruction *at, Py_ssize_t own, const Step *steps, Py_ssize_t count)
{
    Py_ssize_t slot = at->slot < 0 ? own : at->slot;
    for (Py_ssize_t i = 0; at->code == DIMENSION && i < count; i++) {
        if (steps[i].array != NULL && steps[i].slot == slot && at->number < steps[i].array->ndim) {
            return steps[i].array;
        }
    }
    return NULL;
}

/* A bound of one size is part of what the array step compares anyway. */
static bool
settle_bound(const Relation *relation, const Instruction *size, long long bound, ArraySpec *array)
{
    bool below = size == relation->code; /* size < bound, size <= bound */
    if (relation->compare < LESS || bound < -1 || bound > LARGEST_SIZE) {
        return false;
    }
    bound += relation->compare == LESS ? (below ? -1 : 1) : 0;
    return array_spec_bound(array, size->number, below ? 0 : bound, below ? bound : LARGEST_SIZE);
}

bool
relation_settle(Relation *relation, Py_ssize_t own, const Step *steps, Py_ssize_t count)
{
    if (relation->count != 2) {
        return false;
    }
    Instruction *left = relation->code, *right = left + 1;
    ArraySpec *first = array_behind(left, own, steps, count), *second = array_behind(right, own, steps, count);
    if (first != NULL && right->code == CONSTANT) {
        return settle_bound(relation, left, right->number, first);
    }
    if (second != NULL && left->code == CONSTANT) {
        return settle_bound(relation, right, left->number, second);
    }
    relation->same = relation->compare == EQUAL && first != NULL && second != NULL;
    left->slot = left->slot < 0 ? own : left->slot;
    right->slot = right->slot < 0 ? own : right->slot;
    return false;
}
