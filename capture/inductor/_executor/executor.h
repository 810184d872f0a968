/* What the files of the executor share.
 *
 *   program.c   the encoded plan (tuples made by executor.py) as C structures, and the loaded library
 *   executor.c  the Executor type: one call from arguments to results
 *   results.c   arrays, views and scalars as NumPy would make them
 *   kernels.c   steps that run kernels
 *   externs.c   steps that call Python
 *   pool.c      threads
 *   shares.c    what programs share out over them
 *   memory.c    blocks of data, and their recycling
 *   flags.c     floating-point status, errstate and warning filters
 *   module.c    what Python sees of it
 *
 * Everything runs with the GIL held unless a comment says otherwise.
 */
#ifndef CAPTURE_EXECUTOR_H
#define CAPTURE_EXECUTOR_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define PY_ARRAY_UNIQUE_SYMBOL capture_executor_array_api
#ifndef CAPTURE_EXECUTOR_MODULE
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <fenv.h>
#endif

#pragma GCC visibility push(hidden) /* calls between the files need no indirection */

/* The unit's functions; capture/inductor/plan.py says what they promise. */
typedef void (*Kernel)(char *const *buffers, const int64_t *numbers, int64_t begin, int64_t end, char *scratch,
                       uint32_t *flags);
typedef void (*Sizes)(int64_t *numbers);

/* ------------------------------------------------------------------ program.c: the plan
 *
 * Field by field the classes of plan.py. An int that is called number, offset, extent … is an index into the
 * numbers; -1 is none. Python objects are borrowed from the encoded tuple, which lives as long as the program.
 * The values of the enumerations are those of executor.py. */

typedef enum { INPUT_ARRAY, INPUT_SCALAR, INPUT_BOOL, INPUT_INT, INPUT_FLOAT, INPUT_OBJECT } InputKind;
typedef enum { BUFFER_INPUT, BUFFER_CONSTANT, BUFFER_ARENA, BUFFER_OUTPUT, BUFFER_EXTERN } BufferKind;
typedef enum { ITEM_LITERAL, ITEM_VIEW, ITEM_TUPLE, ITEM_LIST } ItemKind;
typedef enum { NUMBER_NONE, NUMBER_BOOL, NUMBER_INT, NUMBER_FLOAT } NumberKind;
typedef enum { FORM_ANY, FORM_ARRAY, FORM_SCALAR, FORM_NUMBER, FORM_OBJECT } Form; /* of an extern's result without dimensions */

typedef struct {
    InputKind kind;
    PyArray_Descr *descr; /* NULL for Python numbers */
    int ndim;
    int flags;  /* array flags it must have */
    int number; /* its first number */
} Input;

typedef struct {
    BufferKind kind;
    PyArray_Descr *descr;
    PyObject *constant;
    int ndim;
    const int32_t *shape, *strides;
    int32_t arena_offset;
    Form form;
    int32_t stage; /* of an output: behind how many measured sizes it is allocated */
} Buffer;

typedef struct {
    int32_t buffer, offset;
    int ndim;
    const int32_t *shape, *strides;
    PyArray_Descr *descr;
    bool scalar, whole;
    NumberKind number; /* the Python number that it stands for */
} View;

/* A value to hand out: an argument of an extern, or a result. */
typedef struct Item {
    ItemKind kind;
    PyObject *literal;
    const View *view;
    const struct Item *children;
    Py_ssize_t count;
} Item;

typedef struct {
    Kernel kernel; /* NULL in the other kinds of steps */
    bool writes;   /* whether the kernel writes inputs */
    int32_t look;  /* the buffer that tells whether the call exits, or a size; -1 in the other kinds of steps */
    int32_t measured, stage; /* the number of that size, -1 for none; which outputs are allocated when it is known */
    Sizes sizes;             /* what computes the sizes that depend on it, or NULL */
    int32_t extent, work, scratch;
    int64_t grain;
    PyObject *function;
    const Item *arguments; /* by position, then those by name */
    Py_ssize_t positional;
    PyObject *names; /* tuple or NULL */
    const int32_t *results;
    int result_count;
    int32_t told_place, told_axis; /* which result tells a size, that is measured so, and along which axis */
    bool single; /* the function's value is the result, not a tuple of results */
    bool raises; /* what NumPy would warn of is to be raised in the call, which then exits */
} Step;

typedef struct {
    int input_count, buffer_count, step_count, number_count, flag_count, output_count, extern_count, arena_count;
    const Input *inputs;
    const Buffer *buffers;
    const Step *steps;
    const Item *results;
    Py_ssize_t result_count;
    const int32_t *outputs, *externs, *arenas; /* ids of the buffers of that kind */
    const int64_t *constants;                  /* all numbers, zero where they depend on the inputs */
    Sizes sizes;                               /* NULL when there is nothing to compute */
    int32_t arena_bytes;
    int share_ns; /* work from which on a thread gets some of it */
    bool writes;
    bool shares; /* whether programs share parts of their work out */
    void *library;
    void *memory; /* list of what the pointers above point to */
} Program;

int program_load(Program *program, PyObject *encoded, const char *path);
void program_unload(Program *program);

/* ------------------------------------------------------------------ executor.c: a call */

typedef union {
    char bytes[16];
    double as_double;
    long long as_int;
} Slot;

/* The working memory of one call. An executor keeps one; nested and concurrent calls make their own. */
typedef struct {
    int64_t *numbers;
    char **buffers;
    PyObject **objects; /* by buffer: the Python object whose memory it is, or NULL */
    Slot *slots;        /* by buffer: the value of a scalar or number */
    uint32_t *flags;
    char *arena, *scratch;
    PyObject *lease; /* owner of the arena in the eyes of arrays that lie in it; NULL until there is one */
    bool written;    /* inputs may have been written by this call */
} Frame;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Program program;
    PyObject *plan, *encoded, *report;
    PyObject *weakrefs;
    Frame *spare;
    unsigned long long calls;
    int threads;
} Executor;

/* How a part of a call ended. FAILED: an exception is set and is to be raised. EXITED: the plan does not hold
 * for this call, no exception is set, nothing that the caller can see has changed. */
typedef enum { DONE, EXITED, FAILED } Outcome;

extern PyTypeObject ExecutorType;

/* The exception that is set, as an outcome: an ordinary one makes the call exit if it still can. */
Outcome outcome_of_exception(const Frame *frame);
Outcome no_memory(const Frame *frame);

static inline size_t
cache_lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* ------------------------------------------------------------------ kernels.c */

/* Without the GIL: look at signals. Not zero: an exception is set,
 * and the kernel is to end. */
int poll_signals(void);
/* Run the kernels of a row of steps. */
Outcome run_kernels(const Executor *executor, Frame *frame, const Step *first, const Step *last);

/* ------------------------------------------------------------------ results.c: objects */

/* A new array that owns uninitialised data; strides as far as NumPy would keep them. */
PyObject *array_new(PyArray_Descr *descr, int ndim, const int32_t *shape, const int32_t *strides,
                    const int64_t *numbers);
/* The object a view or literal stands for. */
PyObject *item_object(Frame *frame, const Item *item);
/* Whether two dtypes have the same elements in native byte order. */
bool same_dtype(PyArray_Descr *actual, PyArray_Descr *expected);

/* ------------------------------------------------------------------ externs.c */

Outcome run_extern(const Program *program, Frame *frame, const Step *step);

/* ------------------------------------------------------------------ pool.c: threads */

#define MAX_THREADS 64

/* A piece of a program; not zero: the program leaves. */
typedef int (*Part)(void *context, int64_t begin, int64_t end);

/* One kernel over its whole extent, or a range of a program's, about to be shared out. */
typedef struct {
    Kernel kernel;
    Part part; /* instead of a kernel, with its context */
    void *context;
    char *const *buffers;
    const int64_t *numbers;
    int64_t begin, end, grain;
    int64_t nanoseconds; /* estimate of the whole work on one thread */
    int64_t share_ns;    /* the least of it that pays for handing it to another thread */
    char *scratch;       /* one piece per thread */
    size_t scratch_bytes;
    uint32_t *flags; /* one piece per thread */
    size_t flag_words;
} Work;

int pool_setup(void); /* once, at import */
/* How many threads, the caller included, should share this work. More than one: the pool is the caller's until
 * it has called pool_run or pool_release. These three need no GIL. */
int pool_reserve(const Work *work, int limit);
void pool_run(const Work *work, int threads);
void pool_release(void);
int pool_size(void);
/* The same for the parts of a program; what they raise is in the status of the caller. 0: all are done; 1: one of them
 * left, the others then ended as soon as they looked; 2: the handler of a signal has raised. */
int pool_run_parts(const Work *work, int threads);
/* What programs call now and then: whether they are to end, since a signal's handler has raised or a part has left. */
int pool_poll(void);
/* From how many nanoseconds of work on sleeping threads are woken; gives what it was. */
int64_t pool_set_waking(int64_t nanoseconds);

/* ------------------------------------------------------------------ shares.c: parts of programs */

/* Let the programs that this thread is about to run have so many threads; gives what they had. */
typedef struct {
    int threads;
    int64_t share_ns;
} Allowed;
Allowed shares_allow(Allowed allowed);
/* What programs call: run a part over 0 <= i < count on several threads. -1: there are none, nothing has been done;
 * 1: the program leaves; 2: it is interrupted, an exception is set. */
typedef int (*share_out_type)(Part part, void *context, int64_t count, int64_t grain, int64_t nanoseconds);
int share_out(Part part, void *context, int64_t count, int64_t grain, int64_t nanoseconds);
/* How often something has been shared out in this process. */
unsigned long long shares_count(void);

/* ------------------------------------------------------------------ memory.c: blocks */

#define POOL_MINIMUM (256 * 1024) /* smaller blocks are malloc's business */

/* A block of at least this many bytes, 64-byte aligned, uninitialised; NULL when there is none. Its capacity may
 * be larger. Blocks need no GIL and no thread of their own. */
char *block_take(size_t bytes);
void block_give(char *block);
size_t block_capacity(const char *block);
/* Make *block at least this large; what it held is lost. */
bool block_ensure(char **block, size_t bytes);
/* Give a block back unless it is small enough to be kept by whoever uses it again. */
void block_trim(char **block);

int memory_setup(void);
/* The NEP 49 handler of arrays whose data is a block, or NULL when the user has installed a handler. */
PyObject *memory_handler(void);
PyObject *memory_statistics(PyObject *module, PyObject *unused);
PyObject *memory_set_limit(PyObject *module, PyObject *bytes);

/* What arrays over the arena have as their base. It takes the arena over if they outlive the call. */
extern PyTypeObject LeaseType;
PyObject *lease_new(void);
void lease_end(PyObject **lease, char **arena);

/* ------------------------------------------------------------------ calls.c: functions that programs call */

/* As in ``programs/calls.py``. */
typedef struct {
    char *data;
    int32_t type, ndim;
    const int64_t *sizes, *strides;
} GivenArray;

typedef struct {
    char **block, *scalar;
    int64_t *room, *sizes;
    int32_t type, ndim; /* -1 for a scalar */
} MadeArray;

typedef int (*call_function_type)(PyObject *functions, int which, int count, const GivenArray *given,
                                  const MadeArray *made);
int call_function(PyObject *functions, int which, int count, const GivenArray *given, const MadeArray *made);

/* ------------------------------------------------------------------ flags.c: floating-point status */

enum { FLAG_DIVIDE = 1, FLAG_OVERFLOW = 2, FLAG_UNDERFLOW = 4, FLAG_INVALID = 8, FLAG_UNSURE = 16 };

int flags_setup(void);
/* The mode of each kind of error as NumPy packs it (3 bits each); -1 with an exception. */
int errstate_modes(void);
PyObject *errstate_set_reader(PyObject *module, PyObject *reader);
PyObject *errstate_set_maker(PyObject *module, PyObject *maker);
/* From here on NumPy raises what it would tell of; gives what `errstate_leave` takes, or NULL with an exception. */
PyObject *errstate_raise(void);
void errstate_leave(PyObject *token); /* an exception stays set */
/* Whether every floating-point error would be ignored or end in a plain warning; -1 with an exception. */
int warnings_stay_warnings(void);
/* Whether all of these kinds are ignored; -1 with an exception. */
int errors_are_ignored(uint32_t kinds);
/* Act on the flag words of a call that is done. */
Outcome settle_flags(Executor *executor, Frame *frame);

#if defined(__x86_64__)

/* Status bits NumPy looks at. Inexact is left alone: all arithmetic raises it, nothing reads it. */
#define STATUS_RAISED (_MM_EXCEPT_INVALID | _MM_EXCEPT_DIV_ZERO | _MM_EXCEPT_OVERFLOW | _MM_EXCEPT_UNDERFLOW)

typedef unsigned int FpStatus;

static inline FpStatus fp_now(void) { return _mm_getcsr(); }

/* Clear what is raised; gives the status as it was. */
static inline FpStatus
fp_clear(void)
{
    FpStatus status = _mm_getcsr();
    if (status & STATUS_RAISED) { /* writing the register costs far more than reading it */
        _mm_setcsr(status & ~STATUS_RAISED);
    }
    return status;
}

static inline void
fp_restore(FpStatus status)
{
    if ((_mm_getcsr() ^ status) & ~_MM_EXCEPT_INEXACT) {
        _mm_setcsr(status);
    }
}

/* Raise what another thread has raised. */
static inline void
fp_join(FpStatus other)
{
    if (other & STATUS_RAISED) {
        _mm_setcsr(_mm_getcsr() | (other & STATUS_RAISED));
    }
}
#else

typedef fexcept_t FpStatus;

static inline FpStatus
fp_now(void)
{
    FpStatus status;
    fegetexceptflag(&status, FE_ALL_EXCEPT);
    return status;
}

static inline FpStatus
fp_clear(void)
{
    FpStatus status;
    fegetexceptflag(&status, FE_ALL_EXCEPT);
    feclearexcept(FE_ALL_EXCEPT);
    return status;
}

static inline void fp_restore(FpStatus status) { fesetexceptflag(&status, FE_ALL_EXCEPT); }

static inline void
fp_join(FpStatus other)
{
    FpStatus joined = fp_now() | other;
    fesetexceptflag(&joined, FE_ALL_EXCEPT);
}
#endif

#pragma GCC visibility pop

#endif
