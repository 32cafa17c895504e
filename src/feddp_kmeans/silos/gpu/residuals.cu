// Sums of factors times residuals in shared memory, in two parts; sweeps.py says why they are exact.

constexpr int START = 4 * (CHUNKS | 1);            // numbers from center to center
constexpr int SLOTS = CHUNKS + 1, WIDE = 4 * SLOTS;  // of a center's sums: its coordinates, then the weighted square and count
constexpr int LANES = SLOTS <= 4 ? 4 : SLOTS <= 8 ? 8 : SLOTS <= 16 ? 16 : 32;  // that add up one row

struct OfRow {
    int label, factor, extra[2];
};

// Add four coordinates of a row, times its factor, to their low and high parts; or the weighted square and count.
__device__ void add(int (&low)[4], int (&high)[4], const OfRow& of, const char* slab, int row, int chunk, int4 from) {
    int added[4] = {of.extra[0], of.extra[1], 0, 0};
    if (chunk < CHUNKS) {
        const uint4 z = *(const uint4*)(slab + row * STRIDE + 16 * chunk);
        added[0] = of.factor * (int)(z.x - from.x);
        added[1] = of.factor * (int)(z.y - from.y);
        added[2] = of.factor * (int)(z.z - from.z);
        added[3] = of.factor * (int)(z.w - from.w);
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        low[i] += added[i] & 0xffff;
        high[i] += added[i] >> 16;
    }
}

__device__ int4 start_of(const int* starts, int label, int chunk) {
    return chunk < CHUNKS ? *(const int4*)(starts + label * START + 4 * chunk) : make_int4(0, 0, 0, 0);
}

__device__ void give(unsigned* low_sums, int* high_sums, int place, const int (&low)[4], const int (&high)[4]) {
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        atomicAdd(low_sums + place + i * SLOTS, (unsigned)low[i]);
        atomicAdd(high_sums + place + i * SLOTS, high[i]);
    }
}

// Add 16 rows, those of one center after the other, so that its sums are met once; a lane has four coordinates.
__device__ void add_by_label(const char* slab, const OfRow* of_rows, const int* starts, unsigned* low_sums, int* high_sums, int lane) {
    const int mine = lane < 16 ? of_rows[lane].label : -1;
    const unsigned same = __match_any_sync(ALL, mine);
    for (unsigned todo = __ballot_sync(ALL, mine >= 0); todo;) {
        const int leader = __ffs(todo) - 1;
        const unsigned its = __shfl_sync(ALL, same, leader);
        const int label = of_rows[leader].label;
        todo &= ~its;
        for (int c = lane; c < SLOTS; c += 32) {
            const int4 from = start_of(starts, label, c);
            int low[4] = {}, high[4] = {};
            for (unsigned left = its; left; left &= left - 1) {
                const int row = __ffs(left) - 1;
                add(low, high, of_rows[row], slab, row, c, from);
            }
            give(low_sums, high_sums, label * WIDE + c, low, high);
        }
    }
}

// Add several rows at once, where a row needs few lanes.
__device__ void add_rows(const char* slab, const OfRow* of_rows, const int* starts, unsigned* low_sums, int* high_sums, int lane) {
    for (int row = lane / LANES, c = lane % LANES; row < 16 && c < SLOTS; row += 32 / LANES) {
        const OfRow of = of_rows[row];
        if (of.label < 0) continue;
        int low[4] = {}, high[4] = {};
        add(low, high, of, slab, row, c, start_of(starts, of.label, c));
        give(low_sums, high_sums, of.label * WIDE + c, low, high);
    }
}
