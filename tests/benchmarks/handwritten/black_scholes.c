static inline REAL normal_cdf(REAL x) {
    REAL t = 1 / (1 + (REAL)0.2316419 * (x < 0 ? -x : x));
    REAL series = (REAL)-1.821255978 + t * (REAL)1.330274429;
    series = (REAL)1.781477937 + t * series;
    series = (REAL)-0.356563782 + t * series;
    series = t * ((REAL)0.319381530 + t * series);
    REAL tail = EXP((REAL)-0.5 * x * x) * (REAL)0.3989422804014327 * series;
    return x > 0 ? 1 - tail : tail;
}

static void run(const REAL *restrict spot, const REAL *restrict strike, const REAL *restrict years,
                 REAL *restrict out, long from, long to) {
    const REAL volatility = 0.25, rate = 0.02;
#pragma omp simd
    for (long i = from; i < to; i++) {
        REAL root = volatility * SQRT(years[i]);
        REAL d1 = (LOG(spot[i] / strike[i]) + (rate + (REAL)0.5 * volatility * volatility) * years[i]) / root;
        REAL d2 = d1 - root;
        out[i] = spot[i] * normal_cdf(d1) - strike[i] * EXP(-rate * years[i]) * normal_cdf(d2);
    }
}

void black_scholes(const REAL *const *in, REAL *out, const long *size) {
    SPLIT(size[0], 4000, run(in[0], in[1], in[2], out, begin, end);)
}
