/* Running kernels: with or without the GIL, on one thread or several, in one go or in slices.
 *
 * The plan's estimates of work decide. The floating-point status is cleared before each kernel and put back after
 * them, so that NumPy's own checks do not see what kernels raised. */
#include "executor.h"

#define RELEASE_NS 5000    /* work from which on other Python threads may run beside it; releasing costs 50 ns */
#define SIGNAL_NS 20000000 /* work after which signals are looked at */
#define SLICE_NS 200000000 /* longer kernels are run in slices, so that signals are seen */
#define MAX_SLICES 4096    /* however much too high the estimate is */

int
poll_signals(void)
{
    PyGILState_STATE state = PyGILState_Ensure();
    FpStatus status = fp_clear(); /* a handler may clear what the kernel has raised */
    int raised = PyErr_CheckSignals() < 0;
    fp_restore(status);
    PyGILState_Release(state);
    return raised;
}

/* Nanoseconds on one thread, as the plan estimates them. */
static inline int64_t
estimate(const Frame *frame, const Step *step)
{
    int64_t nanoseconds;
    bool huge = __builtin_mul_overflow(frame->numbers[step->extent], frame->numbers[step->work], &nanoseconds);
    return huge ? INT64_MAX / 4 : nanoseconds;
}

static inline bool
run_alone(Frame *frame, const Step *step, int64_t begin, int64_t end)
{
    if (step->scratch >= 0 && !block_ensure(&frame->scratch, (size_t)frame->numbers[step->scratch])) {
        return false;
    }
    step->kernel(frame->buffers, frame->numbers, begin, end, frame->scratch, frame->flags);
    return true;
}

/* Share the work out over threads that have been reserved; each has its own scratch and flags. Without the GIL. */
static bool
run_shared(Frame *frame, Work *work, int threads, int flag_count)
{
    work->scratch_bytes = cache_lines(work->scratch_bytes);
    work->flag_words = cache_lines(sizeof(uint32_t) * (size_t)flag_count) / sizeof(uint32_t);
    size_t scratch = work->scratch_bytes * (size_t)threads;
    size_t flags = work->flag_words * sizeof(uint32_t) * (size_t)threads;
    if (!block_ensure(&frame->scratch, scratch + flags)) {
        pool_release();
        return false;
    }
    work->scratch = frame->scratch;
    work->flags = memset(frame->scratch + scratch, 0, flags);
    pool_run(work, threads);
    for (int thread = 0; thread < threads; thread++) {
        for (int i = 0; i < flag_count; i++) {
            frame->flags[i] |= work->flags[work->flag_words * (size_t)thread + (size_t)i];
        }
    }
    return true;
}

/* Share the work out if there are threads for it, else do it here. Without the GIL. */
static bool
run_parallel(const Executor *self, Frame *frame, const Step *step, int64_t begin, int64_t end, int64_t nanoseconds)
{
    Work work = {.kernel = step->kernel,
                 .buffers = frame->buffers,
                 .numbers = frame->numbers,
                 .begin = begin,
                 .end = end,
                 .grain = step->grain,
                 .nanoseconds = nanoseconds,
                 .share_ns = self->program.share_ns,
                 .scratch_bytes = step->scratch < 0 ? 0 : (size_t)frame->numbers[step->scratch]};
    int threads = pool_reserve(&work, self->threads);
    if (threads > 1) {
        return run_shared(frame, &work, threads, self->program.flag_count);
    }
    return run_alone(frame, step, begin, end);
}

/* Run iterations begin <= i < end of a kernel, with a clear status; false when there is no memory for its scratch.
 * Without the GIL when the work is large enough. */
static inline bool
run_range(const Executor *self, Frame *frame, const Step *step, int64_t begin, int64_t end, int64_t nanoseconds)
{
    return nanoseconds < RELEASE_NS ? run_alone(frame, step, begin, end)
                                    : run_parallel(self, frame, step, begin, end, nanoseconds);
}

/* A long kernel, without the GIL; in slices unless it writes what the caller sees. Signals are looked at in between. */
static Outcome
run_long(const Executor *self, Frame *frame, const Step *step, int64_t nanoseconds)
{
    int64_t extent = frame->numbers[step->extent], slice = extent;
    if (nanoseconds > SLICE_NS && !self->program.writes) {
        int64_t slices = nanoseconds / SLICE_NS + 1;
        int64_t grains = extent / step->grain / (slices < MAX_SLICES ? slices : MAX_SLICES);
        slice = (grains < 1 ? 1 : grains) * step->grain;
    }
    for (int64_t begin = 0, end; begin < extent; begin = end) {
        end = extent - begin < slice ? extent : begin + slice;
        double part = (double)(end - begin) / (double)extent;
        PyThreadState *state = PyEval_SaveThread();
        FpStatus status = fp_clear();
        bool enough = run_range(self, frame, step, begin, end, (int64_t)((double)nanoseconds * part));
        fp_restore(status);
        PyEval_RestoreThread(state);
        if (!enough) {
            return no_memory(frame);
        }
        if (PyErr_CheckSignals() < 0) {
            return FAILED;
        }
    }
    return DONE;
}

/* Kernels that are not long, together; without the GIL if they are worth it. */
static inline Outcome
run_together(const Executor *self, Frame *frame, const Step *first, const Step *last, int64_t nanoseconds)
{
    PyThreadState *state = nanoseconds >= RELEASE_NS ? PyEval_SaveThread() : NULL;
    FpStatus status = fp_clear();
    bool enough = true;
    for (const Step *step = first; step < last && enough; step++) {
        int64_t extent = frame->numbers[step->extent];
        if (step != first) {
            fp_clear();
        }
        enough = extent <= 0 || run_range(self, frame, step, 0, extent, estimate(frame, step));
    }
    fp_restore(status);
    if (state != NULL) {
        PyEval_RestoreThread(state);
    }
    return enough ? DONE : no_memory(frame);
}

Outcome
run_kernels(const Executor *self, Frame *frame, const Step *first, const Step *last)
{
    Outcome outcome = DONE;
    /* A signal's handler, or a function of NumPy's, may run graphs while the program of another one waits for it. */
    Allowed before = {0};
    if (self->program.shares) {
        before = shares_allow((Allowed){.threads = self->threads, .share_ns = self->program.share_ns});
    }
    for (const Step *step = first, *next; step < last && outcome == DONE; step = next) {
        int64_t nanoseconds = estimate(frame, step), more;
        next = step + 1;
        if (nanoseconds >= SIGNAL_NS) {
            outcome = run_long(self, frame, step, nanoseconds);
            continue;
        }
        for (; next < last && (more = estimate(frame, next)) < SIGNAL_NS; next++) {
            nanoseconds += more;
        }
        outcome = run_together(self, frame, step, next, nanoseconds);
    }
    if (self->program.shares) {
        shares_allow(before);
    }
    return outcome;
}
