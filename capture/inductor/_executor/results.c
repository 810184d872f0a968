/* Arrays, views and scalars, as NumPy would have made them. */
#include "executor.h"

bool
same_dtype(PyArray_Descr *actual, PyArray_Descr *expected)
{
    /* int64 and longlong are two dtypes of one kind; byte-swapped ones are not equivalent. */
    return actual == expected || PyArray_EquivTypes(actual, expected);
}

#define NUMPY_TRACE_DOMAIN 389047 /* numpy._core.multiarray.tracemalloc_domain */

/* Whether these are the strides NumPy gives by itself, also to axes of size 1. */
static bool
are_c_strides(int ndim, const npy_intp *dims, const npy_intp *strides, npy_intp itemsize)
{
    for (int i = ndim - 1; i >= 0; i--) {
        if (strides[i] != itemsize) {
            return false;
        }
        itemsize *= dims[i];
    }
    return true;
}

/* ------------------------------------------------------------------ new arrays */

/* An array whose data is a block of ours and that owns it, or NULL (with an exception or without: no memory). */
static PyObject *
array_over_block(PyArray_Descr *descr, int ndim, npy_intp *dims, npy_intp *strides, npy_intp bytes,
                 PyObject *handler)
{
    char *block = block_take((size_t)bytes);
    if (block == NULL) {
        return PyErr_NoMemory();
    }
    Py_INCREF(descr);
    PyObject *array =
        PyArray_NewFromDescr(&PyArray_Type, descr, ndim, dims, strides, block, NPY_ARRAY_CARRAY, NULL);
    if (array == NULL) {
        block_give(block);
        return NULL;
    }
    /* What NumPy does when it allocates: remember who frees the data, and tell tracemalloc. */
    ((PyArrayObject_fields *)array)->mem_handler = Py_NewRef(handler);
    PyArray_ENABLEFLAGS((PyArrayObject *)array, NPY_ARRAY_OWNDATA);
    PyTraceMalloc_Track(NUMPY_TRACE_DOMAIN, (uintptr_t)block, (size_t)bytes);
    return array;
}

PyObject *
array_new(PyArray_Descr *descr, int ndim, const int32_t *shape, const int32_t *strides, const int64_t *numbers)
{
    npy_intp dims[NPY_MAXDIMS], steps[NPY_MAXDIMS], itemsize = PyDataType_ELSIZE(descr), bytes = itemsize;
    bool sane = true; /* else NumPy has the words for it */
    for (int i = 0; i < ndim; i++) {
        dims[i] = numbers[shape[i]];
        steps[i] = numbers[strides[i]];
        sane = sane && dims[i] >= 0 && !__builtin_mul_overflow(bytes, dims[i], &bytes);
    }
    /* Without elements NumPy has strides of its own taste. */
    bool plain = bytes == 0 || are_c_strides(ndim, dims, steps, itemsize);
    if (sane && bytes >= POOL_MINIMUM) {
        PyObject *handler = memory_handler();
        if (handler != NULL) {
            return array_over_block(descr, ndim, dims, plain ? NULL : steps, bytes, handler);
        }
    }
    Py_INCREF(descr);
    return PyArray_NewFromDescr(&PyArray_Type, descr, ndim, dims, plain ? NULL : steps, NULL, 0, NULL);
}

/* ------------------------------------------------------------------ views */

/* What keeps the memory of a buffer alive: a new reference, or NULL when nothing can (a slot) or on error. */
static PyObject *
owner_of(Frame *frame, int32_t buffer)
{
    PyObject *object = frame->objects[buffer];
    if (object != NULL) {
        return PyArray_CheckExact(object) ? Py_NewRef(object) : NULL;
    }
    if (frame->buffers[buffer] == frame->slots[buffer].bytes) {
        return NULL;
    }
    if (frame->lease == NULL) {
        frame->lease = lease_new();
    }
    return Py_XNewRef(frame->lease);
}

static PyObject *
view_array(Frame *frame, const View *view)
{
    npy_intp dims[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    char *data = frame->buffers[view->buffer] + frame->numbers[view->offset];
    for (int i = 0; i < view->ndim; i++) {
        dims[i] = frame->numbers[view->shape[i]];
        strides[i] = frame->numbers[view->strides[i]];
    }
    PyObject *owner = owner_of(frame, view->buffer);
    if (owner == NULL && PyErr_Occurred()) {
        return NULL;
    }
    bool writeable = owner == NULL || !PyArray_Check(owner) || PyArray_ISWRITEABLE((PyArrayObject *)owner);
    Py_INCREF(view->descr);
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, view->descr, view->ndim, dims, strides,
                                           owner == NULL ? NULL : data, writeable ? NPY_ARRAY_WRITEABLE : 0, NULL);
    if (array == NULL) {
        Py_XDECREF(owner);
        return NULL;
    }
    if (owner == NULL) { /* the value of a scalar or number: a copy */
        memcpy(PyArray_DATA((PyArrayObject *)array), data, (size_t)PyDataType_ELSIZE(view->descr));
    }
    else if (PyArray_SetBaseObject((PyArrayObject *)array, owner) < 0) { /* takes the reference in any case */
        Py_DECREF(array);
        return NULL;
    }
    return array;
}

static PyObject *
python_number(NumberKind kind, const char *data)
{
    long long integer;
    double number;
    switch (kind) {
    case NUMBER_BOOL:
        return PyBool_FromLong(*data != 0);
    case NUMBER_INT:
        memcpy(&integer, data, sizeof(integer));
        return PyLong_FromLongLong(integer);
    default:
        memcpy(&number, data, sizeof(number));
        return PyFloat_FromDouble(number);
    }
}

static PyObject *
view_scalar(Frame *frame, const View *view)
{
    if (view->number != NUMBER_NONE) {
        return python_number(view->number, frame->buffers[view->buffer] + frame->numbers[view->offset]);
    }
    PyObject *object = frame->objects[view->buffer];
    if (object != NULL && Py_TYPE(object) == view->descr->typeobj) {
        return Py_NewRef(object); /* it came as a scalar: the very one */
    }
    return PyArray_Scalar(frame->buffers[view->buffer] + frame->numbers[view->offset], view->descr, NULL);
}

/* A tuple or list of what the children stand for. */
static PyObject *
sequence_object(Frame *frame, const Item *item)
{
    PyObject *made = item->kind == ITEM_LIST ? PyList_New(item->count) : PyTuple_New(item->count);
    for (Py_ssize_t i = 0; made != NULL && i < item->count; i++) {
        PyObject *child = item_object(frame, &item->children[i]);
        if (child == NULL) {
            Py_CLEAR(made);
        }
        else if (item->kind == ITEM_LIST) {
            PyList_SET_ITEM(made, i, child);
        }
        else {
            PyTuple_SET_ITEM(made, i, child);
        }
    }
    return made;
}

PyObject *
item_object(Frame *frame, const Item *item)
{
    if (item->kind == ITEM_LITERAL) {
        return Py_NewRef(item->literal);
    }
    if (item->kind == ITEM_TUPLE || item->kind == ITEM_LIST) {
        return sequence_object(frame, item);
    }
    const View *view = item->view;
    if (view->whole && frame->objects[view->buffer] != NULL) {
        return Py_NewRef(frame->objects[view->buffer]);
    }
    return view->scalar ? view_scalar(frame, view) : view_array(frame, view);
}
