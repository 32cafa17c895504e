/* The nearest target of rows: by float32 scores where these prove it, else exactly; see nearest.py. */

#include "vectors.h"

typedef struct {
    const double *exact, *squares; /* k targets of d coordinates, and their squared lengths */
    float *coarse, *halves;        /* the same in groups of LANES, coordinate by coordinate, and half of the squares */
    double longest;                /* the length of the longest */
    whole k, d;
} targets_t;

/* Arrange targets in groups; places that are left over in the last one are no point's nearest. */
static int arrange(targets_t *targets, const double *exact, const double *squares, whole k, whole d) {
    const whole groups = (k + LANES - 1) / LANES;
    *targets = (targets_t){exact, squares, vectors(groups * d * LANES), vectors(groups * LANES), 0.0, k, d};
    if (!targets->coarse || !targets->halves) return 1;
    for (whole r = 0; r < groups * LANES; ++r) {
        float *column = targets->coarse + r / LANES * d * LANES + r % LANES;
        for (whole j = 0; j < d; ++j) column[j * LANES] = r < k ? (float)exact[r * d + j] : 0.0f;
        targets->halves[r] = r < k ? (float)(squares[r] / 2) : INFINITY;
        if (r < k) targets->longest = fmax(targets->longest, sqrt(squares[r]));
    }
    return 0;
}

/* By how much the best score of points up to this long must be ahead: twice the bound on a score's error. */
static double slack(const targets_t *targets, double error, double longest_point) {
    return 2 * error * targets->longest * (longest_point + targets->longest / 2);
}

static void release(targets_t *targets) {
    free(targets->coarse);
    free(targets->halves);
}

/* The nearest target in exact arithmetic, the first of several. */
#define DECIDED(given)                                                                                 \
    static whole decided_##given(const given *point, const targets_t *targets) {                       \
        whole label = 0;                                                                               \
        double best = -INFINITY;                                                                       \
        for (whole r = 0; r < targets->k; ++r) {                                                       \
            const double *target = targets->exact + r * targets->d;                                    \
            const double score = 2 * product_##given(point, target, targets->d) - targets->squares[r]; \
            if (score > best) best = score, label = r;                                                 \
        }                                                                                              \
        return label;                                                                                  \
    }

DECIDED(float)
DECIDED(double)

typedef struct { /* of each lane and row, the best score so far, the second best, and the best one's target */
    float best[LANES * ROWS], second[LANES * ROWS];
    int32_t label[LANES * ROWS];
} ranking_t;

static const int32_t NUMBERS[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* Score ROWS rows against all targets in float32; the lanes of a row are not merged yet. */
static inline void score(const float *tile, const targets_t *targets, ranking_t *ranking) {
    const whole d = targets->d, groups = (targets->k + LANES - 1) / LANES;
    lanes best[ROWS], second[ROWS];
    places group_of_best[ROWS], label_of_best[ROWS], lane;
    memcpy(&lane, NUMBERS, sizeof lane);
    for (whole g = 0; g < groups; ++g) {
        const lanes *group = (const lanes *)(targets->coarse + g * d * LANES), half = *(const lanes *)(targets->halves + g * LANES);
        lanes scores[ROWS];
        for (int i = 0; i < ROWS; ++i) scores[i] = -half;
        for (whole j = 0; j < d; ++j) {
            const lanes target = group[j];
            for (int i = 0; i < ROWS; ++i) scores[i] += tile[i * d + j] * target;
        }
        for (int i = 0; i < ROWS; ++i) {
            second[i] = g ? larger(second[i], smaller(best[i], scores[i])) : (lanes){0} - INFINITY;
            group_of_best[i] = g ? chosen(scores[i], best[i], (places){0} + (int32_t)g, group_of_best[i]) : (places){0};
            best[i] = g ? larger(scores[i], best[i]) : scores[i];
        }
    }
    memcpy(ranking->best, best, sizeof best);
    memcpy(ranking->second, second, sizeof second);
    for (int i = 0; i < ROWS; ++i) label_of_best[i] = group_of_best[i] * LANES + lane;
    memcpy(ranking->label, label_of_best, sizeof label_of_best);
}

/* Halve the lanes of each row: of every two the best, and what comes next. */
#define HALVE(from, to, kept)                                                                                     \
    for (int i = 0; i < ROWS; ++i) {                                                                              \
        SIMD(omp simd)                                                                                            \
        for (int l = 0; l < kept; ++l) {                                                                          \
            const int place = 2 * kept * i + l;                                                                   \
            const float own = from.best[place], other = from.best[place + kept];                                  \
            const float own_next = from.second[place], other_next = from.second[place + kept];                    \
            const float lesser = own < other ? own : other, next = own_next > other_next ? own_next : other_next; \
            const int32_t own_label = from.label[place], other_label = from.label[place + kept];                  \
            to.label[kept * i + l] = other > own ? other_label : own_label;                                       \
            to.second[kept * i + l] = next > lesser ? next : lesser;                                              \
            to.best[kept * i + l] = own > other ? own : other;                                                    \
        }                                                                                                         \
    }

/* Write the nearest target of each of ROWS rows by float32 scores, -1 where another may be as near. */
static void rank(const float *tile, const targets_t *targets, double ahead, whole *labels) {
    ranking_t one, two;
    score(tile, targets, &one);
#if LANES == 16
    HALVE(one, two, 8)
    HALVE(two, one, 4)
    const ranking_t *last = &one;
#elif LANES == 8
    HALVE(one, two, 4)
    const ranking_t *last = &two;
#else
    const ranking_t *last = &one;
    (void)two;
#endif
    float best[ROWS], second[ROWS];
    int32_t nearest[ROWS];
    for (int i = 0; i < ROWS; ++i) {
        float most = -INFINITY, next = -INFINITY;
        int32_t label = 0;
        for (int l = 0; l < 4; ++l) {
            const float own = last->best[i * 4 + l], other = last->second[i * 4 + l], lesser = own < most ? own : most;
            label = own > most ? last->label[i * 4 + l] : label;
            next = next > other ? next : other;
            next = next > lesser ? next : lesser;
            most = own > most ? own : most;
        }
        best[i] = most, second[i] = next, nearest[i] = label;
    }
    for (int i = 0; i < ROWS; ++i) labels[i] = (double)second[i] < (double)best[i] - ahead ? nearest[i] : -1;
}
