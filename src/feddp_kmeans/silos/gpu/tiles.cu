// A warp's 16 rows of float32 points in shared memory, encoded and split into two float16 parts; lloyd.py and sweeps.py give D.

constexpr int CHUNKS = (D + 3) / 4;                         // of four coordinates, 16 bytes
constexpr int STRIDE = 16 * (CHUNKS | 1);                   // from row to row: an odd number of chunks, so that rows are in different banks
constexpr int STEPS = (CHUNKS + 3) / 4;                     // of 16 coordinates, the depth of a matrix product
constexpr int UNIT = D % 4 == 0 ? 16 : D % 2 == 0 ? 8 : 4;  // bytes copied at once
constexpr bool FLAT = STRIDE == 4 * D;                      // rows follow one another without gaps
constexpr int LINES = FLAT ? 1 : 16, UNITS = 64 * D / UNIT / LINES;
constexpr double BIAS = 6755399441055744.0 + 0x64660080;    // 1.5 * 2**52 and more, see encoded()
constexpr unsigned ALL = 0xffffffffu;

__device__ unsigned address(const void* shared) { return (unsigned)__cvta_generic_to_shared(shared); }

__device__ void multiply(float (&sum)[4], uint4 a, unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1), "f"(sum[0]), "f"(sum[1]), "f"(sum[2]), "f"(sum[3]));
}

// Begin to copy a warp's 16 rows, as far as there are rows.
__device__ void fetch(char* slab, const float* points, long long first_row, long long n, int lane) {
    const long long rest = n - first_row;
    const int rows = rest < 16 ? (rest > 0 ? (int)rest : 0) : 16;
    constexpr int AT_ONCE = UNITS < 32 ? 32 / UNITS : 1;
    const int line = UNITS < 32 ? lane / UNITS : 0, unit = UNITS < 32 ? lane % UNITS : lane;
    const int end = line < AT_ONCE ? rows * (4 * D / UNIT) - line * UNITS - unit : 0;
    const unsigned to = address(slab + line * STRIDE + unit * UNIT);
    const char* from = (const char*)(points + first_row * D) + (line * UNITS + unit) * UNIT;
    #pragma unroll
    for (int l = 0; l < LINES; l += AT_ONCE) {
        #pragma unroll
        for (int u = 0; u < UNITS; u += 32) {
            const int at = l * UNITS + u;
            const unsigned place = to + l * STRIDE + u * UNIT;
            if (at < end && (u + 32 <= UNITS || unit + u < UNITS)) {
                if (UNIT == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(place), "l"(from + at * UNIT) : "memory");
                else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(place), "l"(from + at * UNIT), "n"(UNIT) : "memory");
            }
        }
    }
}

// Four coordinates of a row, zeros where it has none.
__device__ float4 four(const char* slab, int row, int t, int step) {
    float4 x = make_float4(0, 0, 0, 0);
    const int chunk = 4 * step + t;
    if (4 * step + 3 < CHUNKS || chunk < CHUNKS) x = *(const float4*)(slab + row * STRIDE + 16 * chunk);
    if (D % 4 && chunk == CHUNKS - 1) {
        if (D % 4 < 2) x.y = 0;
        if (D % 4 < 3) x.z = 0;
        x.w = 0;
    }
    return x;
}

// The low word of (x - center) * scale, rounded to a whole number z, plus 0x64660080. Its bytes 1 and 2 are the float16 number
// 1536 + high, its bytes 0 and 3 are 1152 + low, where z = 256 high + low and -128 <= low < 128, as long as |z| < 2**17 - 128.
__device__ unsigned encoded(float x, double center, double scale) {
    return (unsigned)__double2loint(__dadd_rn(__dmul_rn(__dsub_rn((double)x, center), scale), BIAS));
}

__device__ unsigned scaled(unsigned two, unsigned factor, unsigned rest) {
    unsigned result;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(two), "r"(factor), "r"(rest));
    return result;
}

__device__ unsigned sixteen_high(unsigned a, unsigned b) { return scaled(__byte_perm(a, b, 0x6521), 0x4c004c00u, 0xf600f600u); }
__device__ unsigned sixteenth_low(unsigned a, unsigned b) { return scaled(__byte_perm(a, b, 0x7430), 0x2c002c00u, 0xd480d480u); }

__device__ float number(unsigned short half) {
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(half));
    return result;
}
