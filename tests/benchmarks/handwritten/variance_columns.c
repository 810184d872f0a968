/* Blocks of columns: two passes over a block each, which stays in a cache. */
static void run(const REAL *restrict x, REAL *restrict out, long rows, long columns, long from, long to) {
    for (long first = from; first < to; first += 64) {
        long width = to - first < 64 ? to - first : 64;
        REAL mean[64] = {0}, square[64] = {0};
        for (long row = 0; row < rows; row++)
#pragma omp simd
            for (long i = 0; i < width; i++)
                mean[i] += x[row * columns + first + i];
        for (long i = 0; i < width; i++)
            mean[i] /= rows;
        for (long row = 0; row < rows; row++)
#pragma omp simd
            for (long i = 0; i < width; i++) {
                REAL away = x[row * columns + first + i] - mean[i];
                square[i] += away * away;
            }
        for (long i = 0; i < width; i++)
            out[first + i] = square[i] / rows;
    }
}

void variance_columns(const REAL *const *in, REAL *out, const long *size) {
    SPLIT(size[1], size[0] * size[1] < 20000 ? size[1] + 1 : 1, run(in[0], out, size[0], size[1], begin, end);)
}
