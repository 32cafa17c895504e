// Nearest centers of float32 points by products of float16 numbers; halves.py says what is proved of them, and gives D, WIDTH, PARTS, TILE and
// BLOCKS. Before it comes fours.cu.
//
// nearest: a block scores 128 rows against TILE centers after the other, 64 coordinates at a time; it keeps each row's two best scores. Where
// a row has few coordinates, the block itself encodes them and writes them as float16 numbers to shared memory, where they stay.
// halve: where a row has many, they are written to the device's memory before, with how far ahead a best score must be.

constexpr int THREADS = 256;

constexpr int PIECES = WIDTH / 4;             // of four coordinates, of a row that is filled up with zeros
constexpr int LANES = WIDTH <= 64 ? 16 : 32;  // that take a row

__device__ unsigned two_halves(float a, float b) {
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(b), "f"(a));
    return both;
}

__device__ float number(unsigned short half) {
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(half));
    return result;
}

struct Norms {
    double exact;     // of the encoded row
    float row, rest;  // of the row over 16, less the shift; and of what it loses as float16 numbers
};

// A sixteenth of an encoded coordinate, less the shift.
__device__ float sixteenth(float x, double center, double scale, int shift, double& norm) {
    const double v = biased(x, center, scale), z = v - WHOLE;
    norm = fma(z, z, norm);
    return 0.0625f * (float)(__double2loint(v) - shift);
}

__device__ unsigned halved(float a, float b, Norms& norms) {
    const unsigned both = two_halves(a, b);
    const float lost_a = a - number((unsigned short)both), lost_b = b - number((unsigned short)(both >> 16));
    norms.row = fmaf(a, a, fmaf(b, b, norms.row));
    norms.rest = fmaf(lost_a, lost_a, fmaf(lost_b, lost_b, norms.rest));
    return both;
}

struct Given {  // laid out alike in halves.py
    double scale, longest, slack, slack_of_length, slack_of_rest, nothing, center[WIDTH];
};

__device__ Norms either(bool first, Norms a, Norms b) {
    return {first ? a.exact : b.exact, first ? a.row : b.row, first ? a.rest : b.rest};
}

__device__ Norms sum(Norms mine, Norms sent, int apart) {
    const double exact = mine.exact + __shfl_xor_sync(ALL, sent.exact, apart);
    return {exact, mine.row + __shfl_xor_sync(ALL, sent.row, apart), mine.rest + __shfl_xor_sync(ALL, sent.rest, apart)};
}

// Of several rows, whose norms are spread over the lanes, those of one row: each exchange halves the rows that a lane looks after.
template <int ROWS>
__device__ Norms of_own_row(Norms (&norms)[ROWS], int lane) {
    int apart = LANES / 2;
    #pragma unroll
    for (int left = ROWS / 2; left; left /= 2) {
        #pragma unroll
        for (int r = 0; r < left; r++) {
            const Norms kept = either(lane & apart, norms[r + left], norms[r]), sent = either(lane & apart, norms[r], norms[r + left]);
            norms[r] = sum(kept, sent, apart);
        }
        apart /= 2;
    }
    #pragma unroll
    for (; apart; apart /= 2) norms[0] = sum(norms[0], norms[0], apart);
    return norms[0];
}

// Encode rows from the first one on, and give each four coordinates as halves. Return the slack of one of them, to so many lanes the same:
// it is negative for a row that is too long.
template <int ROWS, class Give>
__device__ float halve_rows(const float* points, long long first, long long n, const Given* given, const double* center, const int* shifts,
                            Give give) {
    const int lane = threadIdx.x % LANES;
    const double scale = given->scale;
    Norms norms[ROWS] = {};
    #pragma unroll 2
    for (int p = lane; p < PIECES; p += LANES) {
        const double2 c01 = *(const double2*)(center + 4 * p), c23 = *(const double2*)(center + 4 * p + 2);
        const int4 shift = *(const int4*)(shifts + 4 * p);
        float4 x[ROWS];
        #pragma unroll
        for (int r = 0; r < ROWS; r++) x[r] = four(points, first + r < n ? first + r : n - 1, p);
        #pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const float a = sixteenth(x[r].x, c01.x, scale, shift.x, norms[r].exact);
            const float b = sixteenth(x[r].y, c01.y, scale, shift.y, norms[r].exact);
            const float c = sixteenth(x[r].z, c23.x, scale, shift.z, norms[r].exact);
            const float d = sixteenth(x[r].w, c23.y, scale, shift.w, norms[r].exact);
            const unsigned ab = halved(a, b, norms[r]);
            give(r, p, make_uint2(ab, halved(c, d, norms[r])));
        }
    }
    const Norms own = of_own_row(norms, lane);
    const float slack = fmaf((float)given->slack_of_length, sqrtf(own.row), fmaf((float)given->slack_of_rest, sqrtf(own.rest), (float)given->slack));
    return own.exact <= given->longest ? slack : -1.0f;
}

constexpr int GROUPS = THREADS / LANES, FEW = 4, MANY = 8;  // rows at once

extern "C" __global__ void __launch_bounds__(THREADS)
halve(const float* __restrict__ points, long long n, const Given* __restrict__ given, const int* __restrict__ shifts_, uint2* halves,
      float* slacks) {
    extern __shared__ __align__(128) double center[];
    int* shifts = (int*)(center + WIDTH);
    for (int i = threadIdx.x; i < WIDTH; i += THREADS) {
        center[i] = given->center[i];
        shifts[i] = shifts_[i];
    }
    __syncthreads();
    const long long own = (long long)blockIdx.x * GROUPS + threadIdx.x / LANES, step = (long long)gridDim.x * GROUPS;
    const long long rounds = (n + FEW * step - 1) / (FEW * step);
    for (long long round = 0; round < rounds; round++) {  // as many for every lane of a warp, since these exchange sums
        const long long first = FEW * (own + round * step);
        const float slack = halve_rows<FEW>(points, first, n, given, center, shifts, [&](int r, int p, uint2 both) {
            if (first + r < n) halves[(first + r) * PIECES + p] = both;
        });
        const int lane = threadIdx.x % LANES, mine = lane / (LANES / FEW);
        if (lane % (LANES / FEW) == 0 && first + mine < n) slacks[first + mine] = slack;
    }
}

constexpr int LENGTH = PARTS * WIDTH;          // of a center: its coordinates, and the second parts of these
constexpr int STEPS = WIDTH / 64, ALL_STEPS = PARTS * STEPS;  // of 64 coordinates, 128 bytes
constexpr int STAGES = 3;                      // that are on their way
constexpr bool HELD = STEPS <= 3;              // the block encodes its rows, and they stay for all centers
constexpr int PAIRS = TILE / 32;               // of eight centers, of a warp
constexpr int ROW_BYTES = 128 * 128, CENTER_BYTES = 128 * TILE;

struct Best {
    float best, second;
    int center;
};

__device__ unsigned address(const void* shared) { return (unsigned)__cvta_generic_to_shared(shared); }

// Begin to copy 128 bytes of so many rows; 16 bytes trade places within each, so that eight rows are in different banks.
template <int ROWS, int LENGTH>
__device__ void fetch(char* to, const char* from, int step) {
    #pragma unroll
    for (int i = 0; i < ROWS * 8 / THREADS; i++) {
        const int at = threadIdx.x + i * THREADS, row = at / 8, unit = at % 8;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
            :: "r"(address(to + 128 * row + 16 * (unit ^ row % 8))), "l"(from + 2ll * LENGTH * row + 128 * step + 16 * unit) : "memory");
    }
}

__device__ uint4 operand(const char* tile, int row, int unit) {
    uint4 v;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(address(tile + 128 * row + 16 * (unit ^ row % 8))) : "memory");
    return v;
}

__device__ void multiply(float (&sum)[4], uint4 a, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

__device__ void rank(Best& of, float score, int center) {
    of.second = fmaxf(of.second, fminf(of.best, score));
    of.center = score > of.best ? center : of.center;
    of.best = fmaxf(of.best, score);
}

__device__ Best merged(Best mine, Best other) {
    const float second = fmaxf(fminf(mine.best, other.best), fmaxf(mine.second, other.second));
    return {fmaxf(mine.best, other.best), second, other.best > mine.best ? other.center : mine.center};
}

__device__ Best either(bool first, Best a, Best b) {
    return {first ? a.best : b.best, first ? a.second : b.second, first ? a.center : b.center};
}

__device__ Best exchanged(Best sent, int apart) {
    const float best = __shfl_xor_sync(ALL, sent.best, apart), second = __shfl_xor_sync(ALL, sent.second, apart);
    return {best, second, __shfl_xor_sync(ALL, sent.center, apart)};
}

// Of four rows, whose scores are spread over four lanes, the best of the row of the lane's number.
__device__ Best of_own_row(const Best (&best)[4], int t) {
    Best two[2];
    #pragma unroll
    for (int i = 0; i < 2; i++) two[i] = merged(either(t & 2, best[2 + i], best[i]), exchanged(either(t & 2, best[i], best[2 + i]), 2));
    return merged(either(t & 1, two[1], two[0]), exchanged(either(t & 1, two[0], two[1]), 1));
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
nearest(const float* __restrict__ points, const char* __restrict__ halves, long long n, long long k, long long tiles,
        const Given* __restrict__ given, const int* __restrict__ shifts, const char* __restrict__ centers, const float* __restrict__ offsets,
        const float* __restrict__ slacks, int* labels) {
    extern __shared__ __align__(128) char memory[];
    __shared__ Best others[128];
    __shared__ float held_slacks[128];
    char* rows = memory;
    char* columns = memory + (HELD ? STEPS : STAGES) * ROW_BYTES;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, t = lane % 4;
    const int first_row = warp / 2 * 32, first_column = warp % 2 * (TILE / 2);
    const long long first = 128ll * blockIdx.x;
    const int rounds = (int)tiles * ALL_STEPS;

    auto begin = [&](int round, int stage) {
        if (round < rounds) {
            if (!HELD) fetch<128, WIDTH>(rows + stage * ROW_BYTES, halves + 2 * WIDTH * first, round % STEPS);
            fetch<TILE, LENGTH>(columns + stage * CENTER_BYTES, centers + 2ll * LENGTH * TILE * (round / ALL_STEPS), round % ALL_STEPS);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    for (int s = 0; s < STAGES - 1; s++) begin(s, s);
    #pragma unroll 1
    for (int row = threadIdx.x / LANES * MANY; HELD && row < 128; row += GROUPS * MANY) {
        const float slack = halve_rows<MANY>(points, first + row, n, given, given->center, shifts, [&](int r, int p, uint2 both) {
            *(uint2*)(rows + p / 16 * ROW_BYTES + 128 * (row + r) + 16 * (p % 16 / 2 ^ (row + r) % 8) + 8 * (p % 2)) = both;
        });
        if (threadIdx.x % (LANES / MANY) == 0) held_slacks[row + threadIdx.x % LANES / (LANES / MANY)] = slack;
    }

    float sums[2][2 * PAIRS][4];
    Best best[4];
    for (int i = 0; i < 4; i++) best[i] = {-3.2e38f, -3.2e38f, 0};
    int stage = 0, step = 0, center = first_column + 2 * t;
    for (int round = 0; round < rounds; round++) {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();
        begin(round + STAGES - 1, stage == 0 ? STAGES - 1 : stage - 1);
        #pragma unroll
        for (int i = 0; i < 16 * PAIRS; i++) sums[i / (8 * PAIRS)][i / 4 % (2 * PAIRS)][i % 4] = step ? sums[i / (8 * PAIRS)][i / 4 % (2 * PAIRS)][i % 4] : 0;
        const char* its_rows = rows + (HELD ? step % STEPS : stage) * ROW_BYTES;
        const char* its_columns = columns + stage * CENTER_BYTES;
        #pragma unroll
        for (int s = 0; s < 4; s++) {
            uint4 a[2];
            #pragma unroll
            for (int m = 0; m < 2; m++) a[m] = operand(its_rows, first_row + 16 * m + lane % 16, 2 * s + lane / 16);
            #pragma unroll
            for (int p = 0; p < PAIRS; p++) {
                const uint4 b = operand(its_columns, first_column + 16 * p + lane % 8 + lane / 16 * 8, 2 * s + lane / 8 % 2);
                #pragma unroll
                for (int m = 0; m < 2; m++) {
                    multiply(sums[m][2 * p], a[m], b.x, b.y);
                    multiply(sums[m][2 * p + 1], a[m], b.z, b.w);
                }
            }
        }
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        if (++step < ALL_STEPS) continue;
        step = 0;
        #pragma unroll
        for (int c = 0; c < 2 * PAIRS; c++) {
            const float2 offset = __ldg((const float2*)(offsets + center + 8 * c));
            #pragma unroll
            for (int m = 0; m < 2; m++) {
                #pragma unroll
                for (int i = 0; i < 4; i++)
                    rank(best[2 * m + i / 2], sums[m][c][i] - (i % 2 ? offset.y : offset.x), center + 8 * c + i % 2);
            }
        }
        center += TILE;
    }
    const int row = first_row + 8 * t + group;
    Best mine = of_own_row(best, t);
    if (warp % 2) others[row] = mine;
    __syncthreads();
    if (warp % 2 || first + row >= n) return;
    mine = merged(mine, others[row]);
    const float slack = HELD ? held_slacks[row] : slacks[first + row];
    labels[first + row] = slack < 0 ? (int)k : mine.best - mine.second > slack ? mine.center : -1;
}
