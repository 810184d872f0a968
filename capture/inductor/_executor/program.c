/* The encoded plan as C structures.
 *
 * In comes the tuple of executor.py's `_encode`, already checked there (indices in range, buffers of inputs
 * first), and the path of the library. Out comes a Program: plain structures, and the addresses of the kernels.
 * Every allocation hangs on one list, so that there is one way to free them. */
#include "executor.h"

#include <dlfcn.h>

typedef struct Piece {
    struct Piece *next;
    max_align_t data[];
} Piece;

static void *
allocate(Program *program, size_t count, size_t size)
{
    Piece *piece = PyMem_Calloc(1, sizeof(Piece) + count * size);
    if (piece == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    piece->next = program->memory;
    program->memory = piece;
    return piece->data;
}

/* ------------------------------------------------------------------ parts */

static const int32_t *
parse_indices(Program *program, PyObject *tuple, int *count)
{
    Py_ssize_t length = PyTuple_GET_SIZE(tuple);
    int32_t *indices = allocate(program, (size_t)length, sizeof(int32_t));
    if (indices == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < length; i++) {
        indices[i] = (int32_t)PyLong_AsLong(PyTuple_GET_ITEM(tuple, i));
    }
    *count = (int)length;
    return PyErr_Occurred() ? NULL : indices;
}

static PyArray_Descr *
parse_descr(PyObject *object)
{
    return object == Py_None ? NULL : (PyArray_Descr *)object;
}

static int
parse_input(Program *program, Input *input, PyObject *encoded)
{
    PyObject *descr;
    int kind, written;
    if (!PyArg_ParseTuple(encoded, "iOipi", &kind, &descr, &input->ndim, &written, &input->number)) {
        return -1;
    }
    input->kind = (InputKind)kind;
    input->descr = parse_descr(descr);
    input->flags = NPY_ARRAY_ALIGNED | (written ? NPY_ARRAY_WRITEABLE : 0);
    return 0;
}

static int
parse_buffer(Program *program, Buffer *buffer, PyObject *encoded)
{
    PyObject *descr, *shape, *strides;
    int kind, form;
    if (!PyArg_ParseTuple(encoded, "iOOO!O!iii", &kind, &descr, &buffer->constant, &PyTuple_Type, &shape,
                          &PyTuple_Type, &strides, &buffer->arena_offset, &form, &buffer->stage)) {
        return -1;
    }
    buffer->kind = (BufferKind)kind;
    buffer->form = (Form)form;
    buffer->descr = parse_descr(descr);
    buffer->shape = parse_indices(program, shape, &buffer->ndim);
    buffer->strides = parse_indices(program, strides, &buffer->ndim);
    return buffer->shape == NULL || buffer->strides == NULL ? -1 : 0;
}

static const View *
parse_view(Program *program, PyObject *encoded)
{
    PyObject *descr, *shape, *strides;
    int scalar, whole, number;
    View *view = allocate(program, 1, sizeof(View));
    if (view == NULL || !PyArg_ParseTuple(encoded, "iiO!O!Oppi", &view->buffer, &view->offset, &PyTuple_Type,
                                          &shape, &PyTuple_Type, &strides, &descr, &scalar, &whole, &number)) {
        return NULL;
    }
    view->scalar = scalar;
    view->whole = whole;
    view->number = (NumberKind)number;
    view->descr = parse_descr(descr);
    view->shape = parse_indices(program, shape, &view->ndim);
    view->strides = parse_indices(program, strides, &view->ndim);
    return view->shape == NULL || view->strides == NULL ? NULL : view;
}

static const Item *
parse_items(Program *program, PyObject *tuple, Py_ssize_t *count)
{
    *count = PyTuple_GET_SIZE(tuple);
    Item *items = allocate(program, (size_t)*count, sizeof(Item));
    for (Py_ssize_t i = 0; items != NULL && i < *count; i++) {
        int kind;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, i), "iO", &kind, &items[i].literal)) {
            return NULL;
        }
        items[i].kind = (ItemKind)kind;
        if (kind == ITEM_VIEW) {
            items[i].view = parse_view(program, items[i].literal);
        }
        else if (kind == ITEM_TUPLE || kind == ITEM_LIST) {
            items[i].children = parse_items(program, items[i].literal, &items[i].count);
        }
        if (PyErr_Occurred()) {
            return NULL;
        }
    }
    return items;
}

/* ------------------------------------------------------------------ steps and symbols */

static void *
find_symbol(Program *program, const char *name)
{
    void *symbol = dlsym(program->library, name);
    if (symbol == NULL) {
        PyErr_Format(PyExc_OSError, "the library has no function %s", name);
    }
    return symbol;
}

static int
parse_kernel_step(Program *program, Step *step, PyObject *encoded)
{
    const char *symbol;
    long long grain;
    int writes;
    if (!PyArg_ParseTuple(encoded, "siiLip", &symbol, &step->extent, &step->work, &grain, &step->scratch, &writes)) {
        return -1;
    }
    step->writes = writes;
    step->grain = grain;
    step->kernel = (Kernel)find_symbol(program, symbol);
    return step->kernel == NULL ? -1 : 0;
}

/* The function that computes what depends on a size that a step finds out, if there is one. */
static int
find_sizes(Program *program, Step *step, const char *name)
{
    if (*name == '\0') {
        return 0;
    }
    step->sizes = (Sizes)find_symbol(program, name);
    return step->sizes == NULL ? -1 : 0;
}

static int
parse_told(Program *program, Step *step, PyObject *encoded)
{
    const char *sizes;
    if (!PyArg_ParseTuple(encoded, "iiiis", &step->told_place, &step->told_axis, &step->measured, &step->stage, &sizes)) {
        return -1;
    }
    return find_sizes(program, step, sizes);
}

static int
parse_extern_step(Program *program, Step *step, PyObject *encoded)
{
    PyObject *arguments, *results, *told;
    Py_ssize_t count;
    int single, raises;
    if (!PyArg_ParseTuple(encoded, "OO!O!O!ppO!", &step->function, &PyTuple_Type, &arguments, &PyTuple_Type,
                          &step->names, &PyTuple_Type, &results, &single, &raises, &PyTuple_Type, &told)) {
        return -1;
    }
    if (PyTuple_GET_SIZE(told) > 0 && parse_told(program, step, told) < 0) {
        return -1;
    }
    step->single = single;
    step->raises = raises;
    step->arguments = parse_items(program, arguments, &count);
    step->results = parse_indices(program, results, &step->result_count);
    step->positional = count - PyTuple_GET_SIZE(step->names);
    if (PyTuple_GET_SIZE(step->names) == 0) {
        step->names = NULL;
    }
    return step->arguments == NULL || step->results == NULL ? -1 : 0;
}

static int
parse_look_step(Program *program, Step *step, PyObject *encoded)
{
    const char *sizes;
    if (!PyArg_ParseTuple(encoded, "iiis", &step->look, &step->measured, &step->stage, &sizes)) {
        return -1;
    }
    return find_sizes(program, step, sizes);
}

static int
parse_step(Program *program, Step *step, PyObject *encoded)
{
    PyObject *first = PyTuple_GET_ITEM(encoded, 0);
    step->look = step->measured = -1;
    if (PyLong_Check(first)) {
        return parse_look_step(program, step, encoded);
    }
    return PyUnicode_Check(first) ? parse_kernel_step(program, step, encoded)
                                  : parse_extern_step(program, step, encoded);
}

/* ------------------------------------------------------------------ the whole */

/* The ids of all buffers of a kind. */
static const int32_t *
list_buffers(Program *program, BufferKind kind, int *count)
{
    int32_t *ids = allocate(program, (size_t)program->buffer_count, sizeof(int32_t));
    *count = 0;
    for (int i = 0; ids != NULL && i < program->buffer_count; i++) {
        if (program->buffers[i].kind == kind) {
            ids[(*count)++] = i;
        }
    }
    return ids;
}

static const int64_t *
parse_constants(Program *program, PyObject *tuple)
{
    int64_t *numbers = allocate(program, (size_t)program->number_count, sizeof(int64_t));
    for (Py_ssize_t i = 0; numbers != NULL && i < PyTuple_GET_SIZE(tuple); i++) {
        int number;
        long long value;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple, i), "iL", &number, &value)) {
            return NULL;
        }
        numbers[number] = value;
    }
    return numbers;
}

/* Parse each element of a tuple into an array of TYPE by a function (program, element, encoded) -> 0 or -1. */
#define PARSE_ALL(program, tuple, field, TYPE, parse)                                                    \
    do {                                                                                                 \
        Py_ssize_t length = PyTuple_GET_SIZE(tuple);                                                     \
        TYPE *elements = allocate(program, (size_t)length, sizeof(TYPE));                                \
        for (Py_ssize_t i = 0; elements != NULL && i < length; i++) {                                    \
            if (parse(program, &elements[i], PyTuple_GET_ITEM(tuple, i)) < 0) {                          \
                return -1;                                                                               \
            }                                                                                            \
        }                                                                                                \
        if (elements == NULL) {                                                                          \
            return -1;                                                                                   \
        }                                                                                                \
        (program)->field##s = elements;                                                                  \
        (program)->field##_count = (int)length;                                                          \
    } while (0)

/* Give the unit the functions that its programs call. They are kept for ever: the library may be that of other plans. */
static void
lend_functions(void *library, PyObject *functions)
{
    PyObject **place = PyTuple_GET_SIZE(functions) == 0 ? NULL : (PyObject **)dlsym(library, "capture_functions");
    if (place != NULL && *place != functions) {
        *place = Py_NewRef(functions);
    }
}

static int
parse_program(Program *program, PyObject *encoded)
{
    PyObject *inputs, *buffers, *steps, *results, *constants, *functions;
    int needs_sizes, writes;
    if (!PyArg_ParseTuple(encoded, "O!O!O!O!O!ipiipiO!", &PyTuple_Type, &inputs, &PyTuple_Type, &buffers,
                          &PyTuple_Type, &steps, &PyTuple_Type, &results, &PyTuple_Type, &constants,
                          &program->number_count, &needs_sizes, &program->arena_bytes, &program->flag_count,
                          &writes, &program->share_ns, &PyTuple_Type, &functions)) {
        return -1;
    }
    program->writes = writes;
    program->share_ns = program->share_ns < 1 ? 1 : program->share_ns;
    lend_functions(program->library, functions);
    PARSE_ALL(program, inputs, input, Input, parse_input);
    PARSE_ALL(program, buffers, buffer, Buffer, parse_buffer);
    PARSE_ALL(program, steps, step, Step, parse_step);
    program->results = parse_items(program, results, &program->result_count);
    program->constants = parse_constants(program, constants);
    program->outputs = list_buffers(program, BUFFER_OUTPUT, &program->output_count);
    program->externs = list_buffers(program, BUFFER_EXTERN, &program->extern_count);
    program->arenas = list_buffers(program, BUFFER_ARENA, &program->arena_count);
    if (needs_sizes) {
        program->sizes = (Sizes)find_symbol(program, "sizes");
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* Set the unit's pointers to what its kernels may call. */
static void
lend_services(Program *program)
{
    void *library = program->library;
    share_out_type *share = (share_out_type *)dlsym(library, "capture_share");
    int (**poll)(void) = (int (**)(void))dlsym(library, "capture_poll");
    char *(**take)(size_t) = (char *(**)(size_t))dlsym(library, "capture_take");
    void (**give)(char *) = (void (**)(char *))dlsym(library, "capture_give");
    call_function_type *call = (call_function_type *)dlsym(library, "capture_call");
    if (call != NULL) {
        *call = call_function;
    }
    if (poll != NULL) {
        *poll = pool_poll;
    }
    if (share != NULL) {
        *share = share_out;
        program->shares = true;
    }
    if (take != NULL && give != NULL) {
        *take = block_take;
        *give = block_give;
    }
}

/* Fill `program`, zeroed before. On failure what was filled is left to program_unload. */
int
program_load(Program *program, PyObject *encoded, const char *path)
{
    program->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (program->library == NULL) {
        PyErr_Format(PyExc_OSError, "%s", dlerror());
        return -1;
    }
    lend_services(program);
    return parse_program(program, encoded);
}

void
program_unload(Program *program)
{
    for (Piece *piece = program->memory, *next; piece != NULL; piece = next) {
        next = piece->next;
        PyMem_Free(piece);
    }
    if (program->library != NULL) {
        dlclose(program->library);
    }
    memset(program, 0, sizeof(*program));
}
