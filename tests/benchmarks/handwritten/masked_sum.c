/* Sums of blocks, added up in double: no worse than pairwise sums. */
static double run(const REAL *restrict x, const REAL *restrict y, long from, long to) {
    double total = 0;
    for (long first = from; first < to; first += 1024) {
        long last = first + 1024 < to ? first + 1024 : to;
        REAL sum = 0;
#pragma omp simd reduction(+ : sum)
        for (long i = first; i < last; i++)
            sum += x[i] > y[i] ? x[i] : 0;
        total += sum;
    }
    return total;
}

void masked_sum(const REAL *const *in, REAL *out, const long *size) {
    double sums[THREADS][8] = {{0}};
    SPLIT(size[0], 20000, sums[begin != 0][0] = run(in[0], in[1], begin, end);)
    *out = sums[0][0] + sums[1][0];
}
