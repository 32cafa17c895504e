// Nearest centers of float32 points by products of float16 numbers; halves.py says what is proved of them, and gives D, WIDTH and TILE.
//
// halve: a few lanes take four rows at a time, encode them, and write them as float16 numbers, with how far ahead a best score must be.
// nearest: a block scores 128 rows against TILE centers after the other, 64 coordinates at a time; it keeps each row's two best scores.

constexpr unsigned ALL = 0xffffffffu;
constexpr double WHOLE = 6755399441055744.0;  // 1.5 * 2**52: the low word of a sum with it is the number, rounded
constexpr int THREADS = 256;

constexpr int PIECES = WIDTH / 4;             // of four coordinates
constexpr int LANES = WIDTH <= 64 ? 16 : 32;  // that take a row
constexpr int AT_ONCE = 4;

__device__ float4 four(const float* points, long long row, int piece) {
    const float* from = points + row * D + 4 * piece;
    if (4 * piece + 3 < D) {
        if (D % 4 == 0) return __ldcs((const float4*)from);
        return make_float4(from[0], from[1], from[2], from[3]);
    }
    const int rest = D - 4 * piece;
    return make_float4(rest > 0 ? from[0] : 0, rest > 1 ? from[1] : 0, rest > 2 ? from[2] : 0, 0);
}

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
    const double v = __dadd_rn(__dmul_rn(__dsub_rn((double)x, center), scale), WHOLE), z = v - WHOLE;
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

extern "C" __global__ void __launch_bounds__(THREADS)
halve(const float* __restrict__ points, long long n, const double* __restrict__ given, const int* __restrict__ shifts_, uint2* halves,
      float* slacks) {
    extern __shared__ __align__(128) double center[];
    int* shifts = (int*)(center + WIDTH);
    const double scale = given[0], longest = given[1];
    const float fixed = (float)given[2], of_length = (float)given[3], of_rest = (float)given[4];
    for (int i = threadIdx.x; i < WIDTH; i += THREADS) {
        center[i] = given[5 + i];
        shifts[i] = shifts_[i];
    }
    __syncthreads();
    const int lane = threadIdx.x % LANES;
    const long long own = (long long)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES, step = (long long)gridDim.x * (THREADS / LANES);
    const long long rounds = (n + AT_ONCE * step - 1) / (AT_ONCE * step);
    for (long long round = 0; round < rounds; round++) {  // as many for every lane of a warp, since these exchange sums
        const long long first = AT_ONCE * (own + round * step);
        Norms norms[AT_ONCE] = {};
        #pragma unroll 2
        for (int p = lane; p < PIECES; p += LANES) {
            const double2 c01 = *(const double2*)(center + 4 * p), c23 = *(const double2*)(center + 4 * p + 2);
            const int4 shift = *(const int4*)(shifts + 4 * p);
            float4 x[AT_ONCE];
            #pragma unroll
            for (int r = 0; r < AT_ONCE; r++) x[r] = four(points, first + r < n ? first + r : n - 1, p);
            #pragma unroll
            for (int r = 0; r < AT_ONCE; r++) {
                const float a = sixteenth(x[r].x, c01.x, scale, shift.x, norms[r].exact);
                const float b = sixteenth(x[r].y, c01.y, scale, shift.y, norms[r].exact);
                const float c = sixteenth(x[r].z, c23.x, scale, shift.z, norms[r].exact);
                const float d = sixteenth(x[r].w, c23.y, scale, shift.w, norms[r].exact);
                const uint2 both = make_uint2(halved(a, b, norms[r]), halved(c, d, norms[r]));
                if (first + r < n) halves[(first + r) * PIECES + p] = both;
            }
        }
        #pragma unroll
        for (int r = 0; r < AT_ONCE; r++) {
            #pragma unroll
            for (int apart = LANES / 2; apart; apart /= 2) {
                norms[r].exact += __shfl_xor_sync(ALL, norms[r].exact, apart);
                norms[r].row += __shfl_xor_sync(ALL, norms[r].row, apart);
                norms[r].rest += __shfl_xor_sync(ALL, norms[r].rest, apart);
            }
            const float slack = fmaf(of_length, sqrtf(norms[r].row), fmaf(of_rest, sqrtf(norms[r].rest), fixed));
            if (lane == r && first + r < n) slacks[first + r] = norms[r].exact <= longest ? slack : -1.0f;  // negative: the row is left
        }
    }
}

constexpr int STEPS = WIDTH / 64, STAGES = 3;  // of 64 coordinates, 128 bytes; and how many are on their way
constexpr bool HELD = STEPS <= 3;              // the rows stay for all centers
constexpr int PAIRS = TILE / 32;               // of eight centers, of a warp
constexpr int ROW_BYTES = 128 * 128, CENTER_BYTES = 128 * TILE;

struct Best {
    float best, second;
    int center;
};

__device__ unsigned address(const void* shared) { return (unsigned)__cvta_generic_to_shared(shared); }

// Begin to copy 128 bytes of so many rows; 16 bytes trade places within each, so that eight rows are in different banks.
template <int ROWS>
__device__ void fetch(char* to, const char* from, int step) {
    #pragma unroll
    for (int i = 0; i < ROWS * 8 / THREADS; i++) {
        const int at = threadIdx.x + i * THREADS, row = at / 8, unit = at % 8;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
            :: "r"(address(to + 128 * row + 16 * (unit ^ row % 8))), "l"(from + 2ll * WIDTH * row + 128 * step + 16 * unit) : "memory");
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

__device__ Best of_four(Best mine) {
    #pragma unroll
    for (int apart = 1; apart < 4; apart *= 2) {
        const float best = __shfl_xor_sync(ALL, mine.best, apart), second = __shfl_xor_sync(ALL, mine.second, apart);
        mine = merged(mine, {best, second, __shfl_xor_sync(ALL, mine.center, apart)});
    }
    return mine;
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
nearest(const char* __restrict__ halves, long long n, long long k, long long tiles, const char* __restrict__ centers,
        const float* __restrict__ offsets, const float* __restrict__ slacks, int* labels) {
    extern __shared__ __align__(128) char memory[];
    __shared__ Best others[128];
    char* rows = memory;
    char* columns = memory + (HELD ? STEPS : STAGES) * ROW_BYTES;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, t = lane % 4;
    const int first_row = warp / 2 * 32, first_column = warp % 2 * (TILE / 2);
    const long long first = 128ll * blockIdx.x;
    const int rounds = (int)tiles * STEPS;
    const char* from = halves + 2 * WIDTH * first;

    auto begin = [&](int round, int stage) {
        if (round < rounds) {
            if (!HELD) fetch<128>(rows + stage * ROW_BYTES, from, round % STEPS);
            fetch<TILE>(columns + stage * CENTER_BYTES, centers + 2ll * WIDTH * TILE * (round / STEPS), round % STEPS);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    for (int s = 0; HELD && s < STEPS; s++) fetch<128>(rows + s * ROW_BYTES, from, s);
    for (int s = 0; s < STAGES - 1; s++) begin(s, s);

    float sums[2][2 * PAIRS][4] = {};
    Best best[2][2];
    for (int i = 0; i < 4; i++) best[i / 2][i % 2] = {-3.2e38f, -3.2e38f, 0};
    int stage = 0, step = 0, center = first_column + 2 * t;
    for (int round = 0; round < rounds; round++) {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
        __syncthreads();
        begin(round + STAGES - 1, stage == 0 ? STAGES - 1 : stage - 1);
        const char* its_rows = rows + (HELD ? step : stage) * ROW_BYTES;
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
        if (++step < STEPS) continue;
        step = 0;
        #pragma unroll
        for (int c = 0; c < 2 * PAIRS; c++) {
            const float2 offset = __ldg((const float2*)(offsets + center + 8 * c));
            #pragma unroll
            for (int m = 0; m < 2; m++) {
                #pragma unroll
                for (int i = 0; i < 4; i++) {
                    rank(best[m][i / 2], sums[m][c][i] - (i % 2 ? offset.y : offset.x), center + 8 * c + i % 2);
                    sums[m][c][i] = 0;
                }
            }
        }
        center += TILE;
    }
    for (int i = 0; i < 4; i++) {
        Best& mine = best[i / 2][i % 2];
        mine = of_four(mine);
        if (warp % 2 && t == 0) others[first_row + 8 * i + group] = mine;
    }
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        const int row = first_row + 8 * i + group;
        if (warp % 2 || t || first + row >= n) continue;
        const Best mine = merged(best[i / 2][i % 2], others[row]);
        const float slack = slacks[first + row];
        labels[first + row] = slack < 0 ? (int)k : mine.best - mine.second > slack ? mine.center : -1;
    }
}
