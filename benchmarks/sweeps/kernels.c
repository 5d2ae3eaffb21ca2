/* The quadratic sweep written by hand, as the limit that the engine is measured against.
 *
 * The same algorithm and the same draws as ravine.engine.kernels.quadratic_kernel: one xoshiro128++
 * stream a (pixel, coordinate) seeded by Philox4x32-10, Box-Muller with polynomials in single precision, state
 * in double precision, blocks of LANES pixels, CHUNK steps of one coordinate at a time.
 *
 *   gcc -O3 -march=native -ffp-contract=fast -fno-math-errno -fopenmp -shared -fPIC kernels.c -lm
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LANES 128
#ifndef CHUNK
#define CHUNK 32
#endif
#define LANE_LOOP _Pragma("GCC ivdep") for (int l = 0; l < LANES; l++)

typedef double row[LANES] __attribute__((aligned(64)));
typedef float row32[LANES] __attribute__((aligned(64)));
typedef uint32_t words[LANES] __attribute__((aligned(64)));

static inline uint32_t rotate(uint32_t v, int n) { return (v << n) | (v >> (32 - n)); }

static void philox(const uint32_t counter[4], uint64_t seed, uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

static inline float as_float(int32_t w) { float f; memcpy(&f, &w, 4); return f; }
static inline int32_t as_word(float f) { int32_t w; memcpy(&w, &f, 4); return w; }

static inline float radius(uint32_t bits) {
    float u = ((float)(int32_t)(bits >> 1) + 0.5f) * 0x1p-31f;
    int32_t word = as_word(u), exponent = (word - 0x3F3504F3) >> 23;
    float t = as_float(word - exponent * 8388608) - 1.0f;
    float p = -0.39800330996513367f
        + t * (0.34501659870147705f + t * (-0.32445162534713745f + t * 0.20213791728019714f));
    p = 0.4993981719017029f + t * p;
    p = -1.9999998807907104f + t * (1.0000072717666626f + t * (-0.6667011976242065f + t * p));
    return sqrtf(t * p + (float)exponent * -1.3862943611198906f);
}

static inline float sine(uint32_t bits) {
    float a = (float)(int32_t)bits * 7.314590396335798e-10f, s = a * a;
    return a * (1.0f + s * (-0.16666656732559204f + s * (0.008333025500178337f
        + s * (-0.00019807419448625296f + s * 2.6019031338364584e-06f))));
}

static inline float cosine(uint32_t bits) {
    float a = (float)(int32_t)bits * 7.314590396335798e-10f, s = a * a;
    float size = 0.9999999403953552f + s * (-0.4999990463256836f + s * (0.04166358336806297f
        + s * (-0.0013853703858330846f + s * 2.315393248863984e-05f)));
    return as_float(as_word(size) ^ (int32_t)(bits << 31));
}

#define NEXT(b) do { \
    (b)[l] = rotate(a0 + a3, 7) + a0; \
    uint32_t shifted = a1 << 9; \
    a2 ^= a0; a3 ^= a1; a1 ^= a2; a0 ^= a3; a2 ^= shifted; a3 = rotate(a3, 11); } while (0)

static void draw(words *restrict s, row32 *restrict z, const float *restrict scale) {
    words bits[4];
    row32 r;
    for (int j = 0; j < CHUNK; j += 4) {
        LANE_LOOP {
            uint32_t a0 = s[0][l], a1 = s[1][l], a2 = s[2][l], a3 = s[3][l];
            NEXT(bits[0]); NEXT(bits[1]); NEXT(bits[2]); NEXT(bits[3]);
            s[0][l] = a0, s[1][l] = a1, s[2][l] = a2, s[3][l] = a3;
        }
        for (int k = 0; k < 4; k += 2) {
            LANE_LOOP r[l] = scale[l] * radius(bits[k][l]);
            LANE_LOOP {
                z[j + k][l] = r[l] * cosine(bits[k + 1][l]);
                z[j + k + 1][l] = r[l] * sine(bits[k + 1][l]);
            }
        }
    }
}

#define STEP(t, x, p, noise, a) double t = k1 * (x) + (k2 * (p) + (noise)); do { \
    double y = t - gg * (x); (a)[l] += y * y; } while (0)

static void update(row *restrict x, const row *restrict c, row32 *restrict z, row *restrict acc) {
    for (int j = 0; j < CHUNK; j += 4)
        LANE_LOOP {
            double u = x[0][l], v = x[1][l], k1 = c[0][l], k2 = c[1][l], gg = c[2][l];
            STEP(t0, u, v, z[j][l], acc[j]);
            STEP(t1, t0, u, z[j + 1][l], acc[j + 1]);
            STEP(t2, t1, t0, z[j + 2][l], acc[j + 2]);
            STEP(t3, t2, t1, z[j + 3][l], acc[j + 3]);
            x[0][l] = t3, x[1][l] = t2;
        }
}

static void update_shared(row *restrict x, const row *restrict c, const double *restrict z,
                          row *restrict acc) {
    for (int j = 0; j < CHUNK; j += 4) {
        double z0 = z[j], z1 = z[j + 1], z2 = z[j + 2], z3 = z[j + 3];
        LANE_LOOP {
            double u = x[0][l], v = x[1][l], k1 = c[0][l], k2 = c[1][l], gg = c[2][l];
            STEP(t0, u, v, z0, acc[j]);
            STEP(t1, t0, u, z1, acc[j + 1]);
            STEP(t2, t1, t0, z2, acc[j + 2]);
            STEP(t3, t2, t1, z3, acc[j + 3]);
            x[0][l] = t3, x[1][l] = t2;
        }
    }
}

static void block(int d, const double *lam, const double *start, const double *alpha,
                  const double *beta, const double *gamma, uint64_t pixel, uint64_t seed,
                  double sigma, int steps, const double *shared, double *mean_square) {
    row(*x)[2] = aligned_alloc(64, d * sizeof *x);
    words(*s)[4] = aligned_alloc(64, d * sizeof *s);
    row *acc = aligned_alloc(64, CHUNK * sizeof *acc);
    row32 *z = aligned_alloc(64, CHUNK * sizeof *z), scale;
    row c[3], unit, total;
    LANE_LOOP {
        unit[l] = shared ? -alpha[l] * sigma : 1.0;
        scale[l] = (float)(-alpha[l] * sigma);
        total[l] = 0.0;
        c[2][l] = gamma[l] / (1 + gamma[l]);
    }
    for (int i = 0; i < d; i++) {
        LANE_LOOP x[i][0][l] = x[i][1][l] = start[i] / unit[l];
        if (!shared)
            for (int l = 0; l < LANES; l++) {
                uint32_t counter[4] = {(uint32_t)(pixel + l), (pixel + l) >> 32, i, 0}, state[4];
                philox(counter, seed, state);
                for (int w = 0; w < 4; w++) s[i][w][l] = state[w];
            }
    }
    for (int first = 0; first < steps; first += CHUNK) {
        memset(acc, 0, CHUNK * sizeof *acc);
        for (int i = 0; i < d; i++) {
            LANE_LOOP {
                double h = alpha[l] * lam[i];
                c[0][l] = beta[l] - h * gamma[l] + (1 - h);
                c[1][l] = h * gamma[l] - beta[l];
            }
            if (shared) update_shared(x[i], c, shared + (size_t)i * steps + first, acc);
            else {
                draw(s[i], z, scale);
                update(x[i], c, z, acc);
            }
        }
        for (int j = 0; j < CHUNK && first + j < steps; j++) LANE_LOOP total[l] += acc[j][l];
    }
    LANE_LOOP {
        double factor = (1 + gamma[l]) * unit[l];
        mean_square[l] = total[l] * factor * factor / steps;
    }
    free(x), free(s), free(acc), free(z);
}

/* Mean of ||y_k - x*||^2 over the steps for each pixel; pixels and steps in whole blocks and chunks.
 * shared is NULL for independent noise, else an array [d][steps]. */
void quadratic_sweep(int d, const double *lam, const double *start, int pixels, const double *alpha,
                     const double *beta, const double *gamma, uint64_t seed, double sigma, int steps,
                     const double *shared, double *mean_square) {
#pragma omp parallel for schedule(dynamic)
    for (int p = 0; p < pixels; p += LANES)
        block(d, lam, start, alpha + p, beta + p, gamma + p, p, seed, sigma, steps, shared,
              mean_square + p);
}
