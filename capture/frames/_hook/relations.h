/* Relations between sizes: x.shape[0] == y.shape[1]. */
#ifndef CAPTURE_RELATIONS_H
#define CAPTURE_RELATIONS_H

#include "hook.h"

typedef struct Relation Relation;

/* From (compare, slots, ((instruction, value, number), ...)), where value 0 is the step's own and value k is
   slots[k - 1]. Freed with PyMem_Free. */
Relation *relation_parse(PyObject *operand, const SlotMap *map);
bool relation_holds(const Relation *relation, Py_ssize_t own, PyObject **slots);

#endif
