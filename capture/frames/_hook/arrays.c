/* Array guards: parsing a description, and the checks too long to inline.

   In: (dtype, (16, None), -1, ((2, 1), True, True)), which reads: exactly this dtype, two axes of which the first
   has 16 elements, writeable or not, strides in C order without gaps. Out: an ArraySpec that array_holds compares
   arrays with. */
#define CAPTURE_IMPORTS_NUMPY
#include "arrays.h"

int
arrays_init(void)
{
    import_array1(-1);
    return 0;
}

/* ---- checks ---- */

/* Equal descriptors that are not the same object: built-in numbers in native order without metadata. */
bool
same_dtype(PyArray_Descr *have, PyArray_Descr *want)
{
    return PyTypeNum_ISNUMBER(want->type_num) | PyTypeNum_ISBOOL(want->type_num) &&
           have->type_num == want->type_num && PyArray_ISNBO(have->byteorder) && PyArray_ISNBO(want->byteorder) &&
           PyDataType_METADATA(have) == NULL && PyDataType_METADATA(want) == NULL;
}

/* guards.has_layout: Layout.of(array) == layout, where axes that move and may have any size count as if they moved. */
bool
layout_holds(const ArraySpec *want, PyArrayObject *array)
{
    const npy_intp *dims = PyArray_DIMS(array), *strides = PyArray_STRIDES(array);
    npy_intp dense_stride = PyArray_ITEMSIZE(array), previous = 0;
    bool dense = true;
    for (int axis = 0; axis < want->ndim; axis++) {
        if (dims[axis] == 0) {
            return true; /* no elements, no layout */
        }
    }
    for (int k = want->moving; k < want->ndim; k++) {
        int axis = want->order[k];
        if (dims[axis] != 1) {
            if (strides[axis] != 0) {
                return false;
            }
            dense = false;
        }
    }
    bool ordered = true, inner = true;
    int last = -1;
    for (int k = 0; k < want->moving; k++) {
        int axis = want->order[k];
        npy_intp size = dims[axis], stride = strides[axis] < 0 ? -strides[axis] : strides[axis];
        if (size == 1) {
            ordered &= want->dims[axis] < 0; /* an open size: this time there is no step along it */
            inner = k == 0 ? want->inner : inner;
            continue;
        }
        bool tied = last >= 0 && want->ranks[axis] == want->ranks[last];
        ordered &= tied ? stride == previous : stride > previous;
        dense &= strides[axis] == dense_stride;
        dense_stride *= size;
        inner = k == 0 ? stride == PyArray_ITEMSIZE(array) : inner;
        previous = stride;
        last = axis;
    }
    return ordered && dense == (want->layout == DENSE) && inner == want->inner;
}

/* The bytes an array's elements may lie in; false if there are none. */
static bool
memory_extent(PyArrayObject *array, char **low, char **high)
{
    *low = PyArray_BYTES(array);
    *high = *low + PyArray_ITEMSIZE(array);
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        npy_intp size = PyArray_DIM(array, axis), stride = PyArray_STRIDE(array, axis);
        if (size == 0) {
            return false;
        }
        *(stride < 0 ? low : high) += (size - 1) * stride;
    }
    return true;
}

bool
arrays_apart(PyArrayObject *first, PyArrayObject *second)
{
    char *low, *high, *other_low, *other_high;
    return !memory_extent(first, &low, &high) || !memory_extent(second, &other_low, &other_high) ||
           high <= other_low || other_high <= low;
}

/* ---- parsing ---- */

static ArraySpec *
array_spec_new(PyArray_Descr *dtype, Py_ssize_t ndim)
{
    ArraySpec *spec = PyMem_Calloc(1, sizeof(ArraySpec) + ndim * (3 * sizeof(npy_intp) + 2 * sizeof(int)));
    if (spec == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    spec->dtype = dtype;
    spec->ndim = (int)ndim;
    spec->dims = (npy_intp *)(spec + 1);
    spec->lows = spec->dims + ndim;
    spec->spans = (npy_uintp *)(spec->lows + ndim);
    spec->order = (int *)(spec->spans + ndim);
    spec->ranks = spec->order + ndim;
    spec->flag_mask = spec->flags = NPY_ARRAY_ALIGNED;
    return spec;
}

static void
sort_axes(ArraySpec *spec)
{
    int count = 0;
    for (int rank = 1; rank <= spec->ndim; rank++) {
        for (int axis = 0; axis < spec->ndim; axis++) {
            if (spec->ranks[axis] == rank) {
                spec->order[count++] = axis;
            }
        }
    }
    spec->moving = count;
    for (int axis = 0; axis < spec->ndim; axis++) {
        if (spec->ranks[axis] == 0) {
            spec->order[count++] = axis;
        }
    }
}

/* A dense layout in C or Fortran order is what NumPy's own flags say, where the axes that do not move have size 1. */
static void
prefer_flags(ArraySpec *spec)
{
    if (spec->layout != DENSE) {
        return;
    }
    int ascending = 0, descending = 0;
    for (int k = 0; k < spec->moving; k++) {
        int axis = spec->order[k];
        if (spec->dims[axis] == 1) {
            return;
        }
        if (k > 0) {
            ascending += axis > spec->order[k - 1];
            descending += axis < spec->order[k - 1];
        }
    }
    for (int k = spec->moving; k < spec->ndim; k++) {
        if (spec->dims[spec->order[k]] != 1) {
            return;
        }
    }
    if (ascending == 0 || descending == 0) {
        int flag = ascending == 0 ? NPY_ARRAY_C_CONTIGUOUS : NPY_ARRAY_F_CONTIGUOUS;
        spec->flag_mask |= flag;
        spec->flags |= flag;
        spec->layout = ANY_LAYOUT;
    }
}

static int
parse_layout(ArraySpec *spec, PyObject *layout)
{
    PyObject *ranks;
    int dense, inner;
    if (layout == Py_None) {
        return 0;
    }
    if (!PyTuple_Check(layout) || !PyArg_ParseTuple(layout, "O!pp", &PyTuple_Type, &ranks, &dense, &inner)) {
        return -1;
    }
    if (PyTuple_GET_SIZE(ranks) != spec->ndim) {
        PyErr_SetString(PyExc_ValueError, "a layout needs one rank per axis");
        return -1;
    }
    for (int axis = 0; axis < spec->ndim; axis++) {
        long rank = PyLong_AsLong(PyTuple_GET_ITEM(ranks, axis));
        if (rank < 0 || rank > spec->ndim) {
            PyErr_SetString(PyExc_ValueError, "a rank lies between 0 and the number of axes");
            return -1;
        }
        spec->ranks[axis] = (int)rank;
    }
    spec->layout = dense ? DENSE : STRIDED;
    spec->inner = inner;
    sort_axes(spec);
    prefer_flags(spec);
    return 0;
}

bool
array_spec_bound(ArraySpec *spec, Py_ssize_t axis, long long low, long long high)
{
    if (axis < 0 || axis >= spec->ndim || spec->dims[axis] >= 0) {
        return false;
    }
    long long old_low = spec->lows[axis], old_high = old_low + (long long)spec->spans[axis];
    low = low > old_low ? low : old_low;
    high = high < old_high ? high : old_high;
    if (low > high) {
        return false;
    }
    spec->lows[axis] = low;
    spec->spans[axis] = (npy_uintp)(high - low);
    return true;
}

ArraySpec *
array_spec_parse(PyObject *operands)
{
    PyArray_Descr *dtype;
    PyObject *sizes, *layout;
    int writeable;
    if (!PyArg_ParseTuple(operands, "O!O!iO", &PyArrayDescr_Type, &dtype, &PyTuple_Type, &sizes, &writeable, &layout)) {
        return NULL;
    }
    ArraySpec *spec = array_spec_new(dtype, PyTuple_GET_SIZE(sizes));
    if (spec == NULL) {
        return NULL;
    }
    for (int axis = 0; axis < spec->ndim; axis++) {
        npy_intp size = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, axis));
        spec->dims[axis] = size;
        spec->lows[axis] = size < 0 ? 0 : size;
        spec->spans[axis] = size < 0 ? LARGEST_SIZE : 0;
    }
    if (writeable >= 0) {
        spec->flag_mask |= NPY_ARRAY_WRITEABLE;
        spec->flags |= writeable ? NPY_ARRAY_WRITEABLE : 0;
    }
    if (PyErr_Occurred() || parse_layout(spec, layout) < 0) {
        PyMem_Free(spec);
        return NULL;
    }
    return spec;
}
