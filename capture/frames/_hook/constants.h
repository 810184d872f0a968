/* Constants that can be compared without running user code: None, bool, int, float, complex, str, bytes, tuples of
   these. */
#ifndef CAPTURE_CONSTANTS_H
#define CAPTURE_CONSTANTS_H

#include "compat.h"

static inline bool
is_plain_constant(PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyTuple_Type) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); i++) {
            if (!is_plain_constant(PyTuple_GET_ITEM(value, i))) {
                return false;
            }
        }
        return true;
    }
    return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type ||
           type == &PyBytes_Type || type == &PyComplex_Type || value == Py_None || value == Py_Ellipsis;
}

static inline bool
same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* The same type and the same bits, all the way down: 1, 1.0 and True differ, as do 0.0 and -0.0; a NaN equals itself.
   `expected` is a plain constant, `value` anything. */
static inline bool
same_constant(PyObject *value, PyObject *expected)
{
    if (value == expected) {
        return true;
    }
    PyTypeObject *type = Py_TYPE(expected);
    if (Py_TYPE(value) != type) {
        return false;
    }
    if (type == &PyFloat_Type) {
        return same_bits(PyFloat_AS_DOUBLE(value), PyFloat_AS_DOUBLE(expected));
    }
    if (type == &PyComplex_Type) {
        Py_complex a = ((PyComplexObject *)value)->cval, b = ((PyComplexObject *)expected)->cval;
        return same_bits(a.real, b.real) && same_bits(a.imag, b.imag);
    }
    if (type == &PyTuple_Type) {
        Py_ssize_t size = PyTuple_GET_SIZE(expected);
        bool same = PyTuple_GET_SIZE(value) == size;
        for (Py_ssize_t i = 0; same && i < size; i++) {
            same = same_constant(PyTuple_GET_ITEM(value, i), PyTuple_GET_ITEM(expected, i));
        }
        return same;
    }
    /* int, str, bytes: the type's own comparison, which does not count as a call and cannot be one too deep; the
       singletons are decided by identity above */
    if (type != &PyLong_Type && type != &PyUnicode_Type && type != &PyBytes_Type) {
        return false;
    }
    PyObject *equal = type->tp_richcompare(value, expected, Py_EQ);
    Py_XDECREF(equal); /* one of the two that are always there */
    return equal == Py_True;
}

#endif
