/* Rows as whole numbers of a ball, to the last bit as fixed_point.py has them. */

#include "vectors.h"

#define AHEAD 4096 /* bytes: what is fetched this early has arrived when it is needed */
#define ROUNDER 6755399441055744.0
#if defined(__x86_64__)
#define APART(value) __asm__("" : "+x"(value))
#else
#define APART(value) __asm__("" : "+w"(value))
#endif

typedef struct { /* Ball, as fixed_point.py has it */
    const double *center;
    double scale, largest, resolution;
    whole d, bits;
    wholes last; /* ones where the last part of a row does not overlap with the one before it */
} ball_t;

static ball_t ball_of(const double *center, whole d, double scale, double largest, double resolution, whole bits) {
    ball_t ball = {center, scale, largest, resolution, d, bits, {0}};
    for (int l = 0; l < PART; ++l) ball.last[l] = -(d - PART + l >= d / PART * PART);
    return ball;
}

/* Cut a row that is longer than the ball, as _shortened of fixed_point.py does; values take d numbers. */
static void shorten(double *values, const ball_t *ball) {
    double longest = 0.0, square = 0.0, rounded_square = 0.0;
    for (whole j = 0; j < ball->d; ++j) {
        const double value = values[j], size = fabs(value);
        values[j] = size <= ball->largest ? value : copysign(ball->largest, value);
        if (size > longest) longest = size;
    }
    if (longest > ball->largest) longest = ball->largest;
    int exponent;
    frexp(longest, &exponent);
    const double step = ldexp(1.0, (int)ball->bits - exponent);
    for (whole j = 0; j < ball->d; ++j) {
        values[j] = rint(values[j] * step);
        square += values[j] * values[j];
    }
    const double factor = ball->resolution / sqrt(square);
    for (whole j = 0; j < ball->d; ++j) {
        const double rounded = rint(values[j] * factor);
        rounded_square += rounded * rounded;
    }
    const int beyond = rounded_square > ball->resolution * ball->resolution;
    for (whole j = 0; j < ball->d; ++j) values[j] = beyond ? trunc(values[j] * factor) : rint(values[j] * factor);
}

/* Write some of a row's whole numbers, and add up their squares where `counts` has ones. Adding and taking off 1.5 * 2**52 rounds to the
   nearest whole number; the sum must not be fused with the product before it. Numbers of 2**51 or more stay far beyond the ball. */
#define ENCODE_SOME(given, written)                                    \
    {                                                                  \
        given##_part numbers;                                          \
        doubles middle;                                                \
        memcpy(&numbers, row + j, sizeof numbers);                     \
        memcpy(&middle, ball->center + j, sizeof middle);              \
        doubles value = (given##_to_double(numbers) - middle) * scale; \
        APART(value);                                                  \
        value = (value + ROUNDER) - ROUNDER;                           \
        const written##_part result = double_to_##written(value);      \
        memcpy(encoded + j, &result, sizeof result);                   \
        value = (doubles)((wholes)value & counts);                     \
        squares += value * value;                                      \
    }

/* Write a row's whole numbers; `values` has room for d numbers. The last part of a row overlaps with the one before it. */
#define ENCODE_ROW(given, written)                                                                                             \
    static inline void encode_##given##_to_##written(const given *row, const ball_t *ball, double *values, written *encoded) { \
        const double scale = ball->scale;                                                                                      \
        const whole d = ball->d;                                                                                               \
        double square = 0.0;                                                                                                   \
        whole j = 0;                                                                                                           \
        if (d >= PART) {                                                                                                       \
            doubles squares = {0};                                                                                             \
            wholes counts = ~(wholes){0};                                                                                      \
            for (; j + PART <= d; j += PART) {                                                                                 \
                __builtin_prefetch((const char *)(row + j) + AHEAD);                                                           \
                ENCODE_SOME(given, written)                                                                                    \
            }                                                                                                                  \
            if (j < d) {                                                                                                       \
                counts = ball->last;                                                                                           \
                j = d - PART;                                                                                                  \
                ENCODE_SOME(given, written)                                                                                    \
            }                                                                                                                  \
            square = added(squares);                                                                                           \
        } else                                                                                                                 \
            for (; j < d; ++j) {                                                                                               \
                const double value = rint(((double)row[j] - ball->center[j]) * scale);                                         \
                encoded[j] = (written)value;                                                                                   \
                square += value * value;                                                                                       \
            }                                                                                                                  \
        if (!(square <= ball->resolution * ball->resolution)) {                                                                \
            for (j = 0; j < d; ++j) values[j] = (double)row[j] - ball->center[j];                                              \
            shorten(values, ball);                                                                                             \
            for (j = 0; j < d; ++j) encoded[j] = (written)values[j];                                                           \
        }                                                                                                                      \
    }

ENCODE_ROW(float, float)
ENCODE_ROW(double, float)
ENCODE_ROW(float, double)
ENCODE_ROW(double, double)
