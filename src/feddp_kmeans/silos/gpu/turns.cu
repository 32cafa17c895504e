// Coordinates in a subspace, as whole numbers in float32; sweeps.py says why they are exact, and gives D, WIDTH, WARPS, STAGES and
// STEPS_OF_ONE. Every warp goes its own way: it takes 16 rows at a time, and the next 16 are on their way meanwhile. It encodes them in the
// layout of a matrix product's operand, and tensor cores multiply them with all directions, in float64. Of a row that would have to be
// shortened the first coordinate is infinite.

constexpr int TILES = (WIDTH + 7) / 8, COLUMNS = 8 * TILES;
constexpr int FROM = COLUMNS + 4;        // numbers from coordinate to coordinate: so that the lanes of half a warp are in different banks
constexpr double BALL = 4294967296.0;    // R * R
constexpr double WHOLE = 6755399441055744.0;  // 1.5 * 2**52

// Add the products of 16 rows and 8 columns over 4 places: lane l has a of rows l / 4 and 8 more, and b of column l / 4, all of place l % 4,
// and the sums of those rows and columns 2 (l % 4) and the next.
__device__ void multiply(double (&sums)[2][2], const double (&a)[2], double b) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+d"(sums[0][0]), "+d"(sums[0][1]), "+d"(sums[1][0]), "+d"(sums[1][1]) : "d"(a[0]), "d"(a[1]), "d"(b));
#else
    for (int h = 0; h < 2; h++)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
            : "+d"(sums[h][0]), "+d"(sums[h][1]) : "d"(a[h]), "d"(b));
#endif
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, 1)
turn(const float* __restrict__ points, long long n, const double* __restrict__ ball, const double* __restrict__ directions, float* turned) {
    extern __shared__ __align__(128) char memory[];
    double* matrix = (double*)memory;
    double* middle = matrix + 4 * CHUNKS * FROM;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = lane / 4, t = lane % 4;
    char* slabs = (char*)(middle + 4 * CHUNKS) + warp * STAGES * 16 * STRIDE;
    for (int i = threadIdx.x; i < 4 * CHUNKS * COLUMNS; i += 32 * WARPS) matrix[i / COLUMNS * FROM + i % COLUMNS] = directions[i];
    for (int i = threadIdx.x; i < 4 * CHUNKS; i += 32 * WARPS) middle[i] = i < D ? ball[i] : 0.0;
    const double scale = ball[D];
    const long long step = (long long)gridDim.x * WARPS * 16;
    long long first = ((long long)blockIdx.x * WARPS + warp) * 16;
    #pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        fetch(slabs + s * 16 * STRIDE, points, first + s * step, n, lane);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    __syncthreads();

    for (int stage = 0; first < n; first += step) {
        fetch(slabs + (stage == 0 ? STAGES - 1 : stage - 1) * 16 * STRIDE, points, first + (STAGES - 1) * step, n, lane);
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 1) : "memory");
        __syncwarp();
        const char* slab = slabs + stage * 16 * STRIDE;
        double sums[TILES][2][2] = {}, lengths[2] = {0, 0};
        #pragma unroll 5
        for (int c = 0; c < CHUNKS; c++) {
            double z[2];
            #pragma unroll
            for (int h = 0; h < 2; h++) {
                const float x = D % 4 && 4 * c + t >= D ? 0.0f : *(const float*)(slab + (row + 8 * h) * STRIDE + 16 * c + 4 * t);
                z[h] = __dadd_rn(__dmul_rn(__dsub_rn((double)x, middle[4 * c + t]), scale), WHOLE) - WHOLE;
                lengths[h] = fma(z[h], z[h], lengths[h]);
            }
            #pragma unroll
            for (int i = 0; i < TILES; i++) multiply(sums[i], z, matrix[(4 * c + t) * FROM + 8 * i + row]);
        }
        #pragma unroll
        for (int h = 0; h < 2; h++) {
            lengths[h] += __shfl_xor_sync(ALL, lengths[h], 1);
            lengths[h] += __shfl_xor_sync(ALL, lengths[h], 2);
            const bool there = first + row + 8 * h < n, out = !(lengths[h] <= BALL);
            float* to = turned + (first + row + 8 * h) * WIDTH + 2 * t;
            #pragma unroll
            for (int i = 0; i < TILES; i++) {
                float2 pair;
                pair.x = out && i == 0 && t == 0 ? __int_as_float(0x7f800000) : float(rint(sums[i][h][0] / (double)STEPS_OF_ONE));
                pair.y = float(rint(sums[i][h][1] / (double)STEPS_OF_ONE));
                if (there && 8 * i + 2 * t < WIDTH) *(float2*)(to + 8 * i) = pair;
            }
        }
        __syncwarp();
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
}
