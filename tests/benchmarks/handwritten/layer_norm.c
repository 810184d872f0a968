static void run(const REAL *restrict x, const REAL *restrict scale, const REAL *restrict shift, REAL *restrict out,
                 long columns, long from, long to) {
    for (long row = from; row < to; row++) {
        const REAL *source = x + row * columns;
        REAL *result = out + row * columns, sum = 0, square = 0;
#pragma omp simd reduction(+ : sum)
        for (long i = 0; i < columns; i++)
            sum += source[i];
        REAL mean = sum / columns;
#pragma omp simd reduction(+ : square)
        for (long i = 0; i < columns; i++)
            square += (source[i] - mean) * (source[i] - mean);
        REAL deviation = SQRT(square / columns + (REAL)1e-5);
#pragma omp simd
        for (long i = 0; i < columns; i++)
            result[i] = (source[i] - mean) / deviation * scale[i] + shift[i];
    }
}

void layer_norm(const REAL *const *in, REAL *out, const long *size) {
    SPLIT(size[0], 1 + 20000 / size[1], run(in[0], in[1], in[2], out, size[1], begin, end);)
}
