// One Lloyd pass over float32 points in one sweep; lloyd.py says why it is exact, and gives D, WARPS, STAGES and BLOCKS.
//
// A block takes tiles of 16 rows a warp, which stay in shared memory from their arrival to their last use. A warp encodes and labels its
// own rows, in the layout of a matrix product's operand, and writes each four coordinates back in place: four high parts and four low ones,
// in the very 16 bytes they came in. Then every warp adds up a few columns of the whole tile by label, a product with a 0/1 matrix, while
// the next tile is on its way. In a warp of 32 lanes, t is a lane's number within its group of four.

constexpr int ROWS = 16 * WARPS;
constexpr int PAIRS = (CHUNKS + 1) / 2, OWN_PAIRS = (PAIRS + WARPS - 1) / WARPS;
constexpr int MARK = 48;                                    // bytes from row to row of the 0/1 matrix
constexpr int UNTIL_FLUSH = 65536 / ROWS;                   // tiles whose parts add up exactly in float32

struct Public {  // laid out alike in lloyd.py
    uint4 parts[STEPS][2][32];
    double scale, offsets[16], center[16 * STEPS], targets[16 * STEPS][16];
    float scale_f, largest, slack, slack_of_length, halves[16], shifts[16 * STEPS];
};

struct Shared {  // its size is computed in lloyd.py
    char tiles[STAGES][ROWS * STRIDE];
    char marks[2][ROWS * MARK];
    uint4 parts[STEPS][2][32];
    int counts[16];
};

struct Two {  // the best score, its center in the last four bits, and the second best
    float best, second;
};

__device__ uint4 turned(const char* shared) {
    uint4 v;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(address(shared)) : "memory");
    return v;
}

__device__ uint4 high_and_low(float4 x, const double (&center)[4], double scale) {
    const unsigned v0 = encoded(x.x, center[0], scale), v1 = encoded(x.y, center[1], scale);
    const unsigned v2 = encoded(x.z, center[2], scale), v3 = encoded(x.w, center[3], scale);
    return make_uint4(sixteen_high(v0, v1), sixteen_high(v2, v3), sixteenth_low(v0, v1), sixteenth_low(v2, v3));
}

__device__ float with_squares(float norm, float4 x, const float (&shift)[4], float scale) {
    const float a = fmaf(x.x, scale, -shift[0]), b = fmaf(x.y, scale, -shift[1]);
    const float c = fmaf(x.z, scale, -shift[2]), d = fmaf(x.w, scale, -shift[3]);
    return fmaf(a, a, fmaf(b, b, fmaf(c, c, fmaf(d, d, norm))));
}

// The nearest target of an encoded row in exact arithmetic, found by a whole warp; the first where several tie.
__device__ __noinline__ int nearest(const char* row, const Public* given, int lane) {
    int best = lane & 15;
    double score = 0;
    for (int i = lane >> 4; i < D; i += 2) {
        const unsigned short* z = (const unsigned short*)(row + 16 * (i / 4)) + i % 4;
        score += 16.0 * (double)(number(z[0]) + number(z[4])) * given->targets[i][best];
    }
    score += __shfl_xor_sync(ALL, score, 16);
    score = 2 * score - given->offsets[best];
    for (int apart = 8; apart; apart /= 2) {
        const double other = __shfl_xor_sync(ALL, score, apart);
        const int its = __shfl_xor_sync(ALL, best, apart);
        if (other > score || (other == score && its < best)) { score = other; best = its; }
    }
    return best;
}

__device__ Two ranked(float a, int a_index, float b, int b_index) {
    a = __int_as_float((__float_as_int(a) & ~15) | a_index);
    b = __int_as_float((__float_as_int(b) & ~15) | b_index);
    return {fmaxf(a, b), fminf(a, b)};
}

__device__ Two merged(Two mine, Two sent, int apart) {
    const float best = __shfl_xor_sync(ALL, sent.best, apart), second = __shfl_xor_sync(ALL, sent.second, apart);
    return {fmaxf(mine.best, best), fmaxf(fminf(mine.best, best), fmaxf(mine.second, second))};
}

// Of four rows' scores, spread over eight lanes, the two best of one row: each exchange halves the rows that a lane looks after.
__device__ Two two_best(const Two (&two)[2][2], int lane) {
    const bool upper = lane & 16, right = lane & 8;
    const Two even = merged(upper ? two[1][0] : two[0][0], upper ? two[0][0] : two[1][0], 16);
    const Two odd = merged(upper ? two[1][1] : two[0][1], upper ? two[0][1] : two[1][1], 16);
    const Two mine = merged(right ? odd : even, right ? even : odd, 8);
    return merged(mine, mine, 4);
}

// The squared length of the row that a lane labels, from its squares in the four lanes that encoded it.
__device__ float gathered(const float (&norms)[2], int labels, int lane) {
    const bool other = lane & 1;
    float norm = (other ? norms[1] : norms[0]) + __shfl_xor_sync(ALL, other ? norms[0] : norms[1], 1);
    norm += __shfl_xor_sync(ALL, norm, 2);
    return __shfl_sync(ALL, norm, labels % 4 * 8 + labels / 4 % 2 * 4 + labels / 8);
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
lloyd(const float* __restrict__ points, long long n, const Public* __restrict__ given, unsigned long long* sums, unsigned long long* counts,
      unsigned char* left) {
    extern __shared__ __align__(128) char memory[];
    Shared& shared = *(Shared*)memory;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, t = lane % 4;
    const int encodes = group / 2 + group % 2 * 4;  // and eight more: neighbours are four rows apart, in other banks
    const int labels = t + lane / 8 * 4;            // the row whose label this lane finds, one lane of two
    const int tiles = (int)((n + ROWS - 1) / ROWS), step = gridDim.x;

    for (int i = threadIdx.x; i < STEPS * 64; i += 32 * WARPS) (&shared.parts[0][0][0])[i] = (&given->parts[0][0][0])[i];
    if (threadIdx.x < 16) shared.counts[threadIdx.x] = 0;
    const double scale = given->scale;
    const float scale_f = given->scale_f, largest = given->largest, slack = given->slack, slack_of_length = given->slack_of_length;
    const float half_a = given->halves[group], half_b = given->halves[group + 8];
    float totals[OWN_PAIRS][2][4] = {};
    double center[STEPS][4];
    float shifts[STEPS][4];
    for (int s = 0; s < STEPS; s++) {
        for (int i = 0; i < 4; i++) {
            center[s][i] = given->center[16 * s + 4 * t + i];
            shifts[s][i] = given->shifts[16 * s + 4 * t + i];
        }
    }

    #pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        const int tile = blockIdx.x + s * step;
        if (tile < tiles) fetch(shared.tiles[s] + 16 * warp * STRIDE, points, (long long)tile * ROWS + 16 * warp, n, lane);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    __syncthreads();

    int stage = 0, since_flush = 0, odd = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += step) {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncwarp();
        char* slab = shared.tiles[stage] + 16 * warp * STRIDE;
        float norms[2] = {0, 0}, most[2][4] = {}, rest[2][4] = {};
        float4 x[2] = {four(slab, encodes, t, 0), four(slab, encodes + 8, t, 0)};
        #pragma unroll
        for (int s = 0; s < STEPS; s++) {
            const int chunk = 4 * s + t;
            float4 next[2];
            if (s + 1 < STEPS) { next[0] = four(slab, encodes, t, s + 1); next[1] = four(slab, encodes + 8, t, s + 1); }
            const uint4 large = shared.parts[s][0][lane], small = shared.parts[s][1][lane];
            uint4 z[2];
            #pragma unroll
            for (int h = 0; h < 2; h++) {
                norms[h] = with_squares(norms[h], x[h], shifts[s], scale_f);
                z[h] = high_and_low(x[h], center[s], scale);
                if (4 * s + 3 < CHUNKS || chunk < CHUNKS) *(uint4*)(slab + (encodes + 8 * h) * STRIDE + 16 * chunk) = z[h];
                x[h] = next[h];
            }
            #pragma unroll
            for (int h = 0; h < 2; h++) multiply(most[h], large, z[h].x, z[h].y);
            #pragma unroll
            for (int h = 0; h < 2; h++) multiply(rest[h], small, z[h].x, z[h].y);
            #pragma unroll
            for (int h = 0; h < 2; h++) multiply(rest[h], large, z[h].z, z[h].w);
        }

        Two two[2][2];
        #pragma unroll
        for (int h = 0; h < 2; h++) {
            #pragma unroll
            for (int i = 0; i < 2; i++)
                two[h][i] = ranked(most[h][i] + rest[h][i] - half_a, group, most[h][2 + i] + rest[h][2 + i] - half_b, group + 8);
        }
        const Two mine = two_best(two, lane);
        const float norm = gathered(norms, labels, lane);
        float length;
        asm("sqrt.approx.f32 %0, %1;" : "=f"(length) : "f"(norm));

        const int row = 16 * warp + labels;
        int label = __float_as_int(mine.best) & 15;
        const bool sure = norm < largest && (long long)tile * ROWS + row < n;
        const bool close = !(mine.best - mine.second > fmaf(slack_of_length, length, slack));
        __syncwarp();
        for (unsigned todo = __ballot_sync(ALL, (close || !sure) && !(lane & 4)); todo; todo &= todo - 1) {
            const int its = __ffs(todo) - 1, at = its % 4 + its / 8 * 4;
            if (__shfl_sync(ALL, sure, its)) {
                const int found = nearest(slab + at * STRIDE, given, lane);
                if (labels == at) label = found;
            } else {
                for (int c = lane; c < CHUNKS; c += 32) *(uint4*)(slab + at * STRIDE + 16 * c) = make_uint4(0, 0, 0, 0);
                if (lane == its && (long long)tile * ROWS + row < n) left[(long long)tile * ROWS + row] = 1;
            }
        }
        if (sure && !(lane & 4)) atomicAdd(&shared.counts[label], 1);
        const unsigned one = sure && label / 8 == (lane >> 2 & 1) ? (label & 1 ? 0x3c000000u : 0x3c00u) : 0;
        const int word = label >> 1 & 3;
        *(uint4*)(shared.marks[odd] + row * MARK + 16 * (lane >> 2 & 1)) =
            make_uint4(word == 0 ? one : 0, word == 1 ? one : 0, word == 2 ? one : 0, word == 3 ? one : 0);
        __syncthreads();  // This tile is encoded; and the one before it is done with, so that its place is free.

        const int ahead = tile + (STAGES - 1) * step, freed = stage == 0 ? STAGES - 1 : stage - 1;
        if (ahead < tiles) fetch(shared.tiles[freed] + 16 * warp * STRIDE, points, (long long)ahead * ROWS + 16 * warp, n, lane);
        asm volatile("cp.async.commit_group;" ::: "memory");

        const char* marked = shared.marks[odd] + (lane % 8 + lane / 16 * 8) * MARK + lane / 8 % 2 * 16;
        const char* columns = shared.tiles[stage] + lane % 16 * STRIDE + 16 * (2 * warp + lane / 16);
        #pragma unroll
        for (int b = 0; b < WARPS; b++) {
            const uint4 mark = turned(marked + 16 * b * MARK);
            #pragma unroll
            for (int p = 0; p < OWN_PAIRS; p++) {
                if ((p + 1) * WARPS <= PAIRS || warp + p * WARPS < PAIRS) {
                    const uint4 z = turned(columns + 16 * b * STRIDE + 32 * p * WARPS);
                    multiply(totals[p][0], mark, z.x, z.y);
                    multiply(totals[p][1], mark, z.z, z.w);
                }
            }
        }
        if (++since_flush == UNTIL_FLUSH || tile + step >= tiles) {
            since_flush = 0;
            #pragma unroll
            for (int i = 0; i < OWN_PAIRS * 8; i++) {
                const int chunk = 2 * (warp + i / 8 * WARPS) + i / 4 % 2;
                const int column = 4 * chunk + (2 * t + i % 2) % 4, label = group + i % 4 / 2 * 8;
                float& total = totals[i / 8][i / 4 % 2][i % 4];
                if (column < D) atomicAdd(sums + label * D + column, (unsigned long long)(long long)(16.0f * total));
                total = 0;
            }
        }
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        odd ^= 1;
    }
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(counts + threadIdx.x, (unsigned long long)shared.counts[threadIdx.x]);
}
