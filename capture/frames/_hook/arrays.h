/* What a guard may say of an ndarray. */
#ifndef CAPTURE_ARRAYS_H
#define CAPTURE_ARRAYS_H

#include "compat.h"

#define PY_ARRAY_UNIQUE_SYMBOL capture_hook_array_api
#ifndef CAPTURE_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

/* What an ndarray must be; `order` lists the axes that move, smallest stride first, then the others. */
#define LARGEST_SIZE ((npy_intp)1 << 40) /* as sources.LARGEST_SIZE: larger ones are of views that repeat themselves */

typedef struct {
    PyArray_Descr *dtype;
    int ndim, moving;
    int flag_mask, flags;
    enum { ANY_LAYOUT, DENSE, STRIDED } layout;
    bool inner;
    npy_intp *dims; /* -1: open */
    npy_intp *lows; /* the smallest size of each axis, */
    npy_uintp *spans; /* and by how much others may be larger: one comparison tells both */
    int *order;
    int *ranks;
} ArraySpec;

int arrays_init(void);
/* From (dtype, sizes, writeable, layout): -1 for what is not checked, layout None or (ranks, dense, inner). Borrows the
   dtype; freed with PyMem_Free. */
ArraySpec *array_spec_parse(PyObject *operands);
/* The size of an open axis lies between these, too; false if the axis is not open or nothing would be left. */
bool array_spec_bound(ArraySpec *spec, Py_ssize_t axis, long long low, long long high);
bool same_dtype(PyArray_Descr *have, PyArray_Descr *want);
bool layout_holds(const ArraySpec *want, PyArrayObject *array);
/* True if no byte can belong to elements of both. */
bool arrays_apart(PyArrayObject *first, PyArrayObject *second);

static inline bool
array_holds(const ArraySpec *want, PyObject *value)
{
    if (!PyArray_CheckExact(value)) {
        return false;
    }
    PyArrayObject *array = (PyArrayObject *)value;
    if ((PyArray_DESCR(array) != want->dtype && !same_dtype(PyArray_DESCR(array), want->dtype)) ||
        PyArray_NDIM(array) != want->ndim || (PyArray_FLAGS(array) & want->flag_mask) != want->flags) {
        return false;
    }
    const npy_intp *dims = PyArray_DIMS(array);
    for (int axis = 0; axis < want->ndim; axis++) {
        if ((npy_uintp)(dims[axis] - want->lows[axis]) > want->spans[axis]) {
            return false;
        }
    }
    return want->layout == ANY_LAYOUT || layout_holds(want, array);
}

#endif
