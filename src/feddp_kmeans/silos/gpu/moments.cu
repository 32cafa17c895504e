// Second moments of float32 points in one sweep, in exact whole numbers; moments.py says why they are exact, and gives D and WARPS.
//
// A block takes four rows a warp. A lane has every 32nd coordinate of a row: it encodes them, finds the row's scale and writes the scaled
// numbers, which are whole, to shared memory in float64; what is added up of their squares stays in registers. Then tensor cores multiply
// all pairs of columns, in float64: each warp has some of the squares of 16 by 16 columns that lie on or above the diagonal.

constexpr int BLOCKS_OF_16 = (D + 15) / 16, PAIRS = BLOCKS_OF_16 * (BLOCKS_OF_16 + 1) / 2, OWN = (PAIRS + WARPS - 1) / WARPS;
constexpr int ROWS = 4 * WARPS, STRIDE = 16 * BLOCKS_OF_16 + 4;  // so that the lanes of half a warp are in different banks
constexpr int PLACES = (D + 31) / 32;                           // coordinates of a lane
constexpr double BALL = 4294967296.0;                           // R * R
constexpr unsigned ALL = 0xffffffffu;

// Add the products of 16 rows and 8 columns over 8 places: lane l has a of rows l / 4 and 8 more, and b of column l / 4, all of place l % 4 and
// 4 more, and the sums of those rows and columns 2 (l % 4) and the next.
__device__ void multiply(double (&sums)[2][2], const double (&a)[2][2], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+d"(sums[0][0]), "+d"(sums[0][1]), "+d"(sums[1][0]), "+d"(sums[1][1]) : "d"(a[0][0]), "d"(a[0][1]), "d"(a[1][0]), "d"(a[1][1]), "d"(b[0]), "d"(b[1]));
#else
    for (int i = 0; i < 4; i++)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
            : "+d"(sums[i % 2][0]), "+d"(sums[i % 2][1]) : "d"(a[i / 2][i % 2]), "d"(b[i / 2]));
#endif
}

__device__ double added_up(double part) {
    for (int apart = 16; apart; apart /= 2) part += __shfl_xor_sync(ALL, part, apart);
    return part;
}

__device__ double scale_of(double length, const double* starts, int steps) {
    int low = 0, high = steps;  // the last start that is not above the length
    while (high - low > 1) {
        const int half = (low + high) / 2;
        if (starts[half] <= length) low = half; else high = half;
    }
    return starts[steps + low];
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, 2)
moment(const float* __restrict__ points, long long n, long long steps, const double* __restrict__ ball, const double* __restrict__ table,
       unsigned long long* products, unsigned long long* squares, unsigned char* left) {
    extern __shared__ double tile[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double* rows = tile + 4 * warp * STRIDE;
    for (int i = threadIdx.x; i < ROWS * STRIDE; i += 32 * WARPS) tile[i] = 0.0;
    const double scale = ball[D];
    double diagonal[PLACES] = {}, trace_sum = 0.0;
    double sums[OWN][2][2][2] = {};
    int down[OWN], across[OWN];
    #pragma unroll
    for (int o = 0; o < OWN; o++) {
        int pair = warp * OWN + o, one = 0;
        if (pair >= PAIRS) pair = 0;
        while (pair >= BLOCKS_OF_16 - one) pair -= BLOCKS_OF_16 - one++;
        down[o] = 16 * one;
        across[o] = 16 * (one + pair);
    }
    __syncthreads();

    for (long long first = (long long)blockIdx.x * ROWS; first < n; first += (long long)gridDim.x * ROWS) {
        const long long own = first + 4 * warp;
        double length = 0.0;
        #pragma unroll
        for (int r = 0; r < 4; r++) {
            double part = 0.0;
            #pragma unroll
            for (int p = 0; p < PLACES; p++) {
                const int j = lane + 32 * p;
                const double z = own + r < n && j < D ? rint((double(points[(own + r) * D + j]) - ball[j]) * scale) : 0.0;
                if (j < D) rows[r * STRIDE + j] = z;
                part += z * z;
            }
            part = added_up(part);
            if (lane == r) length = part;
        }
        const bool out = !(length <= BALL);
        if (lane < 4 && own + lane < n && out) left[own + lane] = 1;
        if (steps) {
            double trace = 0.0;
            const double factor = out || lane >= 4 ? 0.0 : scale_of(length, table + 2, (int)steps);
            #pragma unroll
            for (int r = 0; r < 4; r++) {
                const double its = __shfl_sync(ALL, factor, r);
                double part = 0.0;
                #pragma unroll
                for (int p = 0; p < PLACES; p++) {
                    if (lane + 32 * p >= D) continue;
                    double& place = rows[r * STRIDE + lane + 32 * p];
                    const double s = its == 0.0 ? 0.0 : rint(place * its);
                    place = s;
                    part += s * s;
                }
                part = added_up(part);
                if (lane == r) trace = part;
            }
            const double mean = trace / double(D);
            trace_sum += trunc(table[1] * trace);
            #pragma unroll
            for (int r = 0; r < 4; r++) {
                const double its = __shfl_sync(ALL, mean, r);
                #pragma unroll
                for (int p = 0; p < PLACES; p++) {
                    const double s = lane + 32 * p < D ? rows[r * STRIDE + lane + 32 * p] : 0.0;
                    diagonal[p] += trunc(table[0] * (s * s - its));
                }
            }
        } else {
            #pragma unroll
            for (int r = 0; r < 4; r++)
                for (int p = 0; __shfl_sync(ALL, (int)out, r) && p < PLACES; p++)
                    if (lane + 32 * p < D) rows[r * STRIDE + lane + 32 * p] = 0.0;
        }
        __syncthreads();

        for (int k = 0; k < ROWS; k += 8) {
            const double* at = tile + (k + lane % 4) * STRIDE + lane / 4;
            #pragma unroll
            for (int o = 0; o < OWN; o++) {
                const double *one = at + down[o], *other = at + across[o];
                const double a[2][2] = {{one[0], one[8]}, {one[4 * STRIDE], one[4 * STRIDE + 8]}};
                const double b[2][2] = {{other[0], other[4 * STRIDE]}, {other[8], other[4 * STRIDE + 8]}};
                multiply(sums[o][0], a, b[0]);
                multiply(sums[o][1], a, b[1]);
            }
        }
        __syncthreads();
    }

    #pragma unroll
    for (int o = 0; o < OWN; o++) {
        #pragma unroll
        for (int i = 0; i < 8; i++) {
            const int row = down[o] + i / 2 % 2 * 8 + lane / 4, column = across[o] + i / 4 * 8 + lane % 4 * 2 + i % 2;
            if (warp * OWN + o < PAIRS && row <= column && column < D)
                atomicAdd(products + row * D + column, (unsigned long long)(long long)sums[o][i / 4][i / 2 % 2][i % 2]);
        }
    }
    for (int p = 0; p < PLACES; p++)
        if (lane + 32 * p < D) atomicAdd(squares + lane + 32 * p, (unsigned long long)(long long)diagonal[p]);
    trace_sum = added_up(trace_sum);
    if (lane == 0) atomicAdd(squares + D, (unsigned long long)(long long)trace_sum);
}
