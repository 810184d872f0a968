/* Threads of our own.
 *
 * A kernel's iterations are cut into one share per thread, so that the same thread sees the same data from kernel
 * to kernel, and each share into chunks that are claimed one by one: whoever is done with its own share helps
 * with the others'. A worker that wakes up late, or never, costs nothing but its help, because the caller
 * withdraws offers that were not taken up.
 *
 * The state word of each worker is the whole protocol:
 *
 *     IDLE ──caller offers──▶ OFFERED ──worker takes──▶ RUNNING ──worker is done──▶ IDLE
 *       │                       ▲  └───caller withdraws──▶ IDLE
 *       └─worker gives up─▶ ASLEEP (waits on a futex)
 *
 * Workers look for offers for a few dozen microseconds before they sleep: long enough to be there for the next
 * kernel, too short to fight with the threads of a BLAS. They keep their processor for that long, unless it is the
 * caller's: who yields to another process is not back before that has used its time up. There is one region at a
 * time; whoever finds the pool taken (another Python thread) runs alone. */
#include "executor.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPIN_NS 50000       /* how long a worker looks for the next offer */
#define WAIT_PAUSES 4000    /* how long the caller spins for a worker's last chunk before it yields */
#define POLL_PAUSES 100000  /* how often the caller yields before it looks at signals */
#define CHUNK_MIN_NS 4000
#define CHUNK_MAX_NS 200000
#define CHUNKS_PER_SHARE 8

enum { IDLE, OFFERED, RUNNING, ASLEEP };

typedef struct {
    _Alignas(64) _Atomic uint32_t state;
    int index; /* of its share in the region */
} Worker;

typedef struct {
    _Alignas(64) _Atomic int64_t next;
    int64_t end;
} Share;

static Worker workers[MAX_THREADS - 1];
static int worker_count;
static atomic_flag taken = ATOMIC_FLAG_INIT;
static _Atomic int caller_cpu = -1; /* where the last region began */

/* Work per thread, since the last pause, that pays for waking it. */
static int64_t cold_share_ns = 25000;

/* How much work there has been since workers last had time to fall asleep, and until when it lasts; estimates. */
static int64_t streak_ns, streak_end;

/* The region that runs now; written by whoever holds `taken`, read by workers between RUNNING and IDLE. */
static struct {
    Work work;
    int64_t chunk;
    int share_count;
    FpStatus status;
    _Atomic uint32_t raised; /* by the parts of workers */
    atomic_bool given_up;    /* a part has left, or a signal's handler has raised */
    bool interrupted;        /* that of the caller */
    Worker *helpers[MAX_THREADS - 1];
    Share shares[MAX_THREADS];
} region;

/* Whether this thread runs parts of a program in the region: as its caller, or as a worker. */
static _Thread_local enum { NO_PARTS, PARTS_OF_CALLER, PARTS_OF_WORKER } runs;

static inline void
relax(void)
{
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t
now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void
futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
    syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/* ------------------------------------------------------------------ what every thread does */

static void
run_parts(int own)
{
    const Work *work = &region.work;
    runs = own == 0 ? PARTS_OF_CALLER : PARTS_OF_WORKER;
    for (int i = 0; i < region.share_count; i++) {
        Share *share = &region.shares[(own + i) % region.share_count];
        int64_t begin;
        while (!atomic_load_explicit(&region.given_up, memory_order_relaxed) &&
               (begin = atomic_fetch_add_explicit(&share->next, region.chunk, memory_order_relaxed)) < share->end) {
            int64_t end = share->end - begin < region.chunk ? share->end : begin + region.chunk;
            if (work->part(work->context, begin, end) != 0) {
                atomic_store(&region.given_up, true);
            }
        }
    }
    runs = NO_PARTS;
}

static void
run_shares(int own)
{
    const Work *work = &region.work;
    char *scratch = work->scratch == NULL ? NULL : work->scratch + work->scratch_bytes * (size_t)own;
    uint32_t *flags = work->flags + work->flag_words * (size_t)own;
    for (int i = 0; i < region.share_count; i++) {
        Share *share = &region.shares[(own + i) % region.share_count];
        int64_t begin;
        while ((begin = atomic_fetch_add_explicit(&share->next, region.chunk, memory_order_relaxed)) < share->end) {
            int64_t end = share->end - begin < region.chunk ? share->end : begin + region.chunk;
            fp_clear();
            work->kernel(work->buffers, work->numbers, begin, end, scratch, flags);
        }
    }
}

/* ------------------------------------------------------------------ workers */

static bool
take_offer(Worker *self)
{
    uint32_t expected = OFFERED;
    return atomic_load_explicit(&self->state, memory_order_relaxed) == OFFERED &&
           atomic_compare_exchange_strong(&self->state, &expected, RUNNING);
}

static void
wait_for_offer(Worker *self)
{
    for (;;) {
        int64_t deadline = now() + SPIN_NS;
        do {
            for (int i = 0; i < 32; i++) {
                if (take_offer(self)) {
                    return;
                }
                relax();
            }
            if (sched_getcpu() == atomic_load_explicit(&caller_cpu, memory_order_relaxed)) {
                sched_yield(); /* the caller may be waiting for this very processor */
            }
        } while (now() < deadline);
        uint32_t expected = IDLE;
        if (atomic_compare_exchange_strong(&self->state, &expected, ASLEEP)) {
            while (atomic_load(&self->state) == ASLEEP) {
                futex(&self->state, FUTEX_WAIT, ASLEEP);
            }
        }
    }
}

static void *
worker_main(void *argument)
{
    Worker *self = argument;
    for (;;) {
        wait_for_offer(self);
        fp_restore(region.status); /* rounding and denormals as the caller has them */
        if (region.work.part != NULL) {
            fp_clear();
            run_parts(self->index);
            atomic_fetch_or(&region.raised, (uint32_t)fp_now());
        }
        else {
            run_shares(self->index);
        }
        atomic_store_explicit(&self->state, IDLE, memory_order_release);
    }
    return NULL;
}

/* Start workers until there are `wanted`, as far as the system lets us. */
static void
grow(int wanted)
{
    sigset_t all, before;
    if (worker_count >= wanted) {
        return;
    }
    sigfillset(&all); /* signals are for Python's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (worker_count < wanted) {
        pthread_t thread;
        Worker *worker = &workers[worker_count];
        atomic_store(&worker->state, IDLE);
        if (pthread_create(&thread, NULL, worker_main, worker) != 0) {
            break;
        }
        pthread_detach(thread);
        worker_count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ------------------------------------------------------------------ the caller */

static int
least(int64_t a, int64_t b)
{
    return (int)(a < b ? a : b);
}

/* How many threads are worth waking: one kernel may be too short for that, a row of them is not. */
static int64_t
worth_waking(int64_t nanoseconds)
{
    int64_t time = now();
    if (time - streak_end > SPIN_NS) {
        streak_ns = 0;
    }
    streak_end = time + least(nanoseconds, 1000000000);
    streak_ns += least(nanoseconds, MAX_THREADS * cold_share_ns);
    return streak_ns / cold_share_ns;
}

int
pool_reserve(const Work *work, int limit)
{
    int64_t pieces = (work->end - work->begin + work->grain - 1) / work->grain;
    int wanted = least(least(limit, MAX_THREADS), least(pieces, work->nanoseconds / work->share_ns));
    if (wanted < 2 || atomic_flag_test_and_set_explicit(&taken, memory_order_acquire)) {
        return 1;
    }
    int waking = least(worth_waking(work->nanoseconds), wanted), helpers = 0;
    grow(waking - 1);
    for (int i = 0; i < worker_count && helpers < wanted - 1; i++) {
        if (helpers < waking - 1 || atomic_load_explicit(&workers[i].state, memory_order_relaxed) == IDLE) {
            region.helpers[helpers++] = &workers[i];
        }
    }
    if (helpers == 0) {
        pool_release();
    }
    return helpers + 1;
}

void
pool_release(void)
{
    atomic_flag_clear_explicit(&taken, memory_order_release);
}

static void
cut_shares(const Work *work, int count)
{
    int64_t pieces = (work->end - work->begin + work->grain - 1) / work->grain;
    int64_t chunk_ns = work->nanoseconds / ((int64_t)count * CHUNKS_PER_SHARE);
    chunk_ns = chunk_ns < CHUNK_MIN_NS ? CHUNK_MIN_NS : chunk_ns > CHUNK_MAX_NS ? CHUNK_MAX_NS : chunk_ns;
    int64_t chunks = work->nanoseconds / chunk_ns + 1;
    region.chunk = (pieces + chunks - 1) / chunks * work->grain;
    region.share_count = count;
    for (int i = 0; i < count; i++) {
        int64_t begin = work->begin + pieces / count * i * work->grain;
        int64_t end = i + 1 == count ? work->end : work->begin + pieces / count * (i + 1) * work->grain;
        atomic_store_explicit(&region.shares[i].next, begin, memory_order_relaxed);
        region.shares[i].end = end;
    }
}

static void
offer(Worker *worker, int index)
{
    worker->index = index;
    if (atomic_exchange(&worker->state, OFFERED) == ASLEEP) {
        futex(&worker->state, FUTEX_WAKE, 1);
    }
}

/* Signals are for the caller: the thread that has called the program. What a handler runs is no part of it. */
static bool
look_at_signals(void)
{
    int as = runs;
    runs = NO_PARTS;
    bool raised = poll_signals() != 0;
    runs = as;
    if (raised) {
        region.interrupted = true;
        atomic_store(&region.given_up, true);
    }
    return raised;
}

int
pool_poll(void)
{
    if (runs == NO_PARTS) {
        return poll_signals();
    }
    return atomic_load(&region.given_up) || (runs == PARTS_OF_CALLER && look_at_signals());
}

/* Withdraw the offer, or wait until the worker that took it is done; ``looks``: at signals meanwhile. */
static void
settle(Worker *worker, bool looks)
{
    uint32_t expected = OFFERED;
    if (atomic_compare_exchange_strong(&worker->state, &expected, IDLE)) {
        return;
    }
    for (int64_t pauses = 0; atomic_load_explicit(&worker->state, memory_order_acquire) == RUNNING; pauses++) {
        if (pauses < WAIT_PAUSES) {
            relax();
            continue;
        }
        sched_yield();
        if (looks && !region.interrupted && pauses % POLL_PAUSES == 0) {
            look_at_signals();
        }
    }
}

/* The region from its offers until all shares are done: the caller's own among them. */
static void
run_region(const Work *work, int threads)
{
    bool in_parts = work->part != NULL;
    region.work = *work;
    atomic_store_explicit(&caller_cpu, sched_getcpu(), memory_order_relaxed);
    cut_shares(work, threads);
    for (int i = 0; i < threads - 1; i++) {
        offer(region.helpers[i], i + 1);
    }
    (in_parts ? run_parts : run_shares)(0);
    for (int i = 0; i < threads - 1; i++) {
        settle(region.helpers[i], in_parts);
    }
}

void
pool_run(const Work *work, int threads)
{
    region.status = fp_clear();
    run_region(work, threads);
    pool_release();
}

int
pool_run_parts(const Work *work, int threads)
{
    region.status = fp_now();
    region.interrupted = false;
    atomic_store(&region.raised, 0);
    atomic_store(&region.given_up, false);
    run_region(work, threads);
    fp_join((FpStatus)atomic_load(&region.raised));
    int outcome = region.interrupted ? 2 : atomic_load(&region.given_up);
    pool_release();
    return outcome;
}

int64_t
pool_set_waking(int64_t nanoseconds)
{
    int64_t before = cold_share_ns;
    cold_share_ns = nanoseconds < 1 ? 1 : nanoseconds;
    return before;
}

int
pool_size(void)
{
    return worker_count;
}

/* ------------------------------------------------------------------ fork */

/* The child has none of the workers, and nobody runs a region in it. */
static void
forget_workers(void)
{
    worker_count = 0;
    pool_release();
}

int
pool_setup(void)
{
    return pthread_atfork(NULL, NULL, forget_workers);
}
