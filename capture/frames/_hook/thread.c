/* What this thread is doing, and how much of its C stack is left.

   Python code that calls Python code needs no C stack, but calls that pass through this extension do: the stack
   itself is measured, and near its end nothing is captured any more. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hook.h"

#include <pthread.h>

_Thread_local Thread thread FAST_TLS;
int process_scope;
Py_ssize_t scopes_entered;
uint64_t scopes_known;

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
        thread.per_stack = 1 / (double)size;
    }
    pthread_attr_destroy(&attributes);
#else
    (void)attributes, (void)low, (void)size;
#endif
}

/* A stack that is not the thread's own (a coroutine library's) has an unknown share left: CPython's counter decides. */
double
stack_share(void)
{
    if (!thread.stack_known) {
        find_stack();
    }
    char *here = __builtin_frame_address(0);
    if (here <= thread.stack_low || here > thread.stack_high) {
        return -1;
    }
    return (double)(here - thread.stack_low) * thread.per_stack;
}
