/* Relations between sizes: x.shape[0] == y.shape[1]. */
#ifndef CAPTURE_RELATIONS_H
#define CAPTURE_RELATIONS_H

#include "arrays.h"
#include "hook.h"

typedef struct {
    int code;
    Py_ssize_t slot; /* -1: the step's own */
    long long number;
} Instruction;

typedef struct {
    int compare;
    bool same; /* two axes of arrays are as large; their arrays were checked by an earlier step */
    Py_ssize_t count;
    Instruction code[];
} Relation;

/* From (compare, slots, ((instruction, value, number), ...)), where value 0 is the step's own and value k is
   slots[k - 1]. Freed with PyMem_Free. */
Relation *relation_parse(PyObject *operand, const SlotMap *map);
/* What the steps before it make of a relation: true if one of them checks it by now, and it needs no step of its own. */
bool relation_settle(Relation *relation, Py_ssize_t own, const Step *steps, Py_ssize_t count);
bool relation_computes(const Relation *relation, Py_ssize_t own, PyObject **slots);

static inline npy_intp
size_at(const Instruction *at, PyObject **slots)
{
    return PyArray_DIM((PyArrayObject *)slots[at->slot], (int)at->number);
}

static inline bool
relation_holds(const Relation *relation, Py_ssize_t own, PyObject **slots)
{
    if (relation->same) { /* as nearly all are */
        return size_at(relation->code, slots) == size_at(relation->code + 1, slots);
    }
    return relation_computes(relation, own, slots);
}

#endif
