static void run(const REAL *restrict x, REAL *restrict out, long columns, long from, long to) {
    for (long row = from; row < to; row++) {
        const REAL *source = x + row * columns;
        REAL *result = out + row * columns, most = source[0], sum = 0;
#pragma omp simd reduction(max : most)
        for (long i = 0; i < columns; i++)
            most = source[i] > most ? source[i] : most;
#pragma omp simd reduction(+ : sum)
        for (long i = 0; i < columns; i++)
            sum += result[i] = EXP(source[i] - most);
#pragma omp simd
        for (long i = 0; i < columns; i++)
            result[i] /= sum;
    }
}

void softmax(const REAL *const *in, REAL *out, const long *size) {
    SPLIT(size[0], 1 + 8000 / size[1], run(in[0], out, size[1], begin, end);)
}
