// Rows of float32 points, four coordinates at a time, and whole numbers of them; halves.py and tallies.py give D.

constexpr unsigned ALL = 0xffffffffu;
constexpr double WHOLE = 6755399441055744.0;  // 1.5 * 2**52: the low word of a sum with it is the number, rounded

// Four coordinates of a row, zeros where it has none.
__device__ float4 four(const float* points, long long row, int piece) {
    const float* from = points + row * D + 4 * piece;
    if (4 * piece + 3 < D) {
        if (D % 4 == 0) return __ldcs((const float4*)from);
        return make_float4(from[0], from[1], from[2], from[3]);
    }
    const int rest = D - 4 * piece;
    return make_float4(rest > 0 ? from[0] : 0, rest > 1 ? from[1] : 0, rest > 2 ? from[2] : 0, 0);
}

__device__ double biased(float x, double center, double scale) {
    return __dadd_rn(__dmul_rn(__dsub_rn((double)x, center), scale), WHOLE);
}

__device__ int encoded(float x, double center, double scale) { return __double2loint(biased(x, center, scale)); }
