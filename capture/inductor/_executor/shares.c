/* Parts of programs on several threads: what the code of a loop node calls in the middle of it. */
#include "executor.h"

#include <stdatomic.h>

/* What the program that this thread runs may have. */
static _Thread_local Allowed allowed_now = {.threads = 1};

static atomic_ullong count_of_shares;

Allowed
shares_allow(Allowed allowed)
{
    Allowed before = allowed_now;
    allowed_now = allowed;
    return before;
}

int
share_out(Part part, void *context, int64_t count, int64_t grain, int64_t nanoseconds)
{
    if (allowed_now.threads < 2) {
        return -1;
    }
    Work work = {.part = part,
                 .context = context,
                 .end = count,
                 .grain = grain,
                 .nanoseconds = nanoseconds,
                 .share_ns = allowed_now.share_ns};
    int threads = pool_reserve(&work, allowed_now.threads);
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
