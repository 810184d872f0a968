#define SIMD __attribute__((simd("notinbranch"), const))
#define THREADS 2
extern int omp_get_thread_num(void);
SIMD double exp(double), log(double), tanh(double);
SIMD float expf(float), logf(float), tanhf(float);
double sqrt(double);
float sqrtf(float);
#define OF(name) _Generic((REAL)0, float: name##f, double: name)
#define EXP OF(exp)
#define LOG OF(log)
#define TANH OF(tanh)
#define SQRT OF(sqrt)

/* Runs a body for [begin, end) of [0, count): on all threads where there is enough work. */
#define SPLIT(count, enough, ...)                                                    \
    if ((count) < (enough)) {                                                        \
        long begin = 0, end = (count);                                               \
        __VA_ARGS__                                                                  \
    } else {                                                                         \
        _Pragma("omp parallel num_threads(THREADS)") {                               \
            long me = omp_get_thread_num();                                          \
            long begin = (count) * me / THREADS, end = (count) * (me + 1) / THREADS; \
            __VA_ARGS__                                                              \
        }                                                                            \
    }

void nothing(const REAL *const *in, REAL *out, const long *size) {}
