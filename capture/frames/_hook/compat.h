/* Everything that differs between CPython versions: frame fields, inline attribute values, recursion counters, tracing.

   In: a frame, an object or a thread state. Out: one vocabulary for 3.11, 3.12 and 3.13. No other file of the hook
   compares PY_VERSION_HEX. */
#ifndef CAPTURE_COMPAT_H
#define CAPTURE_COMPAT_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE
#endif
#include <Python.h>
#undef _PyGC_FINALIZED
#include "internal/pycore_ceval.h"
#include "internal/pycore_code.h"
#include "internal/pycore_dict.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_object.h"
#include "internal/pycore_runtime.h"
#include <structmember.h>
#undef _PyGC_FINALIZED

#include <stdbool.h>
#include <stdint.h>

#ifdef Py_GIL_DISABLED
#error "replacing the code of a running frame is unsafe without the GIL"
#endif

/* From 3.12 a function may be given an entry of its own, and new functions can be watched. */
#define FUNCTIONS_HAVE_ENTRIES (PY_VERSION_HEX >= 0x030C0000)

/* ---- code objects ---- */

#if PY_VERSION_HEX >= 0x030C0000
#define CODE_EXTRA_INDEX PyUnstable_Eval_RequestCodeExtraIndex
#define CODE_EXTRA_GET PyUnstable_Code_GetExtra
#define CODE_EXTRA_SET PyUnstable_Code_SetExtra
#else
#define CODE_EXTRA_INDEX _PyEval_RequestCodeExtraIndex
#define CODE_EXTRA_GET _PyCode_GetExtra
#define CODE_EXTRA_SET _PyCode_SetExtra
#endif

/* Slots of the data stack one frame of `code` takes. */
static inline Py_ssize_t
code_frame_size(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030C0000
    return code->co_framesize;
#else
    return code->co_nlocalsplus + code->co_stacksize + (Py_ssize_t)FRAME_SPECIALS_SIZE;
#endif
}

/* ---- frames ---- */

static inline PyCodeObject *
frame_code(_PyInterpreterFrame *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    return (PyCodeObject *)frame->f_executable;
#else
    return frame->f_code;
#endif
}

static inline PyObject *
frame_function(_PyInterpreterFrame *frame)
{
#if PY_VERSION_HEX >= 0x030C0000
    return frame->f_funcobj;
#else
    return (PyObject *)frame->f_func;
#endif
}

/* Makes a frame that has not started begin at the first instruction of `code`; `depth` values are on its stack. */
static inline void
frame_restart(_PyInterpreterFrame *frame, PyCodeObject *code, int depth)
{
    Py_INCREF(code);
#if PY_VERSION_HEX >= 0x030D0000
    Py_SETREF(frame->f_executable, (PyObject *)code);
    frame->instr_ptr = _PyCode_CODE(code);
#else
    Py_SETREF(frame->f_code, code);
    frame->prev_instr = _PyCode_CODE(code) - 1;
#endif
    frame->stacktop = code->co_nlocalsplus + depth;
}

/* True where the evaluation function clears its frame; on 3.11 its caller does. */
#define EVALUATOR_CLEARS_FRAME (PY_VERSION_HEX >= 0x030C0000)

/* ---- tracing and monitoring ---- */

static inline bool
any_set(const uint8_t *bytes, size_t count)
{
    uint8_t all = 0;
    for (size_t i = 0; i < count; i++) {
        all |= bytes[i];
    }
    return all != 0;
}

/* True if somebody watches this thread, or `code`, run: then only the user's own code may run. */
static inline bool
is_watched(PyThreadState *tstate, PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030C0000
    if (tstate->c_tracefunc != NULL || tstate->c_profilefunc != NULL) {
        return true;
    }
    if (any_set(tstate->interp->monitors.tools, sizeof tstate->interp->monitors.tools)) {
        return true;
    }
    _PyCoMonitoringData *local = code->_co_monitoring;
    return local != NULL && any_set(local->local_monitors.tools, sizeof local->local_monitors.tools);
#else
    return tstate->cframe->use_tracing != 0;
#endif
}

/* ---- recursion ---- */

#if PY_VERSION_HEX >= 0x030D0000
#define RECURSION_UNITS Py_C_RECURSION_LIMIT
#elif PY_VERSION_HEX >= 0x030C0000
#define RECURSION_UNITS C_RECURSION_LIMIT
#endif

/* From 3.12 a counter stands for the C stack: each run of the evaluation loop from C takes two units, calls between Python
   functions none. Calls that pass through the hook must not use it up (742 would, on 3.12), since plain calls do not; but
   they do use the stack, so what is left of the counter must never promise more than the share of the stack that is left.
   `runs` runs are paid for in advance; a negative share is unknown. Returns what recursion_leave takes back. */
static inline int
recursion_enter(PyThreadState *tstate, int runs, double stack_share)
{
#if PY_VERSION_HEX >= 0x030C0000
    int before = tstate->c_recursion_remaining, after = before + 2 * runs;
    if (stack_share >= 0 && after > (int)(RECURSION_UNITS * stack_share)) {
        after = (int)(RECURSION_UNITS * stack_share);
    }
    tstate->c_recursion_remaining = after;
    return after - before;
#else
    return 0;
#endif
}

static inline void
recursion_leave(PyThreadState *tstate, int taken)
{
#if PY_VERSION_HEX >= 0x030C0000
    tstate->c_recursion_remaining -= taken;
#endif
}

/* ---- signals ---- */

/* Whether the evaluation loop is about to run the handlers of signals. */
static inline bool
signals_pending(PyThreadState *tstate)
{
#if PY_VERSION_HEX >= 0x030D0000
    return (_Py_atomic_load_uintptr_relaxed(&tstate->eval_breaker) & _PY_SIGNALS_PENDING_BIT) != 0;
#else
    return _Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending) != 0;
#endif
}

/* ---- the outermost frame ---- */

#if PY_VERSION_HEX >= 0x030D0000
#define CURRENT_FRAME(tstate) ((tstate)->current_frame)
#else
#define CURRENT_FRAME(tstate) ((tstate)->cframe->current_frame)
#endif
#if PY_VERSION_HEX >= 0x030C0000
#define RECURSION_LIMIT(tstate) ((tstate)->py_recursion_limit)
#define RECURSION_REMAINING(tstate) ((tstate)->py_recursion_remaining)
#else
#define RECURSION_LIMIT(tstate) ((tstate)->recursion_limit)
#define RECURSION_REMAINING(tstate) ((tstate)->recursion_remaining)
#endif

/* What callbacks need, however low the program has set its limit. */
#define CALLBACK_LEVELS 1000

/* Callbacks do not count as deeper than the program is. Returns what burden_recursion takes back. */
static inline int
relieve_recursion(PyThreadState *tstate)
{
    int limit = RECURSION_LIMIT(tstate);
    int depth = (limit > CALLBACK_LEVELS ? limit : CALLBACK_LEVELS) - RECURSION_REMAINING(tstate);
    RECURSION_REMAINING(tstate) += depth;
    return depth;
}

static inline void
burden_recursion(PyThreadState *tstate, int depth)
{
    RECURSION_REMAINING(tstate) -= depth;
}

/* What base_leave puts back: the frames that are hidden, and how deep they are. */
typedef struct {
    struct _PyInterpreterFrame *frame;
    int depth;
} Base;

static inline Base
base_enter(PyThreadState *tstate)
{
    Base base = {CURRENT_FRAME(tstate), relieve_recursion(tstate)};
    CURRENT_FRAME(tstate) = NULL;
    return base;
}

static inline void
base_leave(PyThreadState *tstate, Base base)
{
    CURRENT_FRAME(tstate) = base.frame;
    burden_recursion(tstate, base.depth);
}

/* ---- attributes of classes and instances ---- */

/* The dict of a class, borrowed. */
static inline PyObject *
class_dict(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *dict = PyType_GetDict(type);
    Py_XDECREF(dict); /* the class keeps it */
    return dict;
#else
    return type->tp_dict;
#endif
}

/* Where the values of `self` that are not in a dict are, or NULL; `*dict` becomes its dict, or NULL (borrowed). */
static inline PyDictValues *
instance_values(PyObject *self, PyObject **dict)
{
    PyTypeObject *type = Py_TYPE(self);
    *dict = NULL;
    if (!(type->tp_flags & Py_TPFLAGS_MANAGED_DICT)) {
        PyObject **pointer = _PyObject_GetDictPtr(self);
        *dict = pointer == NULL ? NULL : *pointer;
        return NULL;
    }
#if PY_VERSION_HEX >= 0x030D0000
    *dict = (PyObject *)_PyObject_GetManagedDict(self);
    if (*dict == NULL && (type->tp_flags & Py_TPFLAGS_INLINE_VALUES)) {
        PyDictValues *values = _PyObject_InlineValues(self);
        return values->valid ? values : NULL;
    }
    return NULL;
#elif PY_VERSION_HEX >= 0x030C0000
    PyDictOrValues either = *_PyObject_DictOrValuesPointer(self);
    if (_PyDictOrValues_IsValues(either)) {
        return _PyDictOrValues_GetValues(either);
    }
    *dict = _PyDictOrValues_GetDict(either);
    return NULL;
#else
    *dict = *_PyObject_ManagedDictPointer(self);
    return *dict == NULL ? *_PyObject_ValuesPointer(self) : NULL;
#endif
}

/* The object a weak reference leads to, as a new reference; NULL without an error if it is gone. */
static inline PyObject *
weakly_referenced(PyObject *reference)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *found = NULL;
    (void)PyWeakref_GetRef(reference, &found);
    return found;
#else
    PyObject *found = PyWeakref_GET_OBJECT(reference);
    return found == Py_None ? NULL : Py_NewRef(found);
#endif
}

#endif
