/* Arguments of a call to argument slots, and back.

   In: a vectorcall's arguments. Out: one value per argument slot of the code, in the order of its local variables:
   positional, keyword-only, *args as a tuple, **kwargs as a dict. Wherever Python would raise, binding only says
   so: the plain function is called then, and raises Python's own error. */
#include "hook.h"

static PyObject *
parameter_name(PyCodeObject *code, Py_ssize_t index)
{
    return PyTuple_GET_ITEM(code->co_localsplusnames, index);
}

/* The slot of a keyword, or -1. Names are interned, so identity nearly always decides. */
static Py_ssize_t
find_parameter(PyCodeObject *code, PyObject *keyword)
{
    Py_ssize_t total = code->co_argcount + code->co_kwonlyargcount;
    for (Py_ssize_t i = code->co_posonlyargcount; i < total; i++) {
        if (parameter_name(code, i) == keyword) {
            return i;
        }
    }
    for (Py_ssize_t i = code->co_posonlyargcount; i < total; i++) {
        if (PyUnicode_Compare(parameter_name(code, i), keyword) == 0) {
            return i;
        }
    }
    return -1;
}

static bool
bind_keywords(PyCodeObject *code, PyObject *const *values, PyObject *kwnames, PyObject **slots, PyObject *rest)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *keyword = PyTuple_GET_ITEM(kwnames, i);
        if (!PyUnicode_CheckExact(keyword)) {
            return false;
        }
        Py_ssize_t slot = find_parameter(code, keyword);
        if (slot >= 0) {
            if (slots[slot] != NULL) {
                return false;
            }
            slots[slot] = values[i];
        } else if (rest == NULL || PyDict_SetItem(rest, keyword, values[i]) < 0) {
            return false;
        }
    }
    return true;
}

static bool
bind_defaults(PyFunctionObject *function, PyCodeObject *code, PyObject **slots)
{
    PyObject *defaults = function->func_defaults, *keyword_defaults = function->func_kwdefaults;
    Py_ssize_t count = defaults == NULL ? 0 : PyTuple_GET_SIZE(defaults), first = code->co_argcount - count;
    for (Py_ssize_t i = 0; i < code->co_argcount; i++) {
        if (slots[i] == NULL) {
            if (i < first) {
                return false;
            }
            slots[i] = PyTuple_GET_ITEM(defaults, i - first);
        }
    }
    for (Py_ssize_t i = code->co_argcount; i < code->co_argcount + code->co_kwonlyargcount; i++) {
        if (slots[i] == NULL) {
            if (keyword_defaults == NULL || !PyDict_CheckExact(keyword_defaults)) {
                return false;
            }
            slots[i] = plain_dict_get(keyword_defaults, parameter_name(code, i));
            if (slots[i] == NULL) {
                return false;
            }
        }
    }
    return true;
}

static bool
pack_rest(PyCodeObject *code, PyObject *const *args, Py_ssize_t nargs, PyObject **slots, Packed *packed)
{
    Py_ssize_t next = code->co_argcount + code->co_kwonlyargcount;
    Py_ssize_t surplus = nargs > code->co_argcount ? nargs - code->co_argcount : 0;
    if (code->co_flags & CO_VARARGS) {
        packed->positional = PyTuple_New(surplus);
        if (packed->positional == NULL) {
            return false;
        }
        for (Py_ssize_t i = 0; i < surplus; i++) {
            PyTuple_SET_ITEM(packed->positional, i, Py_NewRef(args[code->co_argcount + i]));
        }
        slots[next++] = packed->positional;
    } else if (surplus > 0) {
        return false;
    }
    if (code->co_flags & CO_VARKEYWORDS) {
        packed->keywords = PyDict_New();
        slots[next] = packed->keywords;
    }
    return !(code->co_flags & CO_VARKEYWORDS) || packed->keywords != NULL;
}

static bool
bind_all(PyFunctionObject *function, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **slots,
         Packed *packed)
{
    PyCodeObject *code = (PyCodeObject *)function->func_code;
    Py_ssize_t direct = nargs < code->co_argcount ? nargs : code->co_argcount;
    for (Py_ssize_t i = 0; i < direct; i++) {
        slots[i] = args[i];
    }
    for (Py_ssize_t i = direct; i < code->co_argcount + code->co_kwonlyargcount; i++) {
        slots[i] = NULL;
    }
    return pack_rest(code, args, nargs, slots, packed) &&
           (kwnames == NULL || bind_keywords(code, args + nargs, kwnames, slots, packed->keywords)) &&
           bind_defaults(function, code, slots);
}

bool
bind_arguments(PyFunctionObject *function, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
               PyObject **slots, Packed *packed)
{
    PyCodeObject *code = (PyCodeObject *)function->func_code;
    bool simple = kwnames == NULL && nargs == code->co_argcount && code->co_kwonlyargcount == 0 &&
                  !(code->co_flags & (CO_VARARGS | CO_VARKEYWORDS));
    *packed = (Packed){NULL, NULL};
    if (simple) {
        for (Py_ssize_t i = 0; i < nargs; i++) {
            slots[i] = args[i];
        }
        return true;
    }
    bool bound = bind_all(function, args, nargs, kwnames, slots, packed);
    if (!bound) {
        packed_free(packed);
        PyErr_Clear();
    }
    return bound;
}

void
packed_free(Packed *packed)
{
    Py_CLEAR(packed->positional);
    Py_CLEAR(packed->keywords);
}

/* ---- from slots to a call ---- */

static PyObject *
positional_arguments(PyCodeObject *code, PyObject *const *slots)
{
    PyObject *rest = code->co_flags & CO_VARARGS ? slots[code->co_argcount + code->co_kwonlyargcount] : NULL;
    Py_ssize_t surplus = rest == NULL ? 0 : PyTuple_GET_SIZE(rest);
    PyObject *args = PyTuple_New(code->co_argcount + surplus);
    for (Py_ssize_t i = 0; args != NULL && i < code->co_argcount + surplus; i++) {
        PyObject *value = i < code->co_argcount ? slots[i] : PyTuple_GET_ITEM(rest, i - code->co_argcount);
        PyTuple_SET_ITEM(args, i, Py_NewRef(value));
    }
    return args;
}

static PyObject *
keyword_arguments(PyCodeObject *code, PyObject *const *slots)
{
    Py_ssize_t total = code->co_argcount + code->co_kwonlyargcount;
    PyObject *rest = slots[total + ((code->co_flags & CO_VARARGS) != 0)];
    PyObject *kwargs = code->co_flags & CO_VARKEYWORDS ? PyDict_Copy(rest) : PyDict_New();
    for (Py_ssize_t i = code->co_argcount; kwargs != NULL && i < total; i++) {
        if (PyDict_SetItem(kwargs, parameter_name(code, i), slots[i]) < 0) {
            Py_CLEAR(kwargs);
        }
    }
    return kwargs;
}

PyObject *
call_bound(PyObject *function, PyObject *const *slots)
{
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    if (argument_count(code) == code->co_argcount) {
        return PyObject_Vectorcall(function, slots, code->co_argcount, NULL);
    }
    PyObject *args = positional_arguments(code, slots);
    PyObject *kwargs = args == NULL ? NULL : keyword_arguments(code, slots);
    PyObject *result = kwargs == NULL ? NULL : PyObject_Call(function, args, kwargs);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    return result;
}

/* A generator outlives the call: its frame holds the function, and so what owns the captured pieces. */
static int
keep_owner(PyFunctionObject *clone, Variant *variant)
{
    if (!(variant->code->co_flags & CO_GENERATOR)) {
        return 0;
    }
    clone->func_dict = PyDict_New();
    return clone->func_dict == NULL ? -1 : PyDict_SetItemString(clone->func_dict, "owner", variant->info);
}

PyObject *
clone_function(PyObject *original, Variant *variant)
{
    PyFunctionObject *function = (PyFunctionObject *)original;
    PyFunctionObject *clone = (PyFunctionObject *)PyFunction_NewWithQualName(
        (PyObject *)variant->code, function->func_globals, function->func_qualname);
    if (clone == NULL) {
        return NULL;
    }
    Py_XSETREF(clone->func_name, Py_NewRef(function->func_name));
    Py_XSETREF(clone->func_module, Py_XNewRef(function->func_module));
    Py_XSETREF(clone->func_closure, Py_XNewRef(function->func_closure));
    Py_XSETREF(clone->func_builtins, Py_NewRef(function->func_builtins));
    Py_XSETREF(clone->func_defaults, Py_XNewRef(function->func_defaults));
    Py_XSETREF(clone->func_kwdefaults, Py_XNewRef(function->func_kwdefaults));
    if (keep_owner(clone, variant) < 0) {
        Py_CLEAR(clone);
    }
    return (PyObject *)clone;
}
