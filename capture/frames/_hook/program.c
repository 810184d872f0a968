/* Compiles the tuple form of a guard program to steps.

   In: the tuple that compile_guards (guards.py) returns, e.g.
       (2, (("argument", 0, 0), ("array", 0, dtype, (16, None), -1, None), ("global", 1, namespace, "scale"),
            ("equals", 1, 2.0)))
   Out: a Program, or an exception that says which row is wrong. */
#include "constants.h"
#include "steps.h"

static const struct {
    const char *name, *operands;
} step_kinds[] = {
#define ROW(name, run, operands) {name, operands},
    STEPS(ROW)
#undef ROW
};

static int
parse_slot(const SlotMap *map, PyObject *operand, Py_ssize_t lowest, Py_ssize_t *slot)
{
    Py_ssize_t number = PyLong_AsSsize_t(operand);
    if (number == -1 && PyErr_Occurred()) {
        return -1;
    }
    if (number < lowest || number >= map->count || (number >= 0 && map->physical[number] < 0)) {
        PyErr_Format(PyExc_ValueError, "slot %zd is not filled by an earlier step", number);
        return -1;
    }
    *slot = number < 0 ? number : map->physical[number];
    return 0;
}

static int
parse_operand(Step *step, char kind, PyObject *operand, const SlotMap *map)
{
    switch (kind) {
    case 'p':
        return parse_slot(map, operand, -1, &step->other);
    case 's':
        return parse_slot(map, operand, 0, &step->other);
    case 'i':
        step->index = PyLong_AsSsize_t(operand);
        if (step->index >= 0) {
            return 0;
        }
        break;
    case 't':
        step->object = operand;
        if (PyType_Check(operand)) {
            return 0;
        }
        break;
    case 'd':
        step->object = operand;
        if (PyDict_CheckExact(operand)) {
            return 0;
        }
        break;
    case 'c':
        step->object = operand;
        if (is_plain_constant(operand)) {
            return 0;
        }
        break;
    case 'n':
    case 'k':
        step->key = operand;
        if (kind == 'n' ? PyUnicode_CheckExact(operand) : is_plain_constant(operand)) {
            step->hash = PyObject_Hash(operand);
            step->index = PyLong_CheckExact(operand) ? PyLong_AsSsize_t(operand) : NO_INDEX;
            if (step->index == -1 && PyErr_Occurred()) {
                PyErr_Clear();
                step->index = NO_INDEX;
            }
            return 0;
        }
        break;
    default:
        step->object = operand;
        return 0;
    }
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_TypeError, "%R is no operand of kind '%c'", operand, kind);
    }
    return -1;
}

static int
parse_operands(Step *step, const char *kinds, PyObject *row, const SlotMap *map)
{
    if (kinds[0] == 'A') {
        PyObject *operands = PyTuple_GetSlice(row, 2, PyTuple_GET_SIZE(row));
        step->array = operands == NULL ? NULL : array_spec_parse(operands);
        Py_XDECREF(operands); /* the row keeps its items alive */
        return step->array == NULL ? -1 : 0;
    }
    if (kinds[0] == 'R') {
        step->relation = PyTuple_GET_SIZE(row) == 3 ? relation_parse(PyTuple_GET_ITEM(row, 2), map) : NULL;
        if (step->relation == NULL && !PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "no relation between sizes: %R", row);
        }
        return step->relation == NULL ? -1 : 0;
    }
    if (PyTuple_GET_SIZE(row) != 2 + (Py_ssize_t)strlen(kinds)) {
        PyErr_Format(PyExc_ValueError, "wrong number of operands: %R", row);
        return -1;
    }
    for (Py_ssize_t i = 0; kinds[i] != '\0'; i++) {
        if (parse_operand(step, kinds[i], PyTuple_GET_ITEM(row, 2 + i), map) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
step_kind(PyObject *name)
{
    for (int op = 0; op < (int)Py_ARRAY_LENGTH(step_kinds); op++) {
        if (PyUnicode_CompareWithASCIIString(name, step_kinds[op].name) == 0) {
            return op;
        }
    }
    PyErr_Format(PyExc_ValueError, "no such guard step: %R", name);
    return -1;
}

/* ("argument", slot, index): no step, the slot is where the argument already is. */
static int
place_argument(PyObject *row, SlotMap *map, Py_ssize_t slot, Py_ssize_t arguments)
{
    Py_ssize_t index = PyTuple_GET_SIZE(row) == 3 ? PyLong_AsSsize_t(PyTuple_GET_ITEM(row, 2)) : -1;
    if (index < 0 || index >= arguments) {
        PyErr_Format(PyExc_ValueError, "no such argument: %R", row);
        return -1;
    }
    map->physical[slot] = index;
    return 0;
}

static int
compile_row(Program *program, SlotMap *map, PyObject *row, Py_ssize_t arguments)
{
    if (!PyTuple_CheckExact(row) || PyTuple_GET_SIZE(row) < 2 || !PyUnicode_Check(PyTuple_GET_ITEM(row, 0))) {
        PyErr_Format(PyExc_TypeError, "a guard step is a tuple (name, slot, ...), not %R", row);
        return -1;
    }
    PyObject *name = PyTuple_GET_ITEM(row, 0);
    Py_ssize_t slot = PyLong_AsSsize_t(PyTuple_GET_ITEM(row, 1));
    if (slot < 0 || slot >= map->count) {
        PyErr_Format(PyExc_ValueError, "slot out of range: %R", row);
        return -1;
    }
    if (PyUnicode_CompareWithASCIIString(name, "argument") == 0) {
        return place_argument(row, map, slot, arguments);
    }
    int op = step_kind(name);
    if (op < 0) {
        return -1;
    }
    Step *step = &program->steps[program->count++];
    *step = (Step){.op = (uint8_t)op, .other = -1, .hint = HINT_UNKNOWN, .index = NO_INDEX};
    if (parse_operands(step, step_kinds[op].operands, row, map) < 0) {
        return -1;
    }
    if (op < OP_check_is && map->physical[slot] < 0) {
        map->physical[slot] = program->slots++;
    }
    if (parse_slot(map, PyTuple_GET_ITEM(row, 1), 0, &step->slot) < 0) {
        return -1;
    }
    if (step->relation != NULL && relation_settle(step->relation, step->slot, program->steps, program->count - 1)) {
        PyMem_Free(step->relation);
        *step = (Step){0};
        program->count--;
    }
    return 0;
}

int
program_compile(Program *program, SlotMap *map, PyObject *spec, Py_ssize_t arguments)
{
    Py_ssize_t slots;
    PyObject *rows;
    if (!PyTuple_CheckExact(spec) || !PyArg_ParseTuple(spec, "nO!", &slots, &PyTuple_Type, &rows)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "a guard program is a tuple (slots, steps)");
        }
        return -1;
    }
    *program = (Program){.steps = PyMem_Calloc(PyTuple_GET_SIZE(rows) + 1, sizeof(Step)), .slots = arguments};
    *map = (SlotMap){.physical = PyMem_Malloc((slots + 1) * sizeof(Py_ssize_t)), .count = slots};
    if (program->steps == NULL || map->physical == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < slots; i++) {
        map->physical[i] = -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); i++) {
        if (compile_row(program, map, PyTuple_GET_ITEM(rows, i), arguments) < 0) {
            return -1;
        }
    }
    return 0;
}

void
program_free(Program *program)
{
    for (Py_ssize_t i = 0; i < program->count; i++) {
        PyMem_Free(program->steps[i].array);
        PyMem_Free(program->steps[i].relation);
    }
    PyMem_Free(program->steps);
    *program = (Program){0};
}
