/* The steps of a guard program, one row each. A new kind of step is one row here and one function in guards.c. */
#ifndef CAPTURE_STEPS_H
#define CAPTURE_STEPS_H

#include "arrays.h"
#include "hook.h"
#include "relations.h"

struct Step {
    uint8_t op;
    Py_ssize_t slot, other; /* `other`: the slot of the parent or of the second value; -1: the running function */
    Py_ssize_t index;       /* a position in a sequence; NO_INDEX: the key is no position */
    Py_ssize_t hint;        /* where the key stood in its dict last time */
    uint32_t keys_version;  /* of a dict that lacked the key last time */
    Py_hash_t hash;
    PyObject *object, *key;
    ArraySpec *array;
    Relation *relation;
};

#define NO_INDEX PY_SSIZE_T_MIN
enum { HINT_UNKNOWN = -1, HINT_USELESS = -2 };

/* Operands: p another slot (-1: the running function), s another slot, i an integer, o any object, t a type, d a dict,
   n a string, k a plain constant, A the description of an array, R a relation between sizes. */
#define STEPS(ROW)                                                                                                 \
    ROW("function", load_function, "")                                                                             \
    ROW("constant", load_constant, "o")                                                                            \
    ROW("global", load_global, "dn")                                                                               \
    ROW("cell", load_cell, "pi")                                                                                   \
    ROW("closure_cell", load_closure_cell, "pi")                                                                   \
    ROW("contents", load_contents, "s")                                                                            \
    ROW("globals", load_globals, "s")                                                                              \
    ROW("function_part", load_function_part, "si")                                                                 \
    ROW("class_part", load_class_part, "si")                                                                       \
    ROW("attribute", load_attribute, "sn")                                                                         \
    ROW("instance_attribute", load_instance_attribute, "sn")                                                       \
    ROW("type_attribute", load_type_attribute, "sn")                                                               \
    ROW("class_attribute", load_class_attribute, "sn")                                                             \
    ROW("super_attribute", load_super_attribute, "stn")                                                            \
    ROW("member", load_member, "so")                                                                               \
    ROW("bound", load_bound, "si")                                                                                 \
    ROW("len", load_len, "s")                                                                                      \
    ROW("item", load_item, "sk")                                                                                   \
    ROW("default", load_default, "pk")                                                                             \
    ROW("keyword_default", load_keyword_default, "pn")                                                             \
    ROW("is", check_is, "o")                                                                                       \
    ROW("type", check_type, "t")                                                                                   \
    ROW("equals", check_equals, "c")                                                                               \
    ROW("array", check_array, "A")                                                                                 \
    ROW("within", check_within, "c")                                                                               \
    ROW("length", check_length, "i")                                                                               \
    ROW("at_least", check_at_least, "i")                                                                           \
    ROW("code", check_code, "o")                                                                                   \
    ROW("keys", check_keys, "c")                                                                                   \
    ROW("missing", check_missing, "k")                                                                             \
    ROW("class_lacks", check_class_lacks, "n")                                                                     \
    ROW("instance_lacks", check_instance_lacks, "n")                                                               \
    ROW("mro", check_mro, "o")                                                                                     \
    ROW("registrations", check_registrations, "i")                                                                 \
    ROW("same", check_same, "s")                                                                                   \
    ROW("different", check_different, "s")                                                                         \
    ROW("apart", check_apart, "s")                                                                                 \
    ROW("relation", check_relation, "R")                                                                           \
    ROW("not_dict_of", check_not_dict_of, "s")

enum {
#define ROW(name, run, operands) OP_##run,
    STEPS(ROW)
#undef ROW
};

#endif
