// Passes over float32 points in exact whole numbers; rows.py says why they are exact, and gives D, G, THREADS and COPIES.
//
// label: each thread takes one row of a tile in shared memory, and the centers in groups of G, whose coordinates all threads read together.
// turn: the same, but it writes the G products, rounded: coordinates in a subspace.
// weigh: each thread takes one column, and adds each row's, times its weight, to the sums of its label in shared memory.

constexpr int STRIDE = D | 1;              // from row to row of a tile: odd, so that rows are in different banks
constexpr double BALL = 4294967296.0;      // R * R

__device__ double encoded(float x, double center, double scale) { return rint((double(x) - center) * scale); }

// Copy rows into a tile, and return how many there are.
__device__ int fetch(float* tile, const float* points, long long first, long long n) {
    const int rows = n - first < THREADS ? int(n - first) : THREADS;
    for (int i = threadIdx.x; i < rows * D; i += THREADS) tile[i / D * STRIDE + i % D] = points[first * D + i];
    return rows;
}

// Copy a group of centers, coordinate by coordinate; those that are not there are zero.
__device__ void take(double* group, const double* centers, int first, int k) {
    for (int i = threadIdx.x; i < D * G; i += THREADS) group[i] = first + i % G < k ? centers[(first + i % G) * (long long)D + i / G] : 0.0;
}

extern "C" __global__ void label(const float* points, long long n, long long k_, const double* ball, const double* centers, int* labels,
                                 double* squares, unsigned char* left) {
    extern __shared__ double shared[];
    const int k = int(k_);
    double* middle = shared;                  // the ball's center, then its scale
    double* group = shared + D + 1;
    float* tile = (float*)(group + D * G);
    for (int j = threadIdx.x; j <= D; j += THREADS) middle[j] = ball[j];
    for (long long first = (long long)blockIdx.x * THREADS; first < n; first += (long long)gridDim.x * THREADS) {
        __syncthreads();
        const int rows = fetch(tile, points, first, n);
        const float* row = tile + (threadIdx.x < rows ? threadIdx.x : 0) * STRIDE;
        double length = 0.0, best = 0.0, product = 0.0;
        int nearest = -1;
        for (int g = 0; g * G < k; ++g) {
            __syncthreads();
            take(group, centers, g * G, k);
            __syncthreads();
            double sums[G] = {}, norms[G] = {};
            for (int j = 0; j < D; ++j) {
                const double z = encoded(row[j], middle[j], middle[D]);
                if (g == 0) length += z * z;
#pragma unroll
                for (int r = 0; r < G; ++r) sums[r] += z * group[j * G + r];
            }
            for (int r = 0; r < G; ++r) norms[r] = g * G + r < k ? centers[(long long)k * D + g * G + r] : 0.0;
            for (int r = 0; r < G; ++r) {
                const double score = 2.0 * sums[r] - norms[r];
                if (g * G + r < k && (nearest < 0 || score > best)) best = score, nearest = g * G + r;
            }
        }
        if (threadIdx.x < rows) {
            labels[first + threadIdx.x] = nearest;
            squares[first + threadIdx.x] = length - best;
            left[first + threadIdx.x] = !(length <= BALL);
        }
    }
}

extern "C" __global__ void turn(const float* points, long long n, long long k_, const double* ball, const double* directions, float* turned,
                                unsigned char* left) {
    extern __shared__ double shared[];
    const int k = int(k_);
    double* middle = shared;
    double* group = shared + D + 1;
    float* tile = (float*)(group + D * G);
    for (int j = threadIdx.x; j <= D + 1; j += THREADS) if (j <= D) middle[j] = ball[j];
    const double steps = ball[D + 1];
    for (long long first = (long long)blockIdx.x * THREADS; first < n; first += (long long)gridDim.x * THREADS) {
        __syncthreads();
        const int rows = fetch(tile, points, first, n);
        const float* row = tile + (threadIdx.x < rows ? threadIdx.x : 0) * STRIDE;
        double length = 0.0;
        for (int g = 0; g * G < k; ++g) {
            __syncthreads();
            take(group, directions, g * G, k);
            __syncthreads();
            double sums[G] = {};
            for (int j = 0; j < D; ++j) {
                const double z = encoded(row[j], middle[j], middle[D]);
                if (g == 0) length += z * z;
#pragma unroll
                for (int r = 0; r < G; ++r) sums[r] += z * group[j * G + r];
            }
            if (threadIdx.x < rows)
                for (int r = 0; r < G; ++r)
                    if (g * G + r < k) turned[(first + threadIdx.x) * k + g * G + r] = float(rint(sums[r] / steps));
        }
        if (threadIdx.x < rows) left[first + threadIdx.x] = !(length <= BALL);
    }
}

extern "C" __global__ void weigh(const float* points, long long n, long long k_, const double* ball, const float* origins,
                                 const int* labels, const double* weights, unsigned long long* totals) {
    extern __shared__ double sums[];  // the last row is for points that do not count
    const int k = int(k_);
    for (int i = threadIdx.x; i < (k + 1) * D; i += THREADS) sums[i] = 0.0;
    __syncthreads();
    const long long part = (n + gridDim.x - 1) / gridDim.x, first = blockIdx.x * part;
    const long long last = first + part < n ? first + part : n;
    for (int j = threadIdx.x; j < D; j += THREADS) {
        const double center = ball[j], scale = ball[D];
#pragma unroll 4
        for (long long i = first; i < last; ++i) {
            const int place = labels[i] * D + j;
            sums[place] += weights[i] * (encoded(points[i * D + j], center, scale) - double(__ldg(origins + place)));
        }
    }
    __syncthreads();
    totals += blockIdx.x % COPIES * (long long)k * D;
    for (int i = threadIdx.x; i < k * D; i += THREADS) atomicAdd(totals + i, (unsigned long long)(long long)sums[i]);
}
