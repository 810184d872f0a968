/* Functions of Python that programs call in the middle of their loops: arrays over the program's memory, the call, and
 * a copy of its result. The result must be what was predicted, in C order; where it is not, or something was raised, the
 * program leaves. */
#include "executor.h"

enum { CALLED, LEFT, INTERRUPTED };

static PyObject *
array_over(const GivenArray *given)
{
    PyArray_Descr *descr = PyArray_DescrFromType(given->type);
    if (descr == NULL) {
        return NULL;
    }
    return PyArray_NewFromDescr(&PyArray_Type, descr, given->ndim, (npy_intp *)given->sizes, (npy_intp *)given->strides,
                                given->data, NPY_ARRAY_WRITEABLE, NULL);
}

static PyObject *
call_on_arrays(PyObject *function, int count, const GivenArray *given)
{
    PyObject *arguments = PyTuple_New(count), *value = NULL;
    for (int i = 0; arguments != NULL && i < count; i++) {
        PyObject *array = array_over(&given[i]);
        if (array == NULL) {
            Py_CLEAR(arguments);
            break;
        }
        PyTuple_SET_ITEM(arguments, i, array);
    }
    PyObject *token = arguments == NULL ? NULL : errstate_raise();
    if (token != NULL) {
        value = PyObject_CallObject(function, arguments);
        errstate_leave(token);
    }
    Py_XDECREF(arguments);
    return value;
}

/* Copy an array into the program's block, which grows where it must. */
static int
take_array(PyArrayObject *array, const MadeArray *made)
{
    int64_t bytes = PyArray_NBYTES(array);
    for (int i = 0; i < made->ndim; i++) {
        made->sizes[i] = PyArray_DIM(array, i);
    }
    if (*made->room < bytes || *made->block == NULL) {
        if (*made->block != NULL) {
            block_give(*made->block);
        }
        *made->block = block_take((size_t)(bytes + (bytes >> 3) + 1));
        *made->room = *made->block == NULL ? 0 : bytes;
        if (*made->block == NULL) {
            return LEFT;
        }
    }
    memcpy(*made->block, PyArray_DATA(array), (size_t)bytes);
    return CALLED;
}

static int
take_result(PyObject *value, const MadeArray *made)
{
    if (made->ndim < 0) {
        PyArray_Descr *descr = PyArray_IsScalar(value, Generic) ? PyArray_DescrFromScalar(value) : NULL;
        bool same = descr != NULL && descr->type_num == made->type;
        Py_XDECREF(descr);
        if (same) {
            PyArray_ScalarAsCtype(value, made->scalar);
        }
        return same ? CALLED : LEFT;
    }
    if (!PyArray_CheckExact(value)) {
        return LEFT;
    }
    PyArrayObject *array = (PyArrayObject *)value;
    bool same = PyArray_TYPE(array) == made->type && PyArray_NDIM(array) == made->ndim && PyArray_ISCARRAY_RO(array);
    return same ? take_array(array, made) : LEFT;
}

int
call_function(PyObject *functions, int which, int count, const GivenArray *given, const MadeArray *made)
{
    PyGILState_STATE state = PyGILState_Ensure();
    FpStatus status = fp_clear(); /* NumPy looks at it, and clears it */
    PyObject *value = call_on_arrays(PyTuple_GET_ITEM(functions, which), count, given);
    int outcome = value == NULL ? LEFT : take_result(value, made);
    Py_XDECREF(value);
    if (PyErr_Occurred()) { /* what is no Exception, a KeyboardInterrupt, ends the call */
        outcome = PyErr_ExceptionMatches(PyExc_Exception) ? LEFT : INTERRUPTED;
        if (outcome == LEFT) {
            PyErr_Clear();
        }
    }
    fp_restore(status);
    PyGILState_Release(state);
    return outcome;
}
