// Passes over float32 points in exact whole numbers; rows.py says why they are exact, and gives D, G, ALL, THREADS and COPIES.
//
// turn: each warp takes 32 rows of a tile in shared memory, and the directions in groups of G, of which shared memory holds ALL or one;
// tensor cores multiply them, in float64; the products, rounded, are coordinates in a subspace.
// scale: each thread takes one row to find its scale, then one column of the tile to write its numbers and to add up what is left of their
// squares without the trace.

constexpr int STRIDE = D | 1;              // from row to row of a tile: odd, so that rows are in different banks
constexpr double BALL = 4294967296.0;      // R * R
constexpr int WIDTH = (D + 3) / 4 * 4;     // coordinates in steps of a tensor core's
constexpr int TILE_STRIDE = WIDTH % 8 ? WIDTH : WIDTH + 4, GROUP_STRIDE = G + 8;  // so that the lanes of a warp are in different banks

__device__ double encoded(float x, double center, double scale) { return rint((double(x) - center) * scale); }

// Copy rows into a tile, and return how many there are.
__device__ int fetch(float* tile, const float* points, long long first, long long n) {
    const int rows = n - first < THREADS ? int(n - first) : THREADS;
    for (int i = threadIdx.x; i < rows * D; i += THREADS) tile[i / D * STRIDE + i % D] = points[first * D + i];
    return rows;
}

// Copy rows into a tile for tensor cores, encoded; those that are not there are zero. Return how many there are.
__device__ int fetch_encoded(float* tile, const float* points, const double* middle, long long first, long long n) {
    const int rows = n - first < THREADS ? int(n - first) : THREADS;
    const float* from = points + first * D;
    const double scale = middle[D];
    if (rows == THREADS) {
#pragma unroll 20
        for (int t = 0; t < D; ++t) {  // many loads are under way at once
            const int i = t * THREADS + threadIdx.x;
            tile[i / D * TILE_STRIDE + i % D] = float(encoded(from[i], middle[i % D], scale));
        }
        return rows;
    }
    for (int i = threadIdx.x; i < THREADS * D; i += THREADS)
        tile[i / D * TILE_STRIDE + i % D] = i < rows * D ? float(encoded(from[i], middle[i % D], scale)) : 0.0f;
    return rows;
}

// Make zero what is beyond the coordinates of each thread's row.
__device__ void clear(float* tile) {
    for (int j = D; j < TILE_STRIDE; ++j) tile[threadIdx.x * TILE_STRIDE + j] = 0.0f;
}

// Copy a group of directions, coordinate by coordinate; those that are not there are zero.
__device__ void take(float* group, const double* directions, int first, int k) {
    for (int i = threadIdx.x; i < WIDTH * G; i += THREADS) {
        const int j = i / G, r = i % G;
        group[j * GROUP_STRIDE + r] = j < D && first + r < k ? float(directions[(long long)(first + r) * D + j]) : 0.0f;
    }
}

// Copy all groups of directions, if there is room for all.
__device__ void take_all(float* groups, const double* directions, int k) {
    for (int g = 0; ALL && g * G < k; ++g) take(groups + g * WIDTH * GROUP_STRIDE, directions, g * G, k);
}

// Return the group of directions from this one on. If there is room for one group only, it takes the place of the one before.
__device__ const float* group_from(float* groups, const double* directions, int first, int k) {
    if (ALL) return groups + first / G * WIDTH * GROUP_STRIDE;
    __syncthreads();
    take(groups, directions, first, k);
    __syncthreads();
    return groups;
}

// Add the products of 8 rows and 8 directions over 4 coordinates: lane l has a of row l / 4 and b of direction l / 4, both of coordinate l % 4,
// and the two sums of row l / 4 and directions 2 (l % 4) and the next.
__device__ void multiply(double (&sums)[2], double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(sums[0]), "+d"(sums[1]) : "d"(a), "d"(b));
}

// Return in sums the products of the warp's 32 rows with a group of directions; in the first group also the squared lengths of the rows, of
// which each lane has a quarter.
__device__ void products(double (&sums)[4][G / 8][2], double (&lengths)[4], const float* tile, const float* group, bool is_first) {
    const int lane = threadIdx.x % 32, row = lane / 4, place = lane % 4;
    for (int m = 0; m < 4; ++m)
        for (int c = 0; c < G / 8; ++c) sums[m][c][0] = sums[m][c][1] = 0.0;
    for (int j = 0; j < WIDTH; j += 4) {
        double a[4];
#pragma unroll
        for (int m = 0; m < 4; ++m) {
            a[m] = double(tile[(8 * m + row) * TILE_STRIDE + j + place]);
            if (is_first) lengths[m] += a[m] * a[m];
        }
#pragma unroll
        for (int c = 0; c < G / 8; ++c) {
            const double b = double(group[(j + place) * GROUP_STRIDE + 8 * c + row]);
#pragma unroll
            for (int m = 0; m < 4; ++m) multiply(sums[m][c], a[m], b);
        }
    }
}

// Add up what the four lanes of a row have.
__device__ double of_row(double part) {
    part += __shfl_xor_sync(~0u, part, 1);
    return part + __shfl_xor_sync(~0u, part, 2);
}

extern "C" __global__ void turn(const float* points, long long n, long long k_, const double* ball, const double* directions, float* turned,
                                unsigned char* left) {
    extern __shared__ double shared[];
    const int k = int(k_), lane = threadIdx.x % 32, base = threadIdx.x / 32 * 32;
    double* middle = shared;
    float* tile = (float*)(shared + D + 1);
    float* groups = tile + THREADS * TILE_STRIDE;
    for (int j = threadIdx.x; j <= D; j += THREADS) middle[j] = ball[j];
    const double steps = ball[D + 1];
    clear(tile);
    take_all(groups, directions, k);
    for (long long first = (long long)blockIdx.x * THREADS; first < n; first += (long long)gridDim.x * THREADS) {
        __syncthreads();
        const int rows = fetch_encoded(tile, points, middle, first, n);
        __syncthreads();
        double lengths[4] = {};
        for (int g = 0; g < k; g += G) {
            const float* group = group_from(groups, directions, g, k);
            double sums[4][G / 8][2];
            products(sums, lengths, tile + base * TILE_STRIDE, group, g == 0);
            for (int m = 0; m < 4; ++m)
                for (int c = 0; c < G / 8; ++c)
                    for (int h = 0; h < 2; ++h) {
                        const int row = base + 8 * m + lane / 4, place = g + 8 * c + lane % 4 * 2 + h;
                        if (row < rows && place < k) turned[(first + row) * k + place] = float(rint(sums[m][c][h] / steps));
                    }
        }
        for (int m = 0; m < 4; ++m) {
            const double length = of_row(lengths[m]);
            const int row = base + 8 * m + lane / 4;
            if (lane % 4 == 0 && row < rows) left[first + row] = !(length <= BALL);
        }
    }
}

extern "C" __global__ void scale(const float* points, long long n, long long steps, const double* ball, const double* table,
                                 double* scaled, unsigned long long* totals, unsigned char* left) {
    extern __shared__ double shared[];
    double* middle = shared;
    double* sums = shared + D + 1;
    double* factors = sums + D;               // of the rows of a tile; negative for rows that are left out
    double* traces = factors + THREADS;
    float* tile = (float*)(traces + THREADS);
    const double* starts = table + 2;         // after the weights of a square and of a trace; then the scales
    const double* scales = starts + steps;
    for (int j = threadIdx.x; j <= D; j += THREADS) middle[j] = ball[j];
    for (int j = threadIdx.x; j < D; j += THREADS) sums[j] = 0.0;
    double trace_sum = 0.0;
    for (long long first = (long long)blockIdx.x * THREADS; first < n; first += (long long)gridDim.x * THREADS) {
        __syncthreads();
        const int rows = fetch(tile, points, first, n);
        __syncthreads();
        if (threadIdx.x < rows) {
            const float* row = tile + threadIdx.x * STRIDE;
            double length = 0.0, factor = 1.0, trace = 0.0;
            for (int j = 0; j < D; ++j) {
                const double z = encoded(row[j], middle[j], middle[D]);
                length += z * z;
            }
            const bool out = !(length <= BALL);
            if (steps && !out) {
                int low = 0, high = int(steps);  // the last start that is not above the length
                while (high - low > 1) {
                    const int half = (low + high) / 2;
                    if (starts[half] <= length) low = half; else high = half;
                }
                factor = scales[low];
                for (int j = 0; j < D; ++j) {
                    const double s = rint(encoded(row[j], middle[j], middle[D]) * factor);
                    trace += s * s;
                }
                trace_sum += trunc(table[1] * trace);
            }
            factors[threadIdx.x] = out ? -1.0 : factor;
            traces[threadIdx.x] = trace / double(D);
            left[first + threadIdx.x] = out;
        }
        __syncthreads();
        for (int j = threadIdx.x; j < D; j += THREADS) {
            double sum = 0.0;
            for (int i = 0; i < rows; ++i) {
                const double z = encoded(tile[i * STRIDE + j], middle[j], middle[D]);
                const double s = factors[i] < 0.0 ? 0.0 : steps ? rint(z * factors[i]) : z;
                if (factors[i] >= 0.0) sum += trunc(table[0] * (s * s - traces[i]));
                scaled[(first + i) * D + j] = s;
            }
            sums[j] += sum;
        }
    }
    __syncthreads();
    totals += blockIdx.x % COPIES * (long long)(D + 1);
    for (int j = threadIdx.x; j < D; j += THREADS) atomicAdd(totals + j, (unsigned long long)(long long)sums[j]);
    atomicAdd(totals + D, (unsigned long long)(long long)trace_sum);
}
