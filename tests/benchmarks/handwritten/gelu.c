static void run(const REAL *restrict x, REAL *restrict out, long from, long to) {
    const REAL scale = 0.7978845608028654;
#pragma omp simd
    for (long i = from; i < to; i++)
        out[i] = (REAL)0.5 * x[i] * (1 + TANH(scale * (x[i] + (REAL)0.044715 * (x[i] * x[i] * x[i]))));
}

void gelu(const REAL *const *in, REAL *out, const long *size) {
    SPLIT(size[0], 8000, run(in[0], out, begin, end);)
}
