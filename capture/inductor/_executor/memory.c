/* Blocks of data: the arena, scratch, and the data of large outputs.
 *
 * NumPy leaves arrays of more than a few hundred kilobytes to malloc, which maps and unmaps them: each new
 * result pays for page faults that can cost more than computing it. So blocks that are given back wait in a
 * bounded pool, shared by all graphs. Only data is recycled, never array objects: an array whose data is a block
 * owns it in the ordinary way, by a NEP 49 memory handler.
 *
 * A block is preceded by its header, so that the handler does not depend on the sizes NumPy passes. */
#include "executor.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ALIGNMENT 64                  /* of data; also the size of the header */
#define MAP_MINIMUM ((size_t)4 << 20) /* from here on blocks are mapped, in huge pages where there are any */
#define HUGE_PAGE ((size_t)2 << 20)
#define PAGE ((size_t)4096)
#define POOL_SLOTS 64                  /* the most blocks that wait at a time */
#define POOL_BYTES ((size_t)256 << 20) /* the most bytes that wait at a time; see memory_set_limit */

typedef struct {
    size_t capacity; /* bytes after the header */
    size_t mapped;   /* bytes of the whole mapping, 0 for malloc */
} Header;

static Header *
header_of(const char *block)
{
    return (Header *)(block - ALIGNMENT);
}

size_t
block_capacity(const char *block)
{
    return block == NULL ? 0 : header_of(block)->capacity;
}

/* ------------------------------------------------------------------ from and to the system */

/* A mapping that begins on a huge page. */
static char *
map_aligned(size_t bytes)
{
    char *start = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
        return NULL;
    }
    size_t before = (HUGE_PAGE - (uintptr_t)start % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0) {
        munmap(start, before);
    }
    munmap(start + before + bytes, HUGE_PAGE - before);
#ifdef MADV_HUGEPAGE
    madvise(start + before, bytes, MADV_HUGEPAGE); /* an advice: failure is no failure */
#endif
    return start + before;
}

static char *
block_create(size_t bytes)
{
    char *start = NULL;
    size_t total, mapped = 0;
    if (__builtin_add_overflow(bytes, ALIGNMENT, &total) || total > PY_SSIZE_T_MAX - 2 * HUGE_PAGE) {
        return NULL;
    }
    if (total >= MAP_MINIMUM) {
        mapped = total = (total + PAGE - 1) / PAGE * PAGE;
        start = map_aligned(total);
    }
    else if (posix_memalign((void **)&start, ALIGNMENT, total) != 0) {
        start = NULL;
    }
    if (start == NULL) {
        return NULL;
    }
    *(Header *)start = (Header){.capacity = total - ALIGNMENT, .mapped = mapped};
    return start + ALIGNMENT;
}

static void
block_destroy(char *block)
{
    Header *header = header_of(block);
    if (header->mapped > 0) {
        munmap(header, header->mapped);
    }
    else {
        free(header);
    }
}

/* ------------------------------------------------------------------ the pool */

static struct {
    pthread_mutex_t lock;
    char *blocks[POOL_SLOTS]; /* the one given last at the end: it is the likeliest to be in a cache */
    int count;
    size_t bytes, limit;
    unsigned long long taken, reused;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .limit = POOL_BYTES};

static char *
pool_remove(int index)
{
    char *block = pool.blocks[index];
    pool.count--;
    memmove(&pool.blocks[index], &pool.blocks[index + 1], (size_t)(pool.count - index) * sizeof(char *));
    pool.bytes -= block_capacity(block);
    return block;
}

char *
block_take(size_t bytes)
{
    if (bytes < POOL_MINIMUM) {
        return block_create(bytes);
    }
    char *found = NULL;
    pthread_mutex_lock(&pool.lock);
    pool.taken++;
    for (int i = pool.count - 1; i >= 0 && found == NULL; i--) {
        size_t capacity = block_capacity(pool.blocks[i]);
        if (capacity >= bytes && capacity - bytes <= bytes / 4) { /* more must not lie idle */
            found = pool_remove(i);
            pool.reused++;
        }
    }
    pthread_mutex_unlock(&pool.lock);
    return found != NULL ? found : block_create(bytes);
}

/* Drop the oldest blocks until no more than `slots` wait within the limit; the caller holds the lock. */
static void
pool_shrink(int slots)
{
    while (pool.bytes > pool.limit || pool.count > slots) {
        block_destroy(pool_remove(0));
    }
}

void
block_give(char *block)
{
    size_t capacity = block_capacity(block);
    if (block == NULL) {
        return;
    }
    if (capacity < POOL_MINIMUM || capacity > pool.limit) {
        block_destroy(block);
        return;
    }
    pthread_mutex_lock(&pool.lock);
    pool_shrink(POOL_SLOTS - 1);
    pool.blocks[pool.count++] = block;
    pool.bytes += capacity;
    pool_shrink(POOL_SLOTS);
    pthread_mutex_unlock(&pool.lock);
}

bool
block_ensure(char **block, size_t bytes)
{
    if (*block != NULL && block_capacity(*block) >= bytes) {
        return true;
    }
    block_give(*block);
    *block = block_take(bytes);
    return *block != NULL;
}

void
block_trim(char **block)
{
    if (*block != NULL && block_capacity(*block) >= POOL_MINIMUM) {
        block_give(*block);
        *block = NULL;
    }
}

/* A fork must not find the lock held by a thread that the child does not have. */
static void lock_pool(void) { pthread_mutex_lock(&pool.lock); }
static void unlock_pool(void) { pthread_mutex_unlock(&pool.lock); }

/* ------------------------------------------------------------------ the handler of output arrays */

static void *
handler_malloc(void *context, size_t size)
{
    return block_take(size);
}

static void *
handler_calloc(void *context, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        return NULL;
    }
    char *block = block_take(bytes);
    return block == NULL ? NULL : memset(block, 0, bytes);
}

static void *
handler_realloc(void *context, void *old, size_t size)
{
    size_t capacity = block_capacity(old);
    if (old != NULL && size <= capacity && size >= capacity / 2) {
        return old;
    }
    char *block = block_take(size);
    if (block != NULL && old != NULL) {
        memcpy(block, old, size < capacity ? size : capacity);
        block_give(old);
    }
    return block;
}

static void
handler_free(void *context, void *data, size_t size)
{
    block_give(data);
}

static PyDataMem_Handler handler = {
    "capture_recycled", 1, {NULL, handler_malloc, handler_calloc, handler_realloc, handler_free}};
static PyObject *handler_capsule;

PyObject *
memory_handler(void)
{
    PyObject *current = PyDataMem_GetHandler();
    Py_XDECREF(current);
    if (current == NULL) {
        PyErr_Clear();
    }
    return current == PyDataMem_DefaultHandler ? handler_capsule : NULL;
}

int
memory_setup(void)
{
    handler_capsule = PyCapsule_New(&handler, "mem_handler", NULL);
    if (handler_capsule == NULL) {
        return -1;
    }
    return pthread_atfork(lock_pool, unlock_pool, unlock_pool);
}

PyObject *
memory_statistics(PyObject *module, PyObject *unused)
{
    return Py_BuildValue("{s:i,s:n,s:n,s:K,s:K}", "blocks", pool.count, "bytes", (Py_ssize_t)pool.bytes, "limit",
                         (Py_ssize_t)pool.limit, "taken", pool.taken, "reused", pool.reused);
}

PyObject *
memory_set_limit(PyObject *module, PyObject *bytes)
{
    size_t limit = PyLong_AsSize_t(bytes);
    if (limit == (size_t)-1 && PyErr_Occurred()) {
        return NULL;
    }
    pthread_mutex_lock(&pool.lock);
    size_t before = pool.limit;
    pool.limit = limit;
    pool_shrink(POOL_SLOTS);
    pthread_mutex_unlock(&pool.lock);
    return PyLong_FromSize_t(before);
}

/* ------------------------------------------------------------------ the arena's owner */

typedef struct {
    PyObject_HEAD
    char *arena;
} Lease;

static void
lease_dealloc(PyObject *self)
{
    block_give(((Lease *)self)->arena);
    PyObject_Free(self);
}

PyTypeObject LeaseType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "capture.inductor._executor.Lease",
    .tp_doc = "The owner of temporary memory that an array still shows.",
    .tp_basicsize = sizeof(Lease),
    .tp_dealloc = lease_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
};

PyObject *
lease_new(void)
{
    Lease *lease = PyObject_New(Lease, &LeaseType);
    if (lease != NULL) {
        lease->arena = NULL;
    }
    return (PyObject *)lease;
}

void
lease_end(PyObject **lease, char **arena)
{
    if (*lease != NULL && Py_REFCNT(*lease) > 1) { /* an extern kept an operand */
        ((Lease *)*lease)->arena = *arena;
        *arena = NULL;
    }
    Py_CLEAR(*lease);
}
