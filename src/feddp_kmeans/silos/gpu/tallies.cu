// Exact sums and squares of labelled float32 points; tallies.py says why they are exact, and gives D, COLUMNS and WEIGHTED. Before it comes
// fours.cu.
//
// tally: a block takes COLUMNS columns, whose sums of all labels are in its shared memory, and a part of the rows. These sums have 32 bits;
// a product with a weight is added in two parts, its last 16 bits and the rest.
// distances: a warp takes four rows at a time.

constexpr int START = (D + 3) / 4 * 4;                 // numbers from center to center
constexpr int WARPS = 32, SLICES = (D + COLUMNS - 1) / COLUMNS;
constexpr int TOGETHER = 32 / COLUMNS;                // rows of a warp
constexpr int LOADS = 8;                              // that are under way
constexpr int UNTIL_FLUSH = WEIGHTED ? 64 : 16;       // rounds of 1024 rows whose sums have 32 bits

extern "C" __global__ void __launch_bounds__(32 * WARPS, 1)
tally(const float* __restrict__ points, long long n, long long k_, long long parts, const double* __restrict__ ball,
      const int* __restrict__ labels, const int* __restrict__ starts, const double* __restrict__ weights, unsigned long long* totals) {
    extern __shared__ unsigned low[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, cells = (int)k_ * COLUMNS;
    const unsigned k = (unsigned)k_;  // labels that are negative are too large
    int* high = (int*)low + cells;
    const int slice = blockIdx.x % SLICES, mine = lane % COLUMNS, column = slice * COLUMNS + mine;
    const double center = column < D ? ball[column] : 0.0, scale = ball[D];
    const long long size = (n + parts * 1024 - 1) / (parts * 1024) * 1024, start = blockIdx.x / SLICES * size;
    const long long end = start + size < n ? start + size : n;
    for (int i = threadIdx.x; i < (WEIGHTED ? 2 : 1) * cells; i += 32 * WARPS) low[i] = 0;
    __syncthreads();
    int since_flush = 0;
    for (long long of_block = start; of_block < end; of_block += 1024) {
        const long long first = of_block + 32 * warp;
        const unsigned own = first + lane < end ? (unsigned)labels[first + lane] : k;
        const int weight = WEIGHTED && own < k ? (int)fmin(weights[first + lane], 1073741824.0) : 0;
        for (int i = 0; i < 32; i += LOADS * TOGETHER) {
            float x[LOADS];
            #pragma unroll
            for (int l = 0; l < LOADS; l++) {
                const long long row = first + i + l * TOGETHER + lane / COLUMNS;
                x[l] = column < D && row < end ? __ldcs(points + row * D + column) : 0.0f;
            }
            #pragma unroll
            for (int l = 0; l < LOADS; l++) {
                const int at = i + l * TOGETHER + lane / COLUMNS;
                const unsigned label = __shfl_sync(ALL, own, at);
                const int factor = WEIGHTED ? __shfl_sync(ALL, weight, at) : 1;
                if (label >= k || column >= D) continue;
                const int z = encoded(x[l], center, scale), cell = label * COLUMNS + mine;
                if (WEIGHTED) {
                    const int added = factor * (z - __ldg(starts + label * START + column));
                    atomicAdd(low + cell, (unsigned)(added & 0xffff));
                    atomicAdd(high + cell, added >> 16);
                } else {
                    atomicAdd((int*)low + cell, z);
                }
            }
        }
        if (++since_flush < UNTIL_FLUSH && of_block + 1024 < end) continue;
        since_flush = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < cells; i += 32 * WARPS) {
            const long long sum = WEIGHTED ? ((long long)high[i] << 16) + (long long)low[i] : (long long)(int)low[i];
            if (sum) atomicAdd(totals + i / COLUMNS * D + slice * COLUMNS + i % COLUMNS, (unsigned long long)sum);
            low[i] = 0;
            if (WEIGHTED) high[i] = 0;
        }
        __syncthreads();
    }
}

constexpr int FEW_WARPS = 8, AT_ONCE = 4;

__device__ long long square_of(int apart) { return (long long)apart * apart; }

extern "C" __global__ void __launch_bounds__(32 * FEW_WARPS)
distances(const float* __restrict__ points, long long n, long long k, const double* __restrict__ ball, const int* __restrict__ labels,
          const int* __restrict__ starts, double* squares) {
    __shared__ __align__(16) double middle[START];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int i = threadIdx.x; i < START; i += 32 * FEW_WARPS) middle[i] = i < D ? ball[i] : 0.0;
    const double scale = ball[D];
    __syncthreads();
    for (long long first = AT_ONCE * ((long long)blockIdx.x * FEW_WARPS + warp); first < n;
         first += (long long)AT_ONCE * FEW_WARPS * gridDim.x) {
        long long sums[AT_ONCE] = {};
        const int* from[AT_ONCE];
        #pragma unroll
        for (int r = 0; r < AT_ONCE; r++) {
            const int label = first + r < n ? labels[first + r] : 0;
            from[r] = starts + (label < k ? label : 0) * START;
        }
        #pragma unroll 2
        for (int p = lane; p < START / 4; p += 32) {
            const double2 c01 = *(const double2*)(middle + 4 * p), c23 = *(const double2*)(middle + 4 * p + 2);
            float4 x[AT_ONCE];
            int4 start[AT_ONCE];
            #pragma unroll
            for (int r = 0; r < AT_ONCE; r++) x[r] = four(points, first + r < n ? first + r : n - 1, p);
            #pragma unroll
            for (int r = 0; r < AT_ONCE; r++) start[r] = __ldg((const int4*)(from[r] + 4 * p));
            #pragma unroll
            for (int r = 0; r < AT_ONCE; r++) {
                sums[r] += square_of(encoded(x[r].x, c01.x, scale) - start[r].x) + square_of(encoded(x[r].y, c01.y, scale) - start[r].y);
                sums[r] += square_of(encoded(x[r].z, c23.x, scale) - start[r].z) + square_of(encoded(x[r].w, c23.y, scale) - start[r].w);
            }
        }
        #pragma unroll
        for (int r = 0; r < AT_ONCE; r++) {
            #pragma unroll
            for (int apart = 16; apart; apart /= 2) sums[r] += __shfl_xor_sync(ALL, sums[r], apart);
            if (lane == r && first + r < n) squares[first + r] = (double)sums[r];
        }
    }
}
