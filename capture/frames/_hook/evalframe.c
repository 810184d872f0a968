/* The frame evaluation function (PEP 523).

   In: a frame about to run, with its arguments in place and not yet linked to its caller. Out: its result. Frames of
   captured code get a variant's code put in before CPython's own evaluation function runs them; every other frame is
   handed on unchanged. The function is installed only while somebody holds it. */
#include "hook.h"

#include <opcode.h>

static _PyFrameEvalFunction previous;  /* what was installed before: usually CPython's own */
static Py_ssize_t holders;
static PyCodeObject *return_code; /* returns what lies on its stack; never shows in a traceback */

static PyObject *evaluate(PyThreadState *tstate, _PyInterpreterFrame *frame, int throwflag);

/* ---- installing ---- */

/* Another tool may have installed its own function meanwhile: look every time. */
static void
install(PyInterpreterState *interp)
{
    _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interp);
    if (current != evaluate) {
        previous = current;
        _PyInterpreterState_SetEvalFrameFunc(interp, evaluate);
    }
}

static void
uninstall(PyInterpreterState *interp)
{
    if (_PyInterpreterState_GetEvalFrameFunc(interp) == evaluate) {
        _PyInterpreterState_SetEvalFrameFunc(interp, previous);
    }
}

void
hook_hold(void)
{
    holders++;
    install(PyInterpreterState_Get());
}

void
hook_release(void)
{
    if (--holders == 0) {
        uninstall(PyInterpreterState_Get());
    }
}

void
hook_arm(void)
{
    thread.armed++;
    hook_hold();
}

void
hook_disarm(void)
{
    thread.armed--;
    hook_release();
}

/* ---- scopes ---- */

bool
hook_enter_scope(int scope)
{
    if (FUNCTIONS_HAVE_ENTRIES) {
        if (!functions_watch()) {
            return false;
        }
        functions_unpark();
    } else {
        hook_arm();
    }
    scopes_known |= (uint64_t)1 << scope;
    scopes_entered++;
    thread.scopes++;
    thread.scope = scope;
    return true;
}

void
hook_leave_scope(int outer)
{
    scopes_entered--;
    thread.scopes--;
    thread.scope = outer;
    if (!FUNCTIONS_HAVE_ENTRIES) {
        hook_disarm();
    }
}

bool
hook_set_process_scope(int scope)
{
    bool on = scope != 0, was_on = process_scope != 0;
    process_scope = scope;
    scopes_known |= on ? (uint64_t)1 << scope : 0;
    if (FUNCTIONS_HAVE_ENTRIES) {
        return !on || functions_watch();
    }
    if (on && !was_on) {
        hook_hold();
    } else if (!on && was_on) {
        hook_release();
    }
    return true;
}

/* Only the thread that forked lives on. */
void
hook_after_fork(void)
{
    scopes_entered = thread.scopes;
    holders = thread.armed + (thread.given != NULL) + (process_scope != 0 && !FUNCTIONS_HAVE_ENTRIES);
    if (holders == 0) {
        uninstall(PyInterpreterState_Get());
    }
}

/* ---- handing frames on ---- */

/* Tools that chain to what they found may hand the frame back to us. */
static PyObject *
evaluate_previous(PyThreadState *tstate, _PyInterpreterFrame *frame, int throwflag)
{
    if (previous == _PyEval_EvalFrameDefault) {
        return _PyEval_EvalFrameDefault(tstate, frame, throwflag);
    }
    void *outer = thread.forwarding;
    thread.forwarding = frame;
    PyObject *result = previous(tstate, frame, throwflag);
    thread.forwarding = outer;
    return result;
}

/* Runs a frame, and what it calls, without the hook: as if there were none, tools that watch included. */
static PyObject *
forward_unhooked(PyThreadState *tstate, _PyInterpreterFrame *frame, int throwflag)
{
    int taken = recursion_enter(tstate, 0, stack_share());
    uninstall(tstate->interp);
    PyObject *result = evaluate_previous(tstate, frame, throwflag);
    if (holders > 0) {
        install(tstate->interp);
    }
    recursion_leave(tstate, taken);
    return result;
}

/* Runs a frame as it is. With a hook installed, calls between Python functions use the C stack: not near its end. */
static PyObject *
forward(PyThreadState *tstate, _PyInterpreterFrame *frame, int throwflag)
{
    double share = stack_share();
    if (share < AMPLE_SHARE) {
        return forward_unhooked(tstate, frame, throwflag);
    }
    int taken = recursion_enter(tstate, 1, share);
    PyObject *result = evaluate_previous(tstate, frame, throwflag);
    recursion_leave(tstate, taken);
    return result;
}

/* ---- announced frames ---- */

/* The frame has its own references to the arguments now. */
static void
keep_announcement(void)
{
    PyObject *given = thread.given;
    thread.announced = NULL;
    thread.given = NULL;
    if (given != NULL) {
        hook_release();
        Py_DECREF(given);
    }
}

PyObject *
call_function(PyThreadState *tstate, PyObject *function, PyObject *const *args, size_t nargsf, PyObject *kwnames,
              PyObject *given)
{
    double share = stack_share();
    if (share >= 0 && share < LEAST_SHARE) {
        Py_XDECREF(given);
        PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded: the C stack of this thread is used up");
        return NULL;
    }
    bool hooked = holders > 0 || given != NULL; /* then the hook pays for the run */
    PyCodeObject *outer_announced = thread.announced;
    PyObject *outer_given = thread.given;
    if (given != NULL || is_armed()) {
        thread.announced = (PyCodeObject *)PyFunction_GET_CODE(function);
        thread.given = given;
        if (given != NULL) {
            hook_hold();
        }
    }
    int taken = recursion_enter(tstate, !hooked && share >= AMPLE_SHARE, share);
    PyObject *result = plain_vectorcall(function, args, nargsf, kwnames);
    recursion_leave(tstate, taken);
    if (thread.announced != outer_announced || thread.given != outer_given) {
        if (thread.announced != NULL) {
            keep_announcement(); /* the call failed before there was a frame */
        }
        thread.announced = outer_announced;
        thread.given = outer_given;
    }
    return result;
}

/* ---- running something else in a frame ---- */

/* Gives a frame that has not started other code. False if the frame would have to grow and cannot: only the topmost frame
   of the data stack can, within the current chunk. */
static bool
replace_code(PyThreadState *tstate, _PyInterpreterFrame *frame, PyCodeObject *code)
{
    PyCodeObject *old = frame_code(frame);
    Py_ssize_t growth = code_frame_size(code) - code_frame_size(old);
    if (growth > 0) {
        PyObject **end = (PyObject **)frame + code_frame_size(old);
        if (tstate->datastack_top != end || growth >= tstate->datastack_limit - end) {
            return false;
        }
        tstate->datastack_top += growth;
    }
    for (int i = old->co_nlocalsplus; i < code->co_nlocalsplus; i++) {
        frame->localsplus[i] = NULL;
    }
    frame_restart(frame, code, 0); /* locals the new code lacks have no value yet */
    return true;
}

/* Ends a frame that has not started with `result`, stolen, or with the exception that is set if it is NULL. */
static PyObject *
finish_frame(PyThreadState *tstate, _PyInterpreterFrame *frame, PyObject *result)
{
#if EVALUATOR_CLEARS_FRAME
    int count = frame_code(frame)->co_nlocalsplus;
    for (int i = 0; i < count; i++) {
        Py_CLEAR(frame->localsplus[i]);
    }
    frame->localsplus[0] = result;
    frame_restart(frame, return_code, result != NULL);
    int taken = recursion_enter(tstate, 1, -1);
    result = _PyEval_EvalFrameDefault(tstate, frame, result == NULL);
    recursion_leave(tstate, taken);
    return result;
#else
    return result;
#endif
}

/* Where the caller clears the frame, it does so too late for a continuation: locals would outlive their last use. */
static void
free_locals(_PyInterpreterFrame *frame)
{
#if !EVALUATOR_CLEARS_FRAME
    if (frame->frame_obj != NULL && Py_REFCNT(frame->frame_obj) > 1) {
        return; /* somebody keeps the frame */
    }
    for (int i = 0; i < frame->stacktop; i++) {
        Py_CLEAR(frame->localsplus[i]);
    }
#endif
}

static PyObject *
run_variant(PyThreadState *tstate, _PyInterpreterFrame *frame, Variant *variant)
{
    /* CPython makes a generator as large as the code of its function asks for. */
    if (!(variant->code->co_flags & CO_GENERATOR) && replace_code(tstate, frame, variant->code)) {
        PyObject *result = forward(tstate, frame, 0);
        if (result != NULL && Py_IS_TYPE(result, ContinuationType)) {
            free_locals(frame);
        }
        return result;
    }
    PyObject *clone = clone_function(frame_function(frame), variant);
    PyObject *result = clone == NULL ? NULL : call_bound(clone, frame->localsplus);
    Py_XDECREF(clone);
    return finish_frame(tstate, frame, result);
}

/* Runs a frame as it is, though it might have been captured. */
static PyObject *
run_plain(PyThreadState *tstate, _PyInterpreterFrame *frame)
{
    counts.plain++;
    return forward(tstate, frame, 0);
}

/* ---- captured frames ---- */

/* Kept apart for the same reason as in entry.c: the slots must not lie on the C stack while the frame runs. */
static Py_NO_INLINE Outcome
decide_frame(Entry *entry, _PyInterpreterFrame *frame, Row *row, PyObject **result)
{
    Slots slots;
    Py_ssize_t arguments = argument_count(entry->code);
    if (slots_init(&slots, entry->slots) < 0) {
        return FAILED;
    }
    memcpy(slots.at, frame->localsplus, arguments * sizeof(PyObject *));
    Outcome outcome = choose(entry, frame_function(frame), &slots, arguments, row, result);
    slots_free(&slots);
    return outcome;
}

static PyObject *
capture_frame(PyThreadState *tstate, _PyInterpreterFrame *frame, Record *record)
{
    Entry *entry = record_entry(record, frame_code(frame), frame->f_globals);
    if (entry == NULL) {
        return PyErr_Occurred() ? finish_frame(tstate, frame, NULL) : run_plain(tstate, frame);
    }
    Py_ssize_t arguments = argument_count(entry->code);
    if (entry->plain || (entry->count == 0 && is_pointless(entry, frame->localsplus, arguments))) {
        return run_plain(tstate, frame);
    }
    Row row;
    PyObject *result = NULL;
    Py_INCREF(entry);
    Outcome outcome = decide_frame(entry, frame, &row, &result);
    Py_DECREF(entry);
    if (outcome == PLAIN) {
        return run_plain(tstate, frame);
    }
    counts.captured++;
    if (outcome != RUN) {
        return finish_frame(tstate, frame, result);
    }
    result = run_variant(tstate, frame, row.variant);
    Py_DECREF(row.variant);
    Py_XDECREF(row.clone);
    return result != NULL && Py_IS_TYPE(result, ContinuationType) ? continuation_run(result) : result;
}

/* Frames of generators go on many times, and module and class bodies keep their names in dicts. */
static bool
is_function_code(const PyCodeObject *code)
{
    const int function = CO_OPTIMIZED | CO_NEWLOCALS;
    const int others = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    return (code->co_flags & (function | others)) == function;
}

/* Functions, and those that make generators: then it is the call that is captured. */
bool
is_capturable_code(const PyCodeObject *code)
{
    const int function = CO_OPTIMIZED | CO_NEWLOCALS;
    const int others = CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE;
    return (code->co_flags & (function | others)) == function;
}

static bool
is_capturable(_PyInterpreterFrame *frame, PyCodeObject *code)
{
    return frame->owner == FRAME_OWNED_BY_THREAD && is_capturable_code(code);
}

/* Frames that the armed hook leaves alone for what they are. */
static PyObject *
pass_on(PyThreadState *tstate, _PyInterpreterFrame *frame, PyCodeObject *code, int throwflag)
{
    if (is_armed()) {
        uint64_t *count = is_function_code(code) ? &counts.plain
                          : code->co_flags & CO_OPTIMIZED ? &counts.generators : &counts.bodies;
        *count += 1;
    }
    return forward(tstate, frame, throwflag);
}

static PyObject *
evaluate(PyThreadState *tstate, _PyInterpreterFrame *frame, int throwflag)
{
    if (thread.forwarding == frame) {
        return _PyEval_EvalFrameDefault(tstate, frame, throwflag);
    }
    PyCodeObject *code = frame_code(frame);
    if (thread.announced == code && !throwflag) {
        keep_announcement();
        return forward(tstate, frame, 0);
    }
    if (thread.quiet || is_watched(tstate, code)) {
        counts.plain += !thread.quiet && is_armed() && is_function_code(code);
        return forward_unhooked(tstate, frame, throwflag);
    }
    if (!is_armed() || throwflag || !is_capturable(frame, code) || stack_share() < AMPLE_SHARE) {
        return pass_on(tstate, frame, code, throwflag);
    }
    Record *record;
    int captured = record_decide(code, frame->f_globals, current_scope(), &record);
    if (captured < 0) {
        return finish_frame(tstate, frame, NULL);
    }
    return captured ? capture_frame(tstate, frame, record) : forward(tstate, frame, 0);
}

/* ---- set-up ---- */

/* One instruction, and no RESUME: frames of this code count as not yet begun, so tracebacks leave them out. */
static PyCodeObject *
make_return_code(void)
{
    const char instruction[] = {RETURN_VALUE, 0};
    PyCodeObject *empty = PyCode_NewEmpty("<capture>", "return", 0);
    PyObject *replace = empty == NULL ? NULL : PyObject_GetAttrString((PyObject *)empty, "replace");
    PyObject *changes = Py_BuildValue("{s:y#,s:i,s:y}", "co_code", instruction, (Py_ssize_t)2, "co_stacksize", 1,
                                      "co_exceptiontable", "");
    PyObject *nothing = PyTuple_New(0);
    PyObject *code = replace && changes && nothing ? PyObject_Call(replace, nothing, changes) : NULL;
    Py_XDECREF(empty);
    Py_XDECREF(replace);
    Py_XDECREF(changes);
    Py_XDECREF(nothing);
    return (PyCodeObject *)code;
}

int
evalframe_init(void)
{
    previous = _PyEval_EvalFrameDefault;
    return_code = make_return_code();
    return return_code == NULL ? -1 : function_init((PyObject *)return_code);
}
