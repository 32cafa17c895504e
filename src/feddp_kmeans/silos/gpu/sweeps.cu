// A look at float32 points in one sweep; sweeps.py says why it is exact, and gives D, WARPS, STAGES, SQUARES, SUMS, PARTS_HELD and STARTS_HELD.
//
// Every warp goes its own way. It takes 16 rows at a time, which stay in shared memory from their arrival to their last use, and the next 16
// are on their way meanwhile. It encodes them, in place, and scores them against 16 centers at once, as in lloyd.cu; then it finds each row's exact
// squared distance from its center, and its factor; and adds factor times residual to sums in shared memory, which all warps of a block
// share. These have 32 bits: a product is added in two parts, its last 16 bits and the rest.

constexpr int ROWS = 16 * WARPS;
constexpr int UNTIL_FLUSH = 65536 / ROWS;          // rounds whose parts fit 32 bits
constexpr bool KEPT = STEPS <= 4;                  // a row's parts stay in registers, for all centers
constexpr unsigned OFFSET = 0x64660080u;           // see encoded() in tiles.cu

struct Public {  // laid out alike in sweeps.py
    double scale, longest, bound, count_weight, count_square, square_weight, most, slack, slack_of_length, center[16 * STEPS];
};

struct Best {
    float best, second;
    int center;
};

__device__ double biased(float x, double center, double scale) {
    return __dadd_rn(__dmul_rn(__dsub_rn((double)x, center), scale), BIAS);
}

__device__ double with_square(double sum, double biased_z) {
    const double z = biased_z - BIAS;
    return fma(z, z, sum);
}

__device__ uint4 split(uint4 w) {
    return make_uint4(sixteen_high(w.x, w.y), sixteen_high(w.z, w.w), sixteenth_low(w.x, w.y), sixteenth_low(w.z, w.w));
}

__device__ long long square_of(int r) { return (long long)r * r; }

__device__ Best merged(Best mine, Best sent, int apart) {
    const float best = __shfl_xor_sync(ALL, sent.best, apart), second = __shfl_xor_sync(ALL, sent.second, apart);
    const int center = __shfl_xor_sync(ALL, sent.center, apart);
    return {fmaxf(mine.best, best), fmaxf(fminf(mine.best, best), fmaxf(mine.second, second)), best > mine.best ? center : mine.center};
}

// As in lloyd.cu: each exchange halves the rows that a lane looks after.
__device__ Best two_best(const Best (&two)[2][2], int lane) {
    const bool upper = lane & 16, right = lane & 8;
    const Best even = merged(upper ? two[1][0] : two[0][0], upper ? two[0][0] : two[1][0], 16);
    const Best odd = merged(upper ? two[1][1] : two[0][1], upper ? two[0][1] : two[1][1], 16);
    const Best mine = merged(right ? odd : even, right ? even : odd, 8);
    return merged(mine, mine, 4);
}

__device__ void rank(Best& of, float score, int center) {
    of.second = fmaxf(of.second, fminf(of.best, score));
    if (score > of.best) of.center = center;
    of.best = fmaxf(of.best, score);
}

__device__ double gathered(const double (&norms)[2], int labels, int lane) {
    const bool other = lane & 1;
    double norm = (other ? norms[1] : norms[0]) + __shfl_xor_sync(ALL, other ? norms[0] : norms[1], 1);
    norm += __shfl_xor_sync(ALL, norm, 2);
    return __shfl_sync(ALL, norm, labels % 4 * 8 + labels / 4 % 2 * 4 + labels / 8);
}

// The nearest center of an encoded row in exact arithmetic, found by a whole warp; the first where several tie.
__device__ __noinline__ int nearest(const unsigned* row, const double* targets, const double* offsets, int k, int lane) {
    int best = -1;
    double most = 0;
    for (int center = lane; center < k; center += 32) {
        double score = 0;
        for (int i = 0; i < D; i++) score += (double)(int)(row[i] - OFFSET) * targets[(long long)i * k + center];
        score = 2 * score - offsets[center];
        if (best < 0 || score > most) { most = score; best = center; }
    }
    for (int apart = 16; apart; apart /= 2) {
        const double other = __shfl_xor_sync(ALL, most, apart);
        const int its = __shfl_xor_sync(ALL, best, apart);
        if (its >= 0 && (best < 0 || other > most || (other == most && its < best))) { most = other; best = its; }
    }
    return best;
}

// A row's factor, and its weighted square and count, from its squared residual: each operation as it is written, none fused.
__device__ OfRow of_row(int label, double square, const Public* given) {
    const double weighted = __dmul_rn(square, given->square_weight);
    const double length = __dsqrt_rn(__dadd_rn(__dadd_rn(square, __dmul_rn(weighted, weighted)), given->count_square));
    const double factor = floor(__ddiv_rn(given->most, fmax(given->bound, length)));
    return {label, (int)factor, {(int)__dmul_rn(factor, weighted), (int)__dmul_rn(factor, given->count_weight)}};
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, 1)
look(const float* __restrict__ points, long long n, long long k_, long long groups_, const Public* __restrict__ given,
     const uint4* __restrict__ parts, const float* __restrict__ halves, const int* __restrict__ starts_, const double* __restrict__ targets,
     const double* __restrict__ offsets, unsigned long long* totals, int* labels_out, double* squares_out, unsigned char* left) {
    extern __shared__ __align__(128) char memory[];
    const int k = (int)k_, groups = (int)groups_, lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, t = lane % 4;
    double* middle = (double*)memory;
    char* slabs = memory + 128 * STEPS + warp * STAGES * 16 * STRIDE;
    OfRow* of_rows = (OfRow*)(memory + 128 * STEPS + WARPS * STAGES * 16 * STRIDE) + 16 * warp;
    uint4* held_parts = (uint4*)(memory + 128 * STEPS + WARPS * 16 * (STAGES * STRIDE + sizeof(OfRow)));
    int* held_starts = (int*)(held_parts + (PARTS_HELD ? groups * STEPS * 64 : 0));
    unsigned* low_sums = (unsigned*)(held_starts + (STARTS_HELD ? k * START : 0));
    int* high_sums = (int*)low_sums + k * WIDE;
    for (int i = threadIdx.x; PARTS_HELD && i < groups * STEPS * 64; i += 32 * WARPS) held_parts[i] = parts[i];
    for (int i = threadIdx.x; i < 16 * STEPS; i += 32 * WARPS) middle[i] = given->center[i];
    for (int i = threadIdx.x; STARTS_HELD && i < k * START; i += 32 * WARPS) held_starts[i] = starts_[i];
    for (int i = threadIdx.x; SUMS && i < 2 * k * WIDE; i += 32 * WARPS) low_sums[i] = 0;
    const uint4* operands = PARTS_HELD ? held_parts : parts;
    const int* starts = STARTS_HELD ? held_starts : starts_;

    const int encodes = group / 2 + group % 2 * 4;  // and eight more, as in lloyd.cu
    const int labels = t + lane / 8 * 4;            // the row whose label this lane finds, one lane of two
    const double scale = given->scale, longest = given->longest;
    const float slack = (float)given->slack, slack_of_length = (float)given->slack_of_length;
    const long long units = (n + 15) / 16, step = (long long)gridDim.x * WARPS, rounds = (units + step - 1) / step;
    const long long own = (long long)blockIdx.x * WARPS + warp;
    #pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        fetch(slabs + s * 16 * STRIDE, points, 16 * (own + s * step), n, lane);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    __syncthreads();

    int stage = 0, since_flush = 0;
    for (long long round = 0; round < rounds; round++) {
        const long long first = 16 * (own + round * step);
        const int ahead = stage == 0 ? STAGES - 1 : stage - 1;
        fetch(slabs + ahead * 16 * STRIDE, points, first + 16 * (STAGES - 1) * step, n, lane);
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 1) : "memory");
        __syncwarp();
        char* slab = slabs + stage * 16 * STRIDE;
        if (first < n) {
            double norms[2] = {0, 0};
            uint4 kept[KEPT ? STEPS : 1][2];
            float most[2][4] = {}, rest[2][4] = {};
            #pragma unroll
            for (int s = 0; s < STEPS; s++) {
                const int chunk = 4 * s + t;
                const double2 c01 = *(const double2*)(middle + 4 * chunk), c23 = *(const double2*)(middle + 4 * chunk + 2);
                const uint4 large = operands[64 * s + lane], small = operands[64 * s + 32 + lane];
                #pragma unroll
                for (int h = 0; h < 2; h++) {
                    const float4 x = four(slab, encodes + 8 * h, t, s);
                    const double v0 = biased(x.x, c01.x, scale), v1 = biased(x.y, c01.y, scale);
                    const double v2 = biased(x.z, c23.x, scale), v3 = biased(x.w, c23.y, scale);
                    norms[h] = with_square(with_square(with_square(with_square(norms[h], v0), v1), v2), v3);
                    const uint4 word = make_uint4(__double2loint(v0), __double2loint(v1), __double2loint(v2), __double2loint(v3));
                    if (4 * s + 3 < CHUNKS || chunk < CHUNKS) *(uint4*)(slab + (encodes + 8 * h) * STRIDE + 16 * chunk) = word;
                    const uint4 z = split(word);
                    if (KEPT) kept[s][h] = z;
                    multiply(most[h], large, z.x, z.y);
                    multiply(rest[h], small, z.x, z.y);
                    multiply(rest[h], large, z.z, z.w);
                }
            }
            Best two[2][2];
            for (int i = 0; i < 4; i++) two[i / 2][i % 2] = {-3e38f, -3e38f, 0};
            for (int g = 0;;) {
                const float half_a = halves[16 * g + group], half_b = halves[16 * g + group + 8];
                #pragma unroll
                for (int i = 0; i < 4; i++) {
                    const int h = i / 2, j = i % 2;
                    rank(two[h][j], most[h][j] + rest[h][j] - half_a, 16 * g + group);
                    rank(two[h][j], most[h][2 + j] + rest[h][2 + j] - half_b, 16 * g + group + 8);
                }
                if (++g == groups) break;
                #pragma unroll
                for (int i = 0; i < 8; i++) most[i / 4][i % 4] = rest[i / 4][i % 4] = 0;
                #pragma unroll
                for (int s = 0; s < STEPS; s++) {
                    const uint4 large = operands[(g * STEPS + s) * 64 + lane], small = operands[(g * STEPS + s) * 64 + 32 + lane];
                    #pragma unroll
                    for (int h = 0; h < 2; h++) {
                        uint4 z = make_uint4(0, 0, 0, 0);
                        if (KEPT) z = kept[KEPT ? s : 0][h];
                        else if (4 * s + 3 < CHUNKS || 4 * s + t < CHUNKS)
                            z = split(*(const uint4*)(slab + (encodes + 8 * h) * STRIDE + 16 * (4 * s + t)));
                        multiply(most[h], large, z.x, z.y);
                        multiply(rest[h], small, z.x, z.y);
                        multiply(rest[h], large, z.z, z.w);
                    }
                }
            }
            const Best mine = two_best(two, lane);
            const double norm = gathered(norms, labels, lane);
            const bool there = first + labels < n, counts = there && norm <= longest;
            const bool close = !(mine.best - mine.second > fmaf(slack_of_length, sqrtf((float)norm), slack));
            int label = mine.center;
            __syncwarp();
            for (unsigned todo = __ballot_sync(ALL, close && counts && !(lane & 4)); todo; todo &= todo - 1) {
                const int its = __ffs(todo) - 1, at = its % 4 + its / 8 * 4;
                const int found = nearest((const unsigned*)(slab + at * STRIDE), targets, offsets, k, lane);
                if (labels == at) label = found;
            }
            if (!(lane & 4)) of_rows[labels].label = counts ? label : -1;
            if (!(lane & 4) && there && !counts) left[first + labels] = 1;
            if (!SQUARES && !(lane & 4) && there) labels_out[first + labels] = counts ? label : k;
            __syncwarp();

            if (SQUARES) {
                long long squares[2] = {0, 0};
                #pragma unroll
                for (int h = 0; h < 2; h++) {
                    const int its = of_rows[encodes + 8 * h].label;
                    const int* start = starts + (its < 0 ? 0 : its) * START;
                    #pragma unroll
                    for (int s = 0; s < STEPS; s++) {
                        const int chunk = 4 * s + t;
                        if (4 * s + 3 < CHUNKS || chunk < CHUNKS) {
                            const uint4 z = *(const uint4*)(slab + (encodes + 8 * h) * STRIDE + 16 * chunk);
                            const int4 from = *(const int4*)(start + 4 * chunk);
                            squares[h] += square_of(z.x - from.x) + square_of(z.y - from.y) + square_of(z.z - from.z) + square_of(z.w - from.w);
                        }
                    }
                    squares[h] += __shfl_xor_sync(ALL, squares[h], 1);
                    squares[h] += __shfl_xor_sync(ALL, squares[h], 2);
                }
                const int at = encodes + 8 * (t & 1);
                const double square = (double)((t & 1) ? squares[1] : squares[0]);
                const int its = of_rows[at].label;
                if (!SUMS && t < 2 && first + at < n) {
                    labels_out[first + at] = its < 0 ? k : its;
                    squares_out[first + at] = square;
                }
                if (SUMS) {
                    __syncwarp();
                    if (t < 2) of_rows[at] = of_row(its, square, given);
                    __syncwarp();
                    if (LANES == 32) add_by_label(slab, of_rows, starts, low_sums, high_sums, lane);
                    else add_rows(slab, of_rows, starts, low_sums, high_sums, lane);
                }
            }
            __syncwarp();
        }
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        if (SUMS && (++since_flush == UNTIL_FLUSH || round + 1 == rounds)) {
            since_flush = 0;
            __syncthreads();
            for (int i = threadIdx.x; i < k * WIDE; i += 32 * WARPS) {
                const long long sum = ((long long)high_sums[i] << 16) + (long long)low_sums[i];
                if (sum) atomicAdd(totals + i, (unsigned long long)sum);
                low_sums[i] = 0;
                high_sums[i] = 0;
            }
            __syncthreads();
        }
    }
}
