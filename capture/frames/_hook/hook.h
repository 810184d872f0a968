/* The shared vocabulary of the extension: who calls whom.

     entry.c      a decorated function is called  ─┐            ┌─ hit: variant.c (executor), or the replacement code
     evalframe.c  a frame is about to run          ├─ choose.c ─┤
                  (only while armed)              ─┘            └─ miss: the Python callback
   guards.c evaluates a variant's guards over slots: the argument values first, then what the guards load. */
#ifndef CAPTURE_HOOK_H
#define CAPTURE_HOOK_H

#include "compat.h"

/* ---- guards.c ---- */

typedef struct Step Step;

/* A compiled guard program. Objects in the steps are borrowed from the tuple it was compiled from. */
typedef struct {
    Step *steps;
    Py_ssize_t count;
    Py_ssize_t slots; /* in all, arguments included */
} Program;

/* Where the slots of a specification are: argument slots stand for the arguments, the others follow these. */
typedef struct {
    Py_ssize_t *physical;
    Py_ssize_t count;
} SlotMap;

int program_compile(Program *program, SlotMap *map, PyObject *spec, Py_ssize_t arguments);
void program_free(Program *program);
/* Runs no user code, raises nothing, allocates nothing. `slots` begin with the arguments; the rest is filled in. */
bool program_holds(const Program *program, PyObject **slots, PyObject *function);
/* The value of a key in an exact dict without running user code (borrowed), or NULL. */
PyObject *plain_dict_get(PyObject *dict, PyObject *key);

/* ---- variant.c ---- */

typedef struct Template Template;

typedef struct {
    PyObject *executor; /* NULL: hits run the replacement code */
    Py_ssize_t inputs, held; /* operand slots: first the executor's inputs, then those the template returns */
    Py_ssize_t *slots;
    Template *outputs;
} Direct;

typedef struct {
    PyObject_HEAD
    PyObject *spec; /* the guard program as given */
    PyCodeObject *code;
    PyObject *direct_spec;
    PyObject *info;
    Program program;
    Direct direct;
    uint64_t hits;
    Py_ssize_t evaluated; /* instructions that its run stands for */
    bool native;
} Variant;

typedef enum { FAILED, PLAIN, RUN, DONE } Outcome;

/* Runs the executor on the slots: DONE with a result, PLAIN if it declined, FAILED with an exception. */
Outcome variant_run(Variant *variant, PyObject *const *slots, PyObject **result);

/* ---- entry.c ---- */

typedef struct {
    Variant *variant;
    PyObject *clone; /* the function with the variant's code; NULL in entries of frames */
} Row;

/* The variants of one function, or of the frames of one code object in one global namespace. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function; /* in entries of frames only set while a miss is being handled */
    PyObject *miss;     /* NULL: none to ask; entries of frames ask callbacks.miss */
    PyObject *info;
    PyObject *name;
    PyCodeObject *code; /* borrowed in entries of frames: their record lives as long as the code */
    PyObject *globals;
    Row *rows;
    Py_ssize_t count;
    Py_ssize_t slots; /* the most any variant needs */
    bool plain;
    bool idle;     /* no array work was found: nobody is asked about calls without an array among the arguments */
    bool of_scope; /* of a function captured by a scope, whose native parts run in that scope as any code does */
    bool of_frames;
    bool busy;
    int pointless; /* calls of idle code */
    PyObject *dict;
    PyObject *weakrefs;
} Entry;

Entry *entry_for_frames(PyCodeObject *code, PyObject *globals);
int entry_add(Entry *entry, Variant *variant);
void entry_clear_rows(Entry *entry);
PyObject *entry_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);

/* ---- weak.c ---- */

PyObject *strong_entry(PyObject *entry); /* a new reference to the entry, given it or a weak one; TypeError if it is gone */

/* ---- region.c ---- */

/* A region needs some levels of recursion that the generator's own code would not. */
#define FEW_LEVELS 8

extern PyObject *unbound;
PyObject *region_left(PyObject *module, PyObject *error);

/* ---- continuation.c ---- */

PyObject *continuation_run(PyObject *result); /* steals `result`; runs continuations until there is a value */
void continuation_ready(void);
PyObject *entry_run_once(Entry *entry, PyObject *const *args, size_t nargsf, PyObject *kwnames, PyObject *given);

/* ---- choose.c ---- */

#define ROOM 40

/* Slots on the C stack unless a variant needs many. */
typedef struct {
    PyObject **at;
    Py_ssize_t capacity;
    PyObject *room[ROOM];
} Slots;

/* Whether nobody is to be asked about calls that no variant fits. */
bool is_pointless(const Entry *entry, PyObject *const *slots, Py_ssize_t arguments);
int slots_init(Slots *slots, Py_ssize_t capacity);
void slots_free(Slots *slots);

/* Decides what a call with `arguments` values at the front of `slots` does: RUN (row found, `*row`), DONE, PLAIN,
   FAILED. */
Outcome choose(Entry *entry, PyObject *function, Slots *slots, Py_ssize_t arguments, Row *row, PyObject **result);

/* ---- bind.c ---- */

typedef struct {
    PyObject *positional; /* the packed *args and **kwargs, owned */
    PyObject *keywords;
} Packed;

static inline Py_ssize_t
argument_count(const PyCodeObject *code)
{
    return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0) +
           ((code->co_flags & CO_VARKEYWORDS) != 0);
}

/* Binds a call to argument slots as Python does; false, without an exception, where Python would raise. */
bool bind_arguments(PyFunctionObject *function, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                    PyObject **slots, Packed *packed);
void packed_free(Packed *packed);
/* Calls a function with values that were bound to its argument slots. */
PyObject *call_bound(PyObject *function, PyObject *const *slots);
/* A function that differs from `function` in its code only, which is the variant's. */
PyObject *clone_function(PyObject *function, Variant *variant);

/* ---- evalframe.c ---- */

int evalframe_init(void);
/* Counted: the evaluation function is installed while somebody holds it. */
void hook_hold(void);
void hook_release(void);
/* Held, and frames of this thread are captured. */
void hook_arm(void);
void hook_disarm(void);
/* Frames of this thread are captured in a scope, besides those it has been in; false with an exception. */
bool hook_enter_scope(int scope);
/* Leaves one of its scopes: from now on it is in `outer`, or in none if that is 0. */
void hook_leave_scope(int outer);
bool hook_set_process_scope(int scope);
bool is_capturable_code(const PyCodeObject *code); /* of functions and generators, not of classes and coroutines */
void hook_after_fork(void);
/* Calls a Python function whose frame is not to be captured itself. `given`, stolen, is NULL or the tuple that holds the
   arguments: it is given up as soon as the frame has them. */
PyObject *call_function(PyThreadState *tstate, PyObject *function, PyObject *const *args, size_t nargsf,
                        PyObject *kwnames, PyObject *given);

/* ---- function.c ---- */

extern vectorcallfunc plain_vectorcall;
int function_init(PyObject *code);
/* From now on functions are watched as they are made; false with an exception. */
bool functions_watch(void);
/* Lets calls of a function go to captured code, if that may be in a scope. */
void function_watch(PyFunctionObject *function);
/* Watches those again that were called while no thread was in a scope. */
void functions_unpark(void);

/* ---- record.c ---- */

typedef enum { UNDECIDED, SKIP, CAPTURE, REPLACEMENT } Decision;

/* What is known about a code object whose frames the hook has seen. Bit n of the sets is about scope number n. */
typedef struct Record {
    Decision decision;       /* for frames below decorated functions */
    uint64_t asked, inside;  /* for scopes: known, and is its code inside */
    Py_ssize_t count;
    Entry **entries; /* one per global namespace */
    struct Record *previous, *next;
} Record;

int record_init(void);
Record *record_find(PyCodeObject *code);        /* NULL: never seen */
int record_replacement(PyCodeObject *code);     /* frames of this code are never captured */
/* Whether frames of this code are captured, in a scope or (number 0) below a decorated function; asks the first time.
   1: yes, by `*record`; 0: no; -1: an exception is set. */
int record_decide(PyCodeObject *code, PyObject *globals, int scope, Record **record);
void record_forget_scope(int scope);
static inline bool
record_may_be_inside(const Record *record, uint64_t scopes)
{
    return ((record->inside | ~record->asked) & scopes) != 0;
}
/* NULL: there are too many namespaces, or an exception is set. */
Entry *record_entry(Record *record, PyCodeObject *code, PyObject *globals);
void record_forget(PyCodeObject *code);
void record_forget_all(void);

/* ---- thread.c ---- */

/* What this thread is doing. */
typedef struct {
    int armed;               /* the frame hook captures */
    int scopes;              /* how many it has entered */
    int scope;               /* what is captured: what belongs to this one, or 0: what a decorated function calls */
    int quiet;               /* nothing is captured: the compiler itself runs, or the user said so */
    PyObject *info;          /* of the entry whose code armed the hook last (borrowed: that call owns it), or NULL */
    PyCodeObject *announced; /* the next frame of this code runs as it is */
    PyObject *given;         /* NULL or a tuple to be given up as soon as that frame holds the arguments */
    void *forwarding;        /* the frame that is being handed to a previous evaluation function */
    char *stack_low, *stack_high;
    double per_stack;        /* 1 / size */
    bool stack_known;
} Thread;

#if defined(__GLIBC__)
#define FAST_TLS __attribute__((tls_model("initial-exec")))
#else
#define FAST_TLS
#endif
extern _Thread_local Thread thread FAST_TLS;

/* How much of this thread's C stack is left, from 0 to 1; negative if that is unknown. */
double stack_share(void);

/* Below the first nothing is captured: libraries and C recursion keep that much for themselves. Below the second calls
   through the extension raise RecursionError. */
#define AMPLE_SHARE 0.25
#define LEAST_SHARE 0.0625

static inline bool
stack_is_short(void)
{
    double share = stack_share();
    return share >= 0 && share < AMPLE_SHARE;
}

/* The scope of all threads that have none of their own, or 0. */
extern int process_scope;
extern Py_ssize_t scopes_entered; /* by all threads */
extern uint64_t scopes_known;     /* a bit for each number that was entered and not forgotten */

/* Scopes are numbered from 1. */
#define MOST_SCOPES 63

static inline bool
is_armed(void)
{
    return thread.armed > 0 || (process_scope != 0 && !FUNCTIONS_HAVE_ENTRIES);
}

static inline int
current_scope(void)
{
    return thread.armed > 0 || thread.scopes > 0 ? thread.scope : process_scope;
}

/* Calls a function of ours: nothing is captured meanwhile, and it does not count as deeper than the program is. */
static inline PyObject *
call_aside(PyObject *function, PyObject *const *args, Py_ssize_t nargs)
{
    PyThreadState *tstate = PyThreadState_Get();
    int depth = relieve_recursion(tstate);
    thread.quiet++;
    PyObject *result = PyObject_Vectorcall(function, args, nargs, NULL);
    thread.quiet--;
    burden_recursion(tstate, depth);
    return result;
}

/* ---- module.c ---- */

typedef struct {
    PyObject *miss, *should_capture, *in_scope;
    bool nested; /* running a variant's native parts arms the hook */
} Callbacks;

extern Callbacks callbacks;

/* What the armed hook has seen so far, on all threads: frames and rests of frames that began, instructions evaluated. */
typedef struct {
    uint64_t captured;   /* frames of functions that ran a variant */
    uint64_t plain;      /* and those that did not, though they might have */
    uint64_t generators; /* frames of generators and coroutines, each time they go on */
    uint64_t bodies;     /* of modules, classes and exec */
    uint64_t rests;      /* of interrupted calls, that ran a variant */
    uint64_t plain_rests;
    uint64_t evaluated;  /* instructions that variants stand for, each time they ran */
} Counts;

extern Counts counts;
extern PyTypeObject *EntryType, *VariantType, *ContinuationType, *WeakEntryType, *RegionType;
extern PyType_Spec entry_spec, variant_spec, continuation_spec, weak_entry_spec, region_spec;

#endif
