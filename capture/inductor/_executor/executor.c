/* The Executor type: one call from arguments to results, without Python in between.
 *
 *     bind the inputs ─▶ sizes ─▶ allocate ─▶ steps ─▶ flags ─▶ results
 *
 * Each part ends DONE, EXITED (the call returns None and has changed nothing) or FAILED (it raises). */
#include "executor.h"

#include <stddef.h>
#include <structmember.h>

/* ------------------------------------------------------------------ frames */

static Frame *
frame_create(const Program *program)
{
    size_t count = (size_t)program->buffer_count;
    size_t numbers = cache_lines(sizeof(int64_t) * (size_t)program->number_count);
    size_t slots = cache_lines(sizeof(Slot) * count), pointers = cache_lines(sizeof(char *) * count);
    size_t flags = cache_lines(sizeof(uint32_t) * (size_t)program->flag_count);
    char *memory = block_take(cache_lines(sizeof(Frame)) + numbers + slots + 2 * pointers + flags);
    if (memory == NULL) {
        return NULL;
    }
    Frame *frame = (Frame *)memory;
    memset(memory, 0, cache_lines(sizeof(Frame)) + numbers + slots + 2 * pointers + flags);
    frame->numbers = (int64_t *)(memory += cache_lines(sizeof(Frame)));
    frame->slots = (Slot *)(memory += numbers);
    frame->buffers = (char **)(memory += slots);
    frame->objects = (PyObject **)(memory += pointers);
    frame->flags = (uint32_t *)(memory + pointers);
    memcpy(frame->numbers, program->constants, sizeof(int64_t) * (size_t)program->number_count);
    for (int i = 0; i < program->buffer_count; i++) {
        const Buffer *buffer = &program->buffers[i];
        frame->buffers[i] = frame->slots[i].bytes;
        if (buffer->kind == BUFFER_CONSTANT) {
            frame->objects[i] = buffer->constant;
            frame->buffers[i] = PyArray_DATA((PyArrayObject *)buffer->constant);
        }
    }
    return frame;
}

static void
frame_destroy(Frame *frame)
{
    if (frame != NULL) {
        block_give(frame->arena);
        block_give(frame->scratch);
        block_give((char *)frame);
    }
}

static inline Frame *
frame_take(Executor *self)
{
    Frame *frame = self->spare;
    if (frame == NULL) {
        return frame_create(&self->program);
    }
    self->spare = NULL;
    return frame;
}

static inline void
drop_objects(Frame *frame, const int32_t *ids, int count)
{
    for (int i = 0; i < count; i++) {
        Py_CLEAR(frame->objects[ids[i]]);
    }
}

/* End a call: let go of its objects, keep the frame for the next one. */
static inline void
frame_release(Executor *self, Frame *frame)
{
    const Program *program = &self->program;
    if (frame->arena != NULL) {
        lease_end(&frame->lease, &frame->arena);
        block_trim(&frame->arena);
    }
    block_trim(&frame->scratch);
    drop_objects(frame, program->outputs, program->output_count);
    drop_objects(frame, program->externs, program->extern_count);
    if (self->spare == NULL) {
        self->spare = frame;
    }
    else {
        frame_destroy(frame);
    }
}

/* ------------------------------------------------------------------ exceptions */

Outcome
outcome_of_exception(const Frame *frame)
{
    /* What is no Exception (KeyboardInterrupt, SystemExit) is not a matter of this plan. */
    if (frame->written || !PyErr_ExceptionMatches(PyExc_Exception)) {
        return FAILED;
    }
    PyErr_Clear();
    return EXITED;
}

Outcome
no_memory(const Frame *frame)
{
    PyErr_NoMemory();
    return outcome_of_exception(frame);
}

static Outcome
refuse_input(const Executor *self, Py_ssize_t index, PyObject *value)
{
    static const char *const KINDS[] = {"an array", "a scalar", "a bool", "an int", "a float", "an object"};
    const Input *input = &self->program.inputs[index];
    PyObject *name = PyObject_GetAttrString(self->plan, "name");
    PyObject *descr = input->descr == NULL ? PyUnicode_FromString("")
                                           : PyUnicode_FromFormat(" of dtype %S", (PyObject *)input->descr);
    if (name != NULL && descr != NULL) {
        PyObject *dims = input->kind == INPUT_ARRAY ? PyUnicode_FromFormat(" and %d dimensions", input->ndim)
                                                    : PyUnicode_FromString("");
        if (dims != NULL) {
            PyErr_Format(PyExc_TypeError, "input %zd of %U must be %s%U%U, not %.200s", index, name,
                         KINDS[input->kind], descr, dims, Py_TYPE(value)->tp_name);
            Py_DECREF(dims);
        }
    }
    Py_XDECREF(name);
    Py_XDECREF(descr);
    return FAILED;
}

/* ------------------------------------------------------------------ inputs */

/* Whether no two elements can share memory: each stride, from the smallest on, steps over all that lies within it. */
static bool
elements_apart(PyArrayObject *array)
{
    npy_intp reached = PyArray_ITEMSIZE(array), last = -1;
    for (;;) {
        npy_intp next = NPY_MAX_INTP, size = 1;
        for (int i = 0; i < PyArray_NDIM(array); i++) {
            npy_intp stride = PyArray_STRIDE(array, i), step = stride < 0 ? -stride : stride;
            if (PyArray_DIM(array, i) > 1 && step > last && step <= next) {
                size = step == next ? NPY_MAX_INTP : PyArray_DIM(array, i); /* two axes with one step overlap */
                next = step;
            }
        }
        if (next == NPY_MAX_INTP) {
            return true;
        }
        if (next < reached || size == NPY_MAX_INTP) {
            return false;
        }
        reached += next * (size - 1);
        last = next;
    }
}

static inline Outcome
bind_array(const Executor *self, Frame *frame, Py_ssize_t index, PyObject *value)
{
    const Input *input = &self->program.inputs[index];
    PyArrayObject *array = (PyArrayObject *)value;
    if (!PyArray_CheckExact(value) || PyArray_NDIM(array) != input->ndim ||
        (PyArray_DESCR(array) != input->descr && !same_dtype(PyArray_DESCR(array), input->descr))) {
        return refuse_input(self, index, value);
    }
    if ((PyArray_FLAGS(array) & input->flags) != input->flags) {
        return EXITED; /* NumPy works on unaligned data, and knows how to refuse a write */
    }
    if (input->flags & NPY_ARRAY_WRITEABLE && !PyArray_IS_C_CONTIGUOUS(array) && !elements_apart(array)) {
        return EXITED; /* written in place, an element would be computed from what was just written */
    }
    int64_t *sizes = frame->numbers + input->number, *strides = sizes + input->ndim;
    for (int i = 0; i < input->ndim; i++) {
        sizes[i] = PyArray_DIM(array, i);
        strides[i] = PyArray_STRIDE(array, i);
    }
    frame->buffers[index] = PyArray_BYTES(array);
    return DONE;
}

/* A scalar of the dtype, or of one that differs only in name (longlong). */
static bool
is_scalar_of(PyObject *value, PyArray_Descr *descr)
{
    if (Py_TYPE(value) == descr->typeobj) {
        return true;
    }
    if (!PyArray_IsScalar(value, Generic)) {
        return false;
    }
    PyArray_Descr *actual = PyArray_DescrFromScalar(value);
    bool same = actual != NULL && same_dtype(actual, descr);
    Py_XDECREF(actual);
    PyErr_Clear();
    return same;
}

static Outcome
bind_number(const Executor *self, Frame *frame, Py_ssize_t index, PyObject *value)
{
    const Input *input = &self->program.inputs[index];
    Slot *slot = &frame->slots[index];
    int overflow = 0;
    if (input->kind == INPUT_OBJECT) {
        return DONE;
    }
    if (input->kind == INPUT_SCALAR && is_scalar_of(value, input->descr)) {
        PyArray_ScalarAsCtype(value, slot);
        return DONE;
    }
    if (input->kind == INPUT_FLOAT && PyFloat_CheckExact(value)) {
        slot->as_double = PyFloat_AS_DOUBLE(value);
    }
    else if (input->kind == INPUT_INT && PyLong_CheckExact(value)) {
        slot->as_int = PyLong_AsLongLongAndOverflow(value, &overflow);
    }
    else if (input->kind == INPUT_BOOL && PyBool_Check(value)) {
        slot->as_int = value == Py_True; /* little-endian: its first byte is the bool */
    }
    else {
        return refuse_input(self, index, value);
    }
    frame->numbers[input->number] = slot->as_int;
    return overflow ? EXITED : DONE;
}

static inline Outcome
bind_inputs(const Executor *self, Frame *frame, PyObject *const *values)
{
    for (Py_ssize_t i = 0; i < self->program.input_count; i++) {
        bool is_array = self->program.inputs[i].kind == INPUT_ARRAY;
        Outcome outcome = is_array ? bind_array(self, frame, i, values[i]) : bind_number(self, frame, i, values[i]);
        if (outcome != DONE) {
            return outcome;
        }
        frame->objects[i] = values[i];
    }
    return DONE;
}

/* ------------------------------------------------------------------ memory of a call */

/* The outputs that can be allocated when so many sizes have been measured. */
static inline Outcome
allocate_outputs(const Program *program, Frame *frame, int stage)
{
    for (int i = 0; i < program->output_count; i++) {
        int32_t id = program->outputs[i];
        const Buffer *buffer = &program->buffers[id];
        if (buffer->stage != stage) {
            continue;
        }
        PyObject *array = array_new(buffer->descr, buffer->ndim, buffer->shape, buffer->strides, frame->numbers);
        if (array == NULL) {
            return outcome_of_exception(frame);
        }
        frame->objects[id] = array;
        frame->buffers[id] = PyArray_BYTES((PyArrayObject *)array);
    }
    return DONE;
}

static inline Outcome
allocate(const Program *program, Frame *frame)
{
    Outcome outcome = allocate_outputs(program, frame, 0);
    if (outcome != DONE) {
        return outcome;
    }
    if (program->arena_bytes >= 0) {
        if (!block_ensure(&frame->arena, (size_t)frame->numbers[program->arena_bytes])) {
            return no_memory(frame);
        }
        for (int i = 0; i < program->arena_count; i++) {
            int32_t id = program->arenas[i];
            frame->buffers[id] = frame->arena + frame->numbers[program->buffers[id].arena_offset];
        }
    }
    memset(frame->flags, 0, sizeof(uint32_t) * (size_t)program->flag_count);
    return DONE;
}

/* ------------------------------------------------------------------ steps */

/* What a kernel says in its byte of status: plan.py has the meanings. */
enum { SAYS_INTERRUPTED = 2, SAYS_RAISED = 16 };

/* Whether what a kernel says lets the call go on. */
static Outcome
outcome_of_status(unsigned char status)
{
    if (status == SAYS_INTERRUPTED) {
        return FAILED;
    }
    int ignored = status & SAYS_RAISED ? errors_are_ignored(status & (SAYS_RAISED - 1)) : 0;
    return ignored < 0 ? FAILED : ignored ? DONE : EXITED;
}

/* Exit where kernels have found a reason to; or note a size that they have found. */
static inline Outcome
look(const Program *program, Frame *frame, const Step *step)
{
    if (step->measured >= 0) {
        memcpy(&frame->numbers[step->measured], frame->buffers[step->look], sizeof(int64_t));
        if (step->sizes != NULL) {
            step->sizes(frame->numbers);
        }
        return allocate_outputs(program, frame, step->stage);
    }
    unsigned char status = (unsigned char)*frame->buffers[step->look];
    Outcome outcome = status == 0 ? DONE : outcome_of_status(status);
    if (outcome != EXITED || !frame->written) {
        return outcome;
    }
    PyErr_SetString(PyExc_RuntimeError, "a reason to leave was found after arguments had been written");
    return FAILED;
}

static inline Outcome
run_steps(const Executor *self, Frame *frame)
{
    const Program *program = &self->program;
    const Step *end = program->steps + program->step_count;
    Outcome outcome = DONE;
    for (const Step *step = program->steps, *next; step < end && outcome == DONE; step = next) {
        next = step + 1;
        if (step->look >= 0) {
            outcome = look(program, frame, step);
            continue;
        }
        if (step->kernel == NULL) {
            outcome = run_extern(program, frame, step);
            if (outcome == DONE && step->measured >= 0) {
                outcome = allocate_outputs(program, frame, step->stage);
            }
            continue;
        }
        while (next < end && next->kernel != NULL && next->writes == step->writes) {
            next++;
        }
        frame->written |= step->writes;
        outcome = run_kernels(self, frame, step, next);
    }
    return outcome;
}

/* ------------------------------------------------------------------ the call */

static inline Outcome
run(Executor *self, Frame *frame, PyObject *const *values)
{
    const Program *program = &self->program;
    frame->written = false;
    Outcome outcome = bind_inputs(self, frame, values);
    if (outcome != DONE) {
        return outcome;
    }
    if (program->flag_count > 0) {
        /* Kernels do not look for underflow. And after a write it would be too late to exit. */
        int fine = program->writes ? warnings_stay_warnings() : 1;
        fine = fine > 0 ? errors_are_ignored(FLAG_UNDERFLOW) : fine;
        if (fine <= 0) {
            return fine < 0 ? FAILED : EXITED;
        }
    }
    if (program->sizes != NULL) {
        program->sizes(frame->numbers);
    }
    outcome = allocate(program, frame);
    if (outcome == DONE) {
        outcome = run_steps(self, frame);
    }
    if (outcome == DONE && program->flag_count > 0) {
        outcome = settle_flags(self, frame);
    }
    return outcome;
}

static inline PyObject *
make_results(const Program *program, Frame *frame)
{
    PyObject *results = PyTuple_New(program->result_count);
    for (Py_ssize_t i = 0; results != NULL && i < program->result_count; i++) {
        PyObject *result = item_object(frame, &program->results[i]);
        if (result == NULL) {
            Py_CLEAR(results);
        }
        else {
            PyTuple_SET_ITEM(results, i, result);
        }
    }
    return results;
}

static PyObject *
executor_call(PyObject *callable, PyObject *const *values, size_t flagged_count, PyObject *names)
{
    Executor *self = (Executor *)callable;
    Py_ssize_t count = PyVectorcall_NARGS(flagged_count);
    if (count != self->program.input_count || (names != NULL && PyTuple_GET_SIZE(names) > 0)) {
        PyErr_Format(PyExc_TypeError, "%R takes %d inputs by position, got %zd", callable,
                     self->program.input_count, count + (names == NULL ? 0 : PyTuple_GET_SIZE(names)));
        return NULL;
    }
    Frame *frame = frame_take(self);
    if (frame == NULL) {
        return PyErr_NoMemory();
    }
    Py_INCREF(self); /* an extern may drop the last reference to it */
    self->calls++;
    PyObject *results = NULL;
    Outcome outcome = run(self, frame, values);
    if (outcome == DONE) {
        results = make_results(&self->program, frame);
    }
    frame_release(self, frame);
    Py_DECREF(self);
    return outcome == EXITED ? Py_NewRef(Py_None) : results;
}

/* ------------------------------------------------------------------ the type */

static PyObject *
executor_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"plan", "encoded", "path", "threads", "report", NULL};
    PyObject *plan, *encoded, *path, *report;
    int threads;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO!O&iO", names, &plan, &PyTuple_Type, &encoded,
                                     PyUnicode_FSConverter, &path, &threads, &report)) {
        return NULL;
    }
    Executor *self = (Executor *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = executor_call;
        self->threads = threads;
        self->plan = Py_NewRef(plan);
        self->encoded = Py_NewRef(encoded);
        self->report = Py_NewRef(report);
        if (program_load(&self->program, encoded, PyBytes_AS_STRING(path)) < 0) {
            Py_CLEAR(self);
        }
    }
    Py_DECREF(path);
    return (PyObject *)self;
}

/* No tp_clear, as in tuples: an executor cannot be called without these, and a cycle through them goes through
 * something that can be cleared. */
static int
executor_traverse(Executor *self, visitproc visit, void *arg)
{
    Py_VISIT(self->plan);
    Py_VISIT(self->encoded);
    Py_VISIT(self->report);
    return 0;
}

static void
executor_dealloc(Executor *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    frame_destroy(self->spare);
    program_unload(&self->program);
    Py_CLEAR(self->plan);
    Py_CLEAR(self->report);
    Py_CLEAR(self->encoded);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *
executor_repr(Executor *self)
{
    PyObject *name = PyObject_GetAttrString(self->plan, "name");
    PyObject *text = name == NULL ? NULL : PyUnicode_FromFormat("<executor of %S>", name);
    Py_XDECREF(name);
    return text;
}

static PyObject *
executor_source(Executor *self, void *closure)
{
    return PyObject_GetAttrString(self->plan, "source");
}

static PyMemberDef executor_members[] = {
    {"plan", T_OBJECT_EX, offsetof(Executor, plan), READONLY, "what it executes"},
    {"calls", T_ULONGLONG, offsetof(Executor, calls), READONLY, "how often it has been called"},
    {"threads", T_INT, offsetof(Executor, threads), READONLY, "the most threads one kernel may use"},
    {NULL},
};

static PyGetSetDef executor_getset[] = {
    {"source", (getter)executor_source, NULL, "the C of its unit"},
    {NULL},
};

PyTypeObject ExecutorType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "capture.inductor._executor.Executor",
    .tp_doc = "A compiled graph: executor(*inputs) gives the tuple of results, or None: run the region plainly.",
    .tp_basicsize = sizeof(Executor),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = executor_new,
    .tp_dealloc = (destructor)executor_dealloc,
    .tp_traverse = (traverseproc)executor_traverse,
    .tp_repr = (reprfunc)executor_repr,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Executor, vectorcall),
    .tp_weaklistoffset = offsetof(Executor, weakrefs),
    .tp_members = executor_members,
    .tp_getset = executor_getset,
};
