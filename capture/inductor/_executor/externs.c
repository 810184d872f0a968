/* Steps that call Python: arguments from views, the call, and whether its result is what was predicted. */
#include "executor.h"

#define FEW_ARGUMENTS 8

/* Whether an array lies in this call's arena, which is about to be used for something else. */
static bool
lies_in_arena(const Frame *frame, PyObject *object)
{
    if (frame->lease == NULL) {
        return false;
    }
    while (object != NULL && PyArray_Check(object)) {
        object = PyArray_BASE((PyArrayObject *)object);
    }
    return object == frame->lease;
}

static bool
is_predicted_array(const Frame *frame, const Buffer *buffer, PyArrayObject *array)
{
    const int64_t *numbers = frame->numbers;
    if (buffer->form == FORM_SCALAR || PyArray_NDIM(array) != buffer->ndim ||
        !same_dtype(PyArray_DESCR(array), buffer->descr) || lies_in_arena(frame, (PyObject *)array)) {
        return false;
    }
    if (!PyArray_ISALIGNED(array) || !PyArray_ISWRITEABLE(array)) {
        return false; /* kernels may write to it */
    }
    bool empty = PyArray_SIZE(array) == 0;
    for (int i = 0; i < buffer->ndim; i++) {
        npy_intp size = PyArray_DIM(array, i);
        if (size != numbers[buffer->shape[i]]) {
            return false;
        }
        if (!empty && size != 1 && PyArray_STRIDE(array, i) != numbers[buffer->strides[i]]) {
            return false;
        }
    }
    return true;
}

/* Put a Python number into a buffer's slot; false for what is none, or does not fit. */
static bool
is_number_in_slot(Frame *frame, const Buffer *buffer, int32_t id, PyObject *object)
{
    if (PyFloat_CheckExact(object) && buffer->descr->type_num == NPY_DOUBLE) {
        double number = PyFloat_AS_DOUBLE(object);
        memcpy(frame->slots[id].bytes, &number, sizeof(number));
        return true;
    }
    if (PyBool_Check(object) && buffer->descr->type_num == NPY_BOOL) {
        frame->slots[id].bytes[0] = object == Py_True;
        return true;
    }
    if (!PyLong_CheckExact(object) || !PyArray_EquivTypenums(buffer->descr->type_num, NPY_INT64)) {
        return false;
    }
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    memcpy(frame->slots[id].bytes, &number, sizeof(number));
    return overflow == 0;
}

/* Make a result, if it is what was predicted, the buffer's object; takes no reference otherwise. */
static bool
bind_result(const Program *program, Frame *frame, int32_t id, PyObject *object)
{
    const Buffer *buffer = &program->buffers[id];
    if (buffer->form == FORM_OBJECT) { /* handed on as it is: a generator */
        Py_XSETREF(frame->objects[id], Py_NewRef(object));
        return true;
    }
    if (PyArray_CheckExact(object)) {
        if (!is_predicted_array(frame, buffer, (PyArrayObject *)object)) {
            return false;
        }
        frame->buffers[id] = PyArray_DATA((PyArrayObject *)object);
    }
    else {
        if (buffer->form == FORM_ARRAY || buffer->ndim != 0) {
            return false;
        }
        if (buffer->form != FORM_NUMBER && Py_TYPE(object) == buffer->descr->typeobj) {
            PyArray_ScalarAsCtype(object, &frame->slots[id]);
        }
        else if (buffer->form == FORM_SCALAR || !is_number_in_slot(frame, buffer, id, object)) {
            return false;
        }
        frame->buffers[id] = frame->slots[id].bytes;
    }
    Py_XSETREF(frame->objects[id], Py_NewRef(object));
    return true;
}

static bool
bind_results(const Program *program, Frame *frame, const Step *step, PyObject *value)
{
    if (step->single) {
        return bind_result(program, frame, step->results[0], value);
    }
    if (!(PyTuple_Check(value) || PyList_Check(value)) || PySequence_Fast_GET_SIZE(value) != step->result_count) {
        return false;
    }
    for (int i = 0; i < step->result_count; i++) {
        int32_t id = step->results[i];
        if (id >= 0 && !bind_result(program, frame, id, PySequence_Fast_GET_ITEM(value, i))) {
            return false;
        }
    }
    return true;
}

/* Note the size that a result tells: what is predicted of results depends on it. */
static bool
note_size(Frame *frame, const Step *step, PyObject *value)
{
    if (!step->single) {
        if (!(PyTuple_Check(value) || PyList_Check(value)) || PySequence_Fast_GET_SIZE(value) <= step->told_place) {
            return false;
        }
        value = PySequence_Fast_GET_ITEM(value, step->told_place);
    }
    if (!PyArray_CheckExact(value) || PyArray_NDIM((PyArrayObject *)value) <= step->told_axis) {
        return false;
    }
    frame->numbers[step->measured] = PyArray_DIM((PyArrayObject *)value, step->told_axis);
    if (step->sizes != NULL) {
        step->sizes(frame->numbers);
    }
    return true;
}

static PyObject *
call_plainly(const Step *step, PyObject *const *arguments)
{
    size_t flagged = (size_t)step->positional | PY_VECTORCALL_ARGUMENTS_OFFSET;
    return PyObject_Vectorcall(step->function, arguments, flagged, step->names);
}

static PyObject *
call_raising(const Step *step, PyObject *const *arguments)
{
    PyObject *token = errstate_raise();
    if (token == NULL) {
        return NULL;
    }
    PyObject *value = call_plainly(step, arguments);
    errstate_leave(token);
    return value;
}

static PyObject *
call(Frame *frame, const Step *step)
{
    /* The first place is the callee's, for methods (PY_VECTORCALL_ARGUMENTS_OFFSET). */
    PyObject *few[1 + FEW_ARGUMENTS] = {NULL}, **memory = few, *value = NULL;
    Py_ssize_t count = step->positional + (step->names == NULL ? 0 : PyTuple_GET_SIZE(step->names)), made;
    if (count > FEW_ARGUMENTS && (memory = PyMem_New(PyObject *, 1 + count)) == NULL) {
        return PyErr_NoMemory();
    }
    PyObject **arguments = memory + 1;
    for (made = 0; made < count; made++) {
        arguments[made] = item_object(frame, &step->arguments[made]);
        if (arguments[made] == NULL) {
            break;
        }
    }
    if (made == count) {
        value = step->raises ? call_raising(step, arguments) : call_plainly(step, arguments);
    }
    while (made > 0) {
        Py_DECREF(arguments[--made]);
    }
    if (memory != few) {
        PyMem_Free(memory);
    }
    return value;
}

Outcome
run_extern(const Program *program, Frame *frame, const Step *step)
{
    PyObject *value = call(frame, step);
    if (value == NULL) {
        return outcome_of_exception(frame);
    }
    bool predicted = (step->measured < 0 || note_size(frame, step, value)) && bind_results(program, frame, step, value);
    Py_DECREF(value);
    if (predicted) {
        return DONE;
    }
    if (frame->written) {
        PyErr_Format(PyExc_RuntimeError,
                     "%R returned something other than was predicted, after arguments had been written",
                     step->function);
        return FAILED;
    }
    return EXITED;
}
