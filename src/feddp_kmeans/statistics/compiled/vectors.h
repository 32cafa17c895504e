/* Vectors of the instructions that the file is compiled for (LEVEL), their sums and products, and which numbers are larger. */

#pragma once

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if LEVEL > 1
#include <immintrin.h>
#endif

#define JOINED(name, level) name##_##level
#define NAMED(name, level) JOINED(name, level)
#define EXPORTED(name) __attribute__((visibility("default"))) NAMED(name, LEVEL)

#if LEVEL == 4
#define LANES 16
#elif LEVEL == 3
#define LANES 8
#else
#define LANES 4
#endif
#define ROWS 8 /* rows of points that are scored together: as many sums run side by side as the processor can keep busy */
#define SIMD(clauses) _Pragma(#clauses)

typedef int64_t whole;
typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t places __attribute__((vector_size(4 * LANES)));
#define PART (LANES / 2) /* doubles in a vector */
typedef double doubles __attribute__((vector_size(8 * PART)));
typedef whole wholes __attribute__((vector_size(8 * PART)));
typedef double double_part __attribute__((vector_size(8 * PART)));
typedef float float_part __attribute__((vector_size(4 * PART)));

static inline doubles double_to_double(doubles part) { return part; }
#if LEVEL == 4 /* a compiler may do this in three steps */
static inline doubles float_to_double(float_part part) { return (doubles)_mm512_cvtps_pd((__m256)part); }
static inline float_part double_to_float(doubles part) { return (float_part)_mm512_cvtpd_ps((__m512d)part); }
#else
static inline doubles float_to_double(float_part part) { return __builtin_convertvector(part, doubles); }
static inline float_part double_to_float(doubles part) { return __builtin_convertvector(part, float_part); }
#endif

/* Memory that starts at a whole vector. */
static void *vectors(whole numbers) { return aligned_alloc(64, ((size_t)numbers * sizeof(float) + 63) / 64 * 64); }

static inline double added(doubles parts) {
    double numbers[PART];
    memcpy(numbers, &parts, sizeof numbers);
    for (int kept = PART / 2; kept; kept /= 2)
        for (int l = 0; l < kept; ++l) numbers[l] += numbers[l + kept];
    return numbers[0];
}

/* The product of two rows, the second of doubles. */
#define PRODUCT(given)                                                                     \
    static inline double product_##given(const given *row, const double *other, whole d) { \
        doubles products = {0};                                                            \
        whole j = 0;                                                                       \
        for (; j + PART <= d; j += PART) {                                                 \
            given##_part numbers;                                                          \
            doubles others;                                                                \
            memcpy(&numbers, row + j, sizeof numbers);                                     \
            memcpy(&others, other + j, sizeof others);                                     \
            products += given##_to_double(numbers) * others;                               \
        }                                                                                  \
        double product = added(products);                                                  \
        for (; j < d; ++j) product += (double)row[j] * other[j];                           \
        return product;                                                                    \
    }

PRODUCT(float)
PRODUCT(double)

/* The squared distance of two rows. */
static inline double distance(const float *row, const double *other, whole d) {
    doubles squares = {0};
    whole j = 0;
    for (; j + PART <= d; j += PART) {
        float_part numbers;
        doubles others;
        memcpy(&numbers, row + j, sizeof numbers);
        memcpy(&others, other + j, sizeof others);
        const doubles apart = float_to_double(numbers) - others;
        squares += apart * apart;
    }
    double square = added(squares);
    for (; j < d; ++j) square += ((double)row[j] - other[j]) * ((double)row[j] - other[j]);
    return square;
}

/* Of each lane: the larger number, the smaller one, and one of two whole numbers by which of a and b is larger. */
#if LEVEL == 4
static inline lanes larger(lanes a, lanes b) { return (lanes)_mm512_max_ps((__m512)a, (__m512)b); }
static inline lanes smaller(lanes a, lanes b) { return (lanes)_mm512_min_ps((__m512)a, (__m512)b); }
static inline places chosen(lanes a, lanes b, places if_a, places if_b) {
    return (places)_mm512_mask_mov_epi32((__m512i)if_b, _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ), (__m512i)if_a);
}
#elif LEVEL == 3
static inline lanes larger(lanes a, lanes b) { return (lanes)_mm256_max_ps((__m256)a, (__m256)b); }
static inline lanes smaller(lanes a, lanes b) { return (lanes)_mm256_min_ps((__m256)a, (__m256)b); }
static inline places chosen(lanes a, lanes b, places if_a, places if_b) {
    return (places)_mm256_blendv_ps((__m256)if_b, (__m256)if_a, _mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GT_OQ));
}
#else
static inline places chosen(lanes a, lanes b, places if_a, places if_b) { return ((a > b) & if_a) | (~(a > b) & if_b); }
static inline lanes larger(lanes a, lanes b) { return (lanes)chosen(a, b, (places)a, (places)b); }
static inline lanes smaller(lanes a, lanes b) { return (lanes)chosen(a, b, (places)b, (places)a); }
#endif
