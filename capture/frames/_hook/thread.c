/* What this thread is doing, and how much of its C stack is left.

   Python code that calls Python code needs no C stack, but calls that pass through this extension do. CPython guards the
   C stack with a counter that ordinary Python recursion never touches (742 calls would exhaust it on 3.12); here the stack
   itself is measured, and the counter is left as plain Python would leave it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hook.h"

#include <pthread.h>

_Thread_local Thread thread FAST_TLS;

static void
find_stack(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    thread.stack_known = true;
#if defined(__linux__)
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return;
    }
    if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
        thread.stack_low = low;
        thread.stack_high = (char *)low + size;
    }
    pthread_attr_destroy(&attributes);
#else
    (void)attributes, (void)low, (void)size;
#endif
}

/* Short below a quarter of the stack: libraries and plain C recursion keep that much to themselves. Out below a
   sixteenth. A stack that is not the thread's own (a coroutine library's) counts as short: CPython's counter decides. */
Headroom
stack_headroom(void)
{
    if (!thread.stack_known) {
        find_stack();
    }
    char *here = __builtin_frame_address(0);
    if (here <= thread.stack_low || here > thread.stack_high) {
        return STACK_SHORT;
    }
    size_t left = here - thread.stack_low, size = thread.stack_high - thread.stack_low;
    return left >= size / 4 ? STACK_AMPLE : left >= size / 16 ? STACK_SHORT : STACK_OUT;
}
