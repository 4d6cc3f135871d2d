"""CUDA kernels written by hand, as source: what a copy reaches, and sums of rows in their order."""

COPY = r"""
// Of each block a run of blockDim.x * MANY pieces of 16 bytes: all are loaded, then all stored.
template <int MANY, bool PAST>
__device__ __forceinline__ void run_of_pieces(const uint4* x, uint4* out, unsigned n, unsigned at) {
    uint4 held[MANY];
    if (at + (MANY - 1) * blockDim.x < n) {
#pragma unroll
        for (int k = 0; k < MANY; ++k)
            held[k] = PAST ? __ldcs(x + at + k * blockDim.x) : x[at + k * blockDim.x];
#pragma unroll
        for (int k = 0; k < MANY; ++k) {
            if (PAST) __stcs(out + at + k * blockDim.x, held[k]);
            else out[at + k * blockDim.x] = held[k];
        }
        return;
    }
    for (; at < n; at += blockDim.x) out[at] = x[at];
}

#define COPY(NAME, MANY, PAST)                                                                \
    extern "C" __global__ void NAME(const uint4* __restrict__ x, uint4* __restrict__ out,     \
                                    unsigned n) {                                             \
        const unsigned at = blockIdx.x * blockDim.x * MANY + threadIdx.x;                     \
        run_of_pieces<MANY, PAST>(x, out, n, at);                                             \
    }                                                                                         \
    extern "C" __global__ void NAME##_again(const uint4* __restrict__ x,                      \
                                            uint4* __restrict__ out, unsigned n) {            \
        const unsigned step = gridDim.x * blockDim.x * MANY;                                  \
        for (unsigned at = blockIdx.x * blockDim.x * MANY + threadIdx.x; at < n; at += step)  \
            run_of_pieces<MANY, PAST>(x, out, n, at);                                         \
    }

COPY(copy1, 1, false)
COPY(copy2, 2, false)
COPY(copy4, 4, false)
COPY(copy8, 8, false)
COPY(copy4_past, 4, true)
"""
"""Copies of pieces of 16 bytes; `_again` goes on where its grid is smaller than the array."""

COPIES = (
    *(("copy1", block, 1, 0) for block in (256, 512, 1024)),
    *(("copy2", block, 2, 0) for block in (128, 256, 512, 1024)),
    *(("copy4", block, 4, 0) for block in (64, 128, 256, 512)),
    *(("copy8", block, 8, 0) for block in (64, 128, 256)),
    *(("copy4_past", block, 4, 0) for block in (128, 256)),
    *(("copy4_again", 256, 4, waves) for waves in (4, 8)),
    *(("copy2_again", 512, 2, waves) for waves in (2, 4)),
)
"""Entry, threads, pieces a thread, and blocks of a multiprocessor, or 0 for as many as it takes."""

ROW_SUMS = r"""
// One warp adds up, a row in each lane, in the order of the columns; the others bring the next
// columns meanwhile. A row of the tile is one longer than it has to be: lanes meet no bank twice.
template <int ROWS, int WIDTH, int WARPS>
__device__ __forceinline__ void bring(float (*tile)[WIDTH + 1], const float* x, unsigned columns,
                                      unsigned warp) {
    constexpr int EACH = ROWS / WARPS, MANY = WIDTH / 32;
    const unsigned lane = threadIdx.x % 32;
    float held[EACH][MANY];
#pragma unroll
    for (int r = 0; r < EACH; ++r)
#pragma unroll
        for (int k = 0; k < MANY; ++k)
            held[r][k] = x[(size_t)(warp + r * WARPS) * columns + lane + 32 * k];
#pragma unroll
    for (int r = 0; r < EACH; ++r)
#pragma unroll
        for (int k = 0; k < MANY; ++k) tile[warp + r * WARPS][lane + 32 * k] = held[r][k];
}

template <int ROWS, int WIDTH, int WARPS>
__device__ __forceinline__ void sums(const float* x, float* out, unsigned columns) {
    __shared__ float tile[2][ROWS][WIDTH + 1];
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    x += (size_t)blockIdx.x * ROWS * columns;
    float sum = 0.0f;
    if (warp > 0) bring<ROWS, WIDTH, WARPS>(tile[0], x, columns, warp - 1);
    __syncthreads();
    for (unsigned start = 0, half = 0; start < columns; start += WIDTH, half ^= 1) {
        if (warp > 0) {
            if (start + WIDTH < columns)
                bring<ROWS, WIDTH, WARPS>(tile[half ^ 1], x + start + WIDTH, columns, warp - 1);
        } else if (lane < ROWS) {
#pragma unroll 32
            for (int k = 0; k < WIDTH; ++k) sum += tile[half][lane][k];
        }
        __syncthreads();
    }
    if (warp == 0 && lane < ROWS) out[blockIdx.x * ROWS + lane] = sum;
}

#define SUMS(ROWS, WIDTH, WARPS)                                                              \
    extern "C" __global__ void __launch_bounds__(32 * (WARPS + 1))                            \
        sums_##ROWS##_##WIDTH##_##WARPS(const float* __restrict__ x, float* __restrict__ out, \
                                        unsigned columns) {                                   \
        sums<ROWS, WIDTH, WARPS>(x, out, columns);                                            \
    }

SUMS(32, 128, 16)
SUMS(32, 128, 8)
SUMS(32, 64, 8)
SUMS(16, 128, 16)
SUMS(16, 256, 16)
SUMS(16, 256, 8)
SUMS(8, 256, 8)
SUMS(8, 512, 8)
"""
"""Sums of rows; the columns have to be a multiple of the width, the rows of the rows."""

SUMS = (
    *((32, 128, 16), (32, 128, 8), (32, 64, 8), (16, 128, 16), (16, 256, 16)),
    *((16, 256, 8), (8, 256, 8), (8, 512, 8)),
)
"""Rows of a block, columns at once, and warps that bring them; one more adds up."""
