/* Parts of programs on several threads: what the code of a loop node calls in the middle of it. */
#include "executor.h"

#include <stdatomic.h>

/* What the program that this thread runs may have. */
static _Thread_local int threads_allowed = 1;
static _Thread_local int64_t least_share_ns;

static atomic_ullong count_of_shares;

void
shares_allow(int threads, int64_t share_ns)
{
    threads_allowed = threads;
    least_share_ns = share_ns;
}

int
share_out(Part part, void *context, int64_t count, int64_t grain, int64_t nanoseconds)
{
    if (threads_allowed < 2) {
        return -1;
    }
    Work work = {.part = part,
                 .context = context,
                 .end = count,
                 .grain = grain,
                 .nanoseconds = nanoseconds,
                 .share_ns = least_share_ns};
    int threads = pool_reserve(&work, threads_allowed);
    if (threads < 2) {
        return -1;
    }
    atomic_fetch_add_explicit(&count_of_shares, 1, memory_order_relaxed);
    return pool_run_parts(&work, threads);
}

unsigned long long
shares_count(void)
{
    return atomic_load(&count_of_shares);
}
