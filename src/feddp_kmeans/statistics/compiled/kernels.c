/* Encoding, the nearest center, and products and sums by label, in exact whole numbers: the compiled form of what numpy does in this folder,
   to the last bit. kernels.py loads it; it is optional.

   The file is compiled once for every set of instructions that a processor may have (LEVEL: 1 any, 3 AVX2 with FMA, 4 AVX-512), and each
   function's name ends in its level. Sums are exact in any order, with and without fused products, as they are whole numbers below 2**53;
   float32 scores only have an error bound (nearest.py), which holds in any order, too. What rounds is encoding, one operation at a time:
   none of them can be fused with the next. */

#include "encoding.h"
#include "ranking.h"

#define FLUSHED 256 /* rows whose coordinates, at most 2**16 each, add up to at most 2**24 */

/* What these functions are given: points and the ball that they are encoded in; whole targets, their squares and the error of a score. */
#define POINTS                                                                                                                    \
    const void *points, whole is_single, whole n, whole d, const double *center, double scale, double largest, double resolution, \
        whole bits
#define POINTS_GIVEN points, is_single, n, d, center, scale, largest, resolution, bits
#define TARGETS const double *exact, const double *squares, whole k, double error
#define TARGETS_GIVEN exact, squares, k, error

int EXPORTED(encode)(POINTS, double *encoded) {
    const ball_t ball = ball_of(center, d, scale, largest, resolution, bits);
    double *values = malloc((size_t)d * sizeof(double));
    if (!values) return 1;
    for (whole i = 0; i < n; ++i) {
        if (is_single) encode_float_to_double((const float *)points + i * d, &ball, values, encoded + i * d);
        else encode_double_to_double((const double *)points + i * d, &ball, values, encoded + i * d);
    }
    free(values);
    return 0;
}

/* Write the whole numbers of ROWS rows; rows that are not there are zero. */
static void fill(float *tile, const void *points, whole is_single, whole first, whole rows, const ball_t *ball, double *values) {
    const whole d = ball->d;
    for (whole r = 0; r < rows; ++r) {
        if (is_single) encode_float_to_float((const float *)points + (first + r) * d, ball, values, tile + r * d);
        else encode_double_to_float((const double *)points + (first + r) * d, ball, values, tile + r * d);
    }
    if (rows < ROWS) memset(tile + rows * d, 0, (size_t)((ROWS - rows) * d) * sizeof(float));
}

static inline void add(double *sum, const double *row, double weight, whole d) {
    SIMD(omp simd)
    for (whole j = 0; j < d; ++j) sum[j] += weight * row[j];
}

int EXPORTED(nearest)(const double *points, whole n, const double *exact, const double *squares, whole k, whole d, double error,
                      whole *labels) {
    targets_t targets;
    float *tile = vectors(ROWS * d);
    const int failed = arrange(&targets, exact, squares, k, d) || !tile;
    for (whole i = 0; !failed && i < n; i += ROWS) {
        const whole rows = n - i < ROWS ? n - i : ROWS;
        const double *some = points + i * d;
        double largest = 0.0;
        whole found[ROWS];
        for (whole r = 0; r < ROWS; ++r) {
            if (r >= rows) {
                memset(tile + r * d, 0, (size_t)d * sizeof(float));
                continue;
            }
            SIMD(omp simd)
            for (whole j = 0; j < d; ++j) tile[r * d + j] = (float)some[r * d + j];
            largest = fmax(largest, product_double(some + r * d, some + r * d, d));
        }
        rank(tile, &targets, slack(&targets, error, sqrt(largest)), found);
        for (whole r = 0; r < rows; ++r) labels[i + r] = found[r] >= 0 ? found[r] : decided_double(some + r * d, &targets);
    }
    release(&targets);
    free(tile);
    return failed;
}

typedef struct { /* a sweep over points that are encoded as they are read, a tile of ROWS of them at a time */
    const void *points;
    whole is_single, n;
    ball_t ball;
    targets_t targets;
    double ahead, *values;
    float *tile;
    int failed;
} sweep_t;

static sweep_t begun(POINTS, TARGETS) {
    sweep_t sweep = {.points = points, .is_single = is_single, .n = n};
    sweep.ball = ball_of(center, d, scale, largest, resolution, bits);
    sweep.tile = vectors(ROWS * d);
    sweep.values = malloc((size_t)d * sizeof(double));
    sweep.failed = arrange(&sweep.targets, exact, squares, k, d) || !sweep.tile || !sweep.values;
    sweep.ahead = slack(&sweep.targets, error, resolution);
    return sweep;
}

/* Write the whole numbers of the next rows to the tile, and which target each is nearest to; return how many rows there are. */
static inline whole next(sweep_t *sweep, whole first, whole *labels) {
    const whole left = sweep->n - first, rows = left < ROWS ? left : ROWS;
    fill(sweep->tile, sweep->points, sweep->is_single, first, rows, &sweep->ball, sweep->values);
    rank(sweep->tile, &sweep->targets, sweep->ahead, labels);
    for (whole r = 0; r < rows; ++r)
        if (labels[r] < 0) labels[r] = decided_float(sweep->tile + r * sweep->ball.d, &sweep->targets);
    return rows;
}

static void ended(sweep_t *sweep) {
    release(&sweep->targets);
    free(sweep->values);
    free(sweep->tile);
}

int EXPORTED(labelled)(POINTS, TARGETS, whole *labels, double *distances) {
    sweep_t sweep = begun(POINTS_GIVEN, TARGETS_GIVEN);
    for (whole i = 0; !sweep.failed && i < n; i += ROWS) {
        whole found[ROWS];
        const whole rows = next(&sweep, i, found);
        for (whole r = 0; r < rows; ++r) {
            labels[i + r] = found[r];
            distances[i + r] = distance(sweep.tile + r * d, exact + found[r] * d, d);
        }
    }
    ended(&sweep);
    return sweep.failed;
}

int EXPORTED(encoded_sums)(POINTS, const double *weights, const whole *labels, double *sums) {
    const ball_t ball = ball_of(center, d, scale, largest, resolution, bits);
    double *values = malloc((size_t)d * sizeof(double)), *row = malloc((size_t)d * sizeof(double));
    const int failed = !values || !row;
    for (whole i = 0; !failed && i < n; ++i) {
        if (is_single) encode_float_to_double((const float *)points + i * d, &ball, values, row);
        else encode_double_to_double((const double *)points + i * d, &ball, values, row);
        add(sums + labels[i] * d, row, weights[i], d);
    }
    free(row);
    free(values);
    return failed;
}

int EXPORTED(nearest_sums)(POINTS, TARGETS, double *sums) {
    const whole numbers = k * d;
    sweep_t sweep = begun(POINTS_GIVEN, TARGETS_GIVEN);
    float *part = vectors(numbers); /* sums of up to FLUSHED rows, exact in float32 */
    const int failed = sweep.failed || !part;
    for (whole i = 0; !failed && i < n; i += ROWS) {
        whole found[ROWS];
        const whole rows = next(&sweep, i, found);
        if (i % FLUSHED == 0) memset(part, 0, (size_t)numbers * sizeof(float));
        for (whole r = 0; r < rows; ++r) {
            const float *row = sweep.tile + r * d;
            float *sum = part + found[r] * d;
            SIMD(omp simd)
            for (whole j = 0; j < d; ++j) sum[j] += row[j];
        }
        if ((i + ROWS) % FLUSHED == 0 || i + ROWS >= n)
            for (whole x = 0; x < numbers; ++x) sums[x] += part[x];
    }
    ended(&sweep);
    free(part);
    return failed;
}

typedef struct { /* how a point's residual, square and count become whole numbers: see POINT_RESIDUALS in residual_sums.py */
    double most, bound, count_weight, square_weight;
} weights_t;

/* The factor of a point this far from its target, and its weighted square; each operation rounds as it does in numpy, none is fused. */
static inline double factor_of(double square, const weights_t *weights, double *weighted) {
    double own = square * weights->square_weight, count = weights->count_weight * weights->count_weight;
    APART(own);
    APART(count);
    double both = own * own;
    APART(both);
    *weighted = own;
    return floor(weights->most / fmax(weights->bound, sqrt((square + both) + count)));
}

static inline void add_float(double *sum, const float *row, double factor, whole d) {
    SIMD(omp simd)
    for (whole j = 0; j < d; ++j) sum[j] += factor * (double)row[j];
}

/* Add up factor times coordinate of the points nearest to each target, and of each three numbers: factor, and factor times weighted square
   and count, cut to whole numbers. Products of a factor are at most 2**16 of the largest one, so 2**52 over that can be added exactly. */
int EXPORTED(residual_sums)(POINTS, TARGETS, double most, double bound, double count_weight, double square_weight, whole *sums,
                            whole *numbers) {
    const weights_t weights = {most, bound, count_weight, square_weight};
    const whole at_once = (whole)fmax(ROWS, 0x1p36 / fmax(most / bound, 1.0)) / ROWS * ROWS;
    sweep_t sweep = begun(POINTS_GIVEN, TARGETS_GIVEN);
    double *part = malloc((size_t)(k * d) * sizeof(double));
    const int failed = sweep.failed || !part;
    for (whole i = 0; !failed && i < n; i += ROWS) {
        whole found[ROWS];
        const whole rows = next(&sweep, i, found);
        if (i % at_once == 0) memset(part, 0, (size_t)(k * d) * sizeof(double));
        for (whole r = 0; r < rows; ++r) {
            const float *row = sweep.tile + r * d;
            double weighted;
            const double factor = factor_of(distance(row, exact + found[r] * d, d), &weights, &weighted);
            whole *added = numbers + 3 * found[r];
            added[0] += (whole)factor;
            added[1] += (whole)(factor * weighted);
            added[2] += (whole)(factor * count_weight);
            add_float(part + found[r] * d, row, factor, d);
        }
        if ((i + ROWS) % at_once == 0 || i + ROWS >= n)
            for (whole x = 0; x < k * d; ++x) sums[x] += (whole)part[x];
    }
    ended(&sweep);
    free(part);
    return failed;
}

int EXPORTED(weighted_sums)(const double *rows, whole n, whole d, const double *weights, const whole *labels, double *sums) {
    for (whole i = 0; i < n; ++i) add(sums + labels[i] * d, rows + i * d, weights[i], d);
    return 0;
}

int EXPORTED(products_with)(const double *rows, whole n, whole d, const double *others, const whole *labels, double *products) {
    for (whole i = 0; i < n; ++i) products[i] = product_double(rows + i * d, others + labels[i] * d, d);
    return 0;
}

/* Copy a row, and return zero if it is finite: only then all its numbers times zero are. */
#define ROW_COPY(given)                                                            \
    static inline given row_copy_##given(const given *row, whole d, given *copy) { \
        given##_part zeros = {0};                                                  \
        whole j = 0;                                                               \
        for (; j + PART <= d; j += PART) {                                         \
            given##_part numbers;                                                  \
            memcpy(&numbers, row + j, sizeof numbers);                             \
            memcpy(copy + j, &numbers, sizeof numbers);                            \
            zeros += numbers * (given)0;                                           \
        }                                                                          \
        given zero = 0;                                                            \
        for (int l = 0; l < PART; ++l) zero += zeros[l];                           \
        for (; j < d; ++j) {                                                       \
            copy[j] = row[j];                                                      \
            zero += row[j] * (given)0;                                             \
        }                                                                          \
        return zero;                                                               \
    }

/* Copy the rows that are finite, and say where each client's start. A row that is not is overwritten by the next: no time depends on it. */
#define FINITE_COPY(given)                                                                                                          \
    ROW_COPY(given)                                                                                                                 \
    static void finite_copy_##given(const given *rows, whole d, const whole *starts, whole clients, given *copied, whole *places) { \
        whole there = 0;                                                                                                            \
        for (whole c = 0; c < clients; ++c) {                                                                                       \
            places[c] = there;                                                                                                      \
            for (whole i = starts[c]; i < starts[c + 1]; ++i) there += row_copy_##given(rows + i * d, d, copied + there * d) == 0;  \
        }                                                                                                                           \
        places[clients] = there;                                                                                                    \
    }

FINITE_COPY(float)
FINITE_COPY(double)

int EXPORTED(finite_copy)(const void *rows, whole is_single, whole d, const whole *starts, whole clients, void *copied, whole *places) {
    if (is_single) finite_copy_float(rows, d, starts, clients, copied, places);
    else finite_copy_double(rows, d, starts, clients, copied, places);
    return 0;
}

/* How many edges of its own column lie below each value. It takes as long for any values. */
static inline void find_classes(const double *values, whole s, const double *edges, whole e, whole *classes) {
    for (whole j = 0; j < s; ++j) classes[j] = j * e;
    for (whole left = e; left > 1; left -= left / 2) {
        const whole half = left / 2;
        SIMD(omp simd)
        for (whole j = 0; j < s; ++j) classes[j] += edges[classes[j] + half - 1] < values[j] ? half : 0;
    }
    SIMD(omp simd)
    for (whole j = 0; j < s; ++j) classes[j] += (edges[classes[j]] < values[j] ? 1 : 0) - j * e;
}

/* Add up how the cells of each client share one count of so many steps in each of some columns. A cell that is missing is in a class of
   its own, after the others. */
int EXPORTED(column_shares)(const void *rows, whole is_single, whole d, const whole *starts, whole clients, const whole *columns, whole s,
                            const double *edges, whole e, whole steps, whole *shares) {
    const whole width = e + 2;
    whole *counts = calloc((size_t)(s * width), sizeof(whole)), *classes = malloc((size_t)s * sizeof(whole));
    double *values = malloc((size_t)s * sizeof(double));
    const int failed = !counts || !classes || !values;
    for (whole c = 0; !failed && c < clients; ++c) {
        const whole size = starts[c + 1] - starts[c], unit = size == 1 ? steps : 1;
        whole *sums = size == 1 ? shares : counts;
        for (whole i = starts[c]; i < starts[c + 1]; ++i) {
            if (is_single) for (whole j = 0; j < s; ++j) values[j] = ((const float *)rows)[i * d + columns[j]];
            else for (whole j = 0; j < s; ++j) values[j] = ((const double *)rows)[i * d + columns[j]];
            find_classes(values, s, edges, e, classes);
            for (whole j = 0; j < s; ++j) sums[j * width + (isfinite(values[j]) ? classes[j] : e + 1)] += unit;
        }
        for (whole j = 0; size > 1 && j < s; ++j) {
            whole *own = counts + j * width;
            const whole there = size - own[e + 1];
            for (whole i = 0; i < width; ++i) {
                if (own[i] && i <= e) shares[j * width + i] += own[i] * steps / there;
                own[i] = 0;
            }
        }
    }
    free(values);
    free(classes);
    free(counts);
    return failed;
}

#if LEVEL == 1
/* A digest of the sources. */
__attribute__((visibility("default"))) const char *built_from(void) { return BUILT_FROM; }

/* The best level of the processor that this runs on. */
__attribute__((visibility("default"))) int best_level(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const int wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (wide && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return 4;
    return wide ? 3 : 1;
#else
    return 1;
#endif
}
#endif
