/* A region of a generator: captured code that runs in place of what stands between two of its yields.

   In: called by the generator's own code with a tuple of what lies on its operand stack. The variables of the frame are
   taken out of it and given to the region's entry, which returns (number, stack, variable, ...). Out: the variables are
   back in the frame, and the pair (number, stack from the top) says where the frame goes on and with what on its stack.
   Number 0 means: here, as plain Python; the answer where nothing can or shall be captured.

   While the region runs the generator's frame is left out of the chain of frames: the frame of the region stands for it. */
#include "hook.h"

typedef enum {
    STACK,  /* what lies on the stack, counted from the bottom */
    TAKEN,  /* a variable, taken out of the frame */
    UNUSED, /* the same, if it has a value: it is only kept alive */
    SHARED, /* a variable that stays, or a cell */
} Kind;

typedef struct {
    Kind kind;
    int index;
} Parameter;

typedef struct {
    PyObject_HEAD
    PyObject *entry; /* a weak reference */
    PyObject *without; /* called with the numbers of variables that have no value: a region without them, or None */
    PyObject *others;  /* what it gave */
    vectorcallfunc vectorcall;
    Py_ssize_t count, written;
    Parameter *parameters;
    int *slots; /* of the variables that are returned */
} Region;

PyObject *unbound; /* stands for a variable without a value */

/* ---- may it run ---- */

/* A new reference to the entry, or NULL if the frame is to go on as it is. A signal is to find the frame whole: its handlers
   need the variables. */
static Entry *
find_region_entry(PyThreadState *tstate, Region *self)
{
    Entry *entry = (Entry *)weakly_referenced(self->entry);
    if (entry == NULL || entry->function == NULL || entry->plain || thread.quiet || stack_is_short() ||
        RECURSION_REMAINING(tstate) < FEW_LEVELS || signals_pending(tstate) || is_watched(tstate, entry->code)) {
        Py_XDECREF(entry);
        return NULL;
    }
    return entry;
}

/* (0, stack), with the stack as unpacking wants it. */
static PyObject *
pair(PyObject *number, PyObject *const *stack, Py_ssize_t depth)
{
    PyObject *reversed = PyTuple_New(depth);
    if (reversed == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < depth; i++) {
        PyTuple_SET_ITEM(reversed, depth - 1 - i, Py_NewRef(stack[i]));
    }
    PyObject *result = PyTuple_Pack(2, number, reversed);
    Py_DECREF(reversed);
    return result;
}

static PyObject *
go_on_plainly(PyObject *stack)
{
    PyObject *zero = PyLong_FromLong(0);
    PyObject *result = pair(zero, &PyTuple_GET_ITEM(stack, 0), PyTuple_GET_SIZE(stack));
    Py_DECREF(zero);
    return result;
}

/* ---- variables without a value ---- */

/* Their numbers as a new tuple; NULL if there are none, or with an exception. */
static PyObject *
missing_variables(const Region *self, _PyInterpreterFrame *frame)
{
    PyObject *missing = NULL;
    for (Py_ssize_t i = 0; i < self->count; i++) {
        const Parameter *parameter = &self->parameters[i];
        if (parameter->kind == STACK || parameter->kind == UNUSED || frame->localsplus[parameter->index] != NULL) {
            continue;
        }
        PyObject *number = PyLong_FromLong(parameter->index);
        if (number == NULL || (missing == NULL && (missing = PyList_New(0)) == NULL) ||
            PyList_Append(missing, number) < 0) {
            Py_XDECREF(number);
            Py_XDECREF(missing);
            return NULL;
        }
        Py_DECREF(number);
    }
    if (missing != NULL) {
        Py_SETREF(missing, PyList_AsTuple(missing));
    }
    return missing;
}

/* The region for a frame without these variables, borrowed: made when it is first wanted. */
static PyObject *
region_without(Region *self, PyObject *missing)
{
    PyObject *found = PyDict_GetItemWithError(self->others, missing);
    if (found != NULL || PyErr_Occurred()) {
        return found;
    }
    found = call_aside(self->without, &missing, 1);
    if (found != NULL && PyDict_SetItem(self->others, missing, found) < 0) {
        Py_CLEAR(found);
    }
    Py_XDECREF(found); /* the dict has it */
    return found;
}

/* ---- running it ---- */

/* The arguments, with the only references to what was on the stack and to what is taken out of the frame. */
static PyObject *
take_arguments(const Region *self, _PyInterpreterFrame *frame, PyObject *stack)
{
    PyObject *arguments = PyTuple_New(self->count);
    if (arguments == NULL) {
        return NULL;
    }
    bool alone = Py_REFCNT(stack) == 1;
    for (Py_ssize_t i = 0; i < self->count; i++) {
        int index = self->parameters[i].index;
        PyObject *value;
        switch (self->parameters[i].kind) {
        case STACK:
            value = PyTuple_GET_ITEM(stack, index);
            if (alone) {
                PyTuple_SET_ITEM(stack, index, NULL);
            } else {
                Py_INCREF(value);
            }
            break;
        case SHARED:
            value = Py_NewRef(frame->localsplus[index]);
            break;
        default:
            value = frame->localsplus[index];
            frame->localsplus[index] = NULL;
            value = value == NULL ? Py_NewRef(unbound) : value;
        }
        PyTuple_SET_ITEM(arguments, i, value);
    }
    return arguments;
}

static PyObject *
put_back(const Region *self, _PyInterpreterFrame *frame, PyObject *result)
{
    if (!PyTuple_CheckExact(result) || PyTuple_GET_SIZE(result) != 2 + self->written ||
        !PyTuple_CheckExact(PyTuple_GET_ITEM(result, 1))) {
        PyErr_Format(PyExc_SystemError, "the region of a generator returned %R", result);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < self->written; i++) {
        PyObject *value = PyTuple_GET_ITEM(result, 2 + i);
        Py_XSETREF(frame->localsplus[self->slots[i]], value == unbound ? NULL : Py_NewRef(value));
    }
    PyObject *stack = PyTuple_GET_ITEM(result, 1);
    return pair(PyTuple_GET_ITEM(result, 0), &PyTuple_GET_ITEM(stack, 0), PyTuple_GET_SIZE(stack));
}

static PyObject *
run_region(PyThreadState *tstate, Region *self, Entry *entry, _PyInterpreterFrame *frame, PyObject *stack)
{
    PyObject *arguments = take_arguments(self, frame, stack);
    if (arguments == NULL) {
        return NULL;
    }
    CURRENT_FRAME(tstate) = frame->previous;
    PyObject *result = entry_run_once(entry, &PyTuple_GET_ITEM(arguments, 0), self->count, NULL, arguments);
    if (result != NULL && Py_IS_TYPE(result, ContinuationType)) {
        result = continuation_run(result);
    }
    CURRENT_FRAME(tstate) = frame;
    if (result == NULL) {
        return NULL;
    }
    PyObject *answer = put_back(self, frame, result);
    Py_DECREF(result);
    return answer;
}

static PyObject *
region_call(PyObject *op, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Region *self = (Region *)op;
    if (PyVectorcall_NARGS(nargsf) != 1 || kwnames != NULL || !PyTuple_CheckExact(args[0])) {
        PyErr_SetString(PyExc_TypeError, "a region takes the tuple of what is on the stack");
        return NULL;
    }
    PyThreadState *tstate = PyThreadState_Get();
    _PyInterpreterFrame *frame = CURRENT_FRAME(tstate);
    Entry *entry = find_region_entry(tstate, self);
    if (entry == NULL) {
        return go_on_plainly(args[0]);
    }
    PyObject *missing = missing_variables(self, frame);
    PyObject *result = missing == NULL && !PyErr_Occurred() ? run_region(tstate, self, entry, frame, args[0]) : NULL;
    if (missing != NULL) {
        PyObject *other = region_without(self, missing);
        Py_DECREF(missing);
        if (other != NULL) {
            result = Py_IS_TYPE(other, RegionType) ? region_call(other, args, nargsf, NULL) : go_on_plainly(args[0]);
        }
    }
    Py_DECREF(entry);
    return result;
}

/* ---- exceptions ---- */

static bool
same_place(PyCodeObject *a, PyCodeObject *b)
{
    return a->co_firstlineno == b->co_firstlineno && PyUnicode_Compare(a->co_qualname, b->co_qualname) == 0 &&
           PyUnicode_Compare(a->co_filename, b->co_filename) == 0;
}

/* Whether the traceback of an exception says twice where it came from: for the frame of the generator, and for that of
   the region, which stands for it. Then the former goes. */
PyObject *
region_left(PyObject *module, PyObject *error)
{
    PyObject *traceback = PyException_GetTraceback(error);
    bool twice = false;
    if (traceback != NULL && ((PyTracebackObject *)traceback)->tb_next != NULL) {
        PyTracebackObject *next = ((PyTracebackObject *)traceback)->tb_next;
        PyCodeObject *inner = PyFrame_GetCode(next->tb_frame);
        PyCodeObject *outer = PyFrame_GetCode(((PyTracebackObject *)traceback)->tb_frame);
        twice = same_place(inner, outer);
        Py_DECREF(inner);
        Py_DECREF(outer);
        if (twice && PyException_SetTraceback(error, (PyObject *)next) < 0) {
            Py_DECREF(traceback);
            return NULL;
        }
    }
    Py_XDECREF(traceback);
    return PyBool_FromLong(twice);
}

/* ---- the type ---- */

static int
parse_parameters(Region *self, PyObject *parameters)
{
    self->count = PyTuple_GET_SIZE(parameters);
    self->parameters = PyMem_Calloc(self->count + 1, sizeof(Parameter));
    if (self->parameters == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < self->count; i++) {
        int kind, index;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(parameters, i), "ii", &kind, &index)) {
            return -1;
        }
        self->parameters[i] = (Parameter){kind, index};
    }
    return 0;
}

static int
parse_slots(Region *self, PyObject *slots)
{
    self->written = PyTuple_GET_SIZE(slots);
    self->slots = PyMem_Calloc(self->written + 1, sizeof(int));
    if (self->slots == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < self->written; i++) {
        self->slots[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(slots, i));
        if (self->slots[i] < 0) {
            return -1;
        }
    }
    return 0;
}

static PyObject *
region_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *entry, *parameters, *slots, *without;
    if (kwargs != NULL || !PyArg_ParseTuple(args, "O!O!O!O:Region", EntryType, &entry, &PyTuple_Type, &parameters,
                                            &PyTuple_Type, &slots, &without)) {
        return NULL;
    }
    Region *self = (Region *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = region_call;
    self->without = Py_NewRef(without);
    self->entry = PyWeakref_NewRef(entry, NULL);
    self->others = PyDict_New();
    if (self->entry == NULL || self->others == NULL || parse_parameters(self, parameters) < 0 ||
        parse_slots(self, slots) < 0) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void
region_dealloc(PyObject *op)
{
    Region *self = (Region *)op;
    PyTypeObject *type = Py_TYPE(op);
    PyMem_Free(self->parameters);
    PyMem_Free(self->slots);
    Py_XDECREF(self->entry);
    Py_XDECREF(self->without);
    Py_XDECREF(self->others);
    type->tp_free(op);
    Py_DECREF(type);
}

static PyMemberDef region_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Region, vectorcall), READONLY, NULL},
    {NULL},
};

PyDoc_STRVAR(region_doc, "Region(entry, parameters, slots, without)\n--\n\n"
                         "What a generator's code calls in place of the code between two yields. `parameters` are pairs\n"
                         "(kind, index), `slots` those of the variables that come back.");

static PyType_Slot region_slots[] = {
    {Py_tp_doc, (void *)region_doc},
    {Py_tp_new, region_new},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_dealloc, region_dealloc},
    {Py_tp_members, region_members},
    {0, NULL},
};

PyType_Spec region_spec = {
    .name = "capture.frames._hook.Region",
    .basicsize = sizeof(Region),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = region_slots,
};
