typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef struct { u32 w[5]; } vyre_words5;

extern "C" __global__ void __launch_bounds__(256) vyre_kernel(
    const f32* __restrict__ p_x,
    f32* __restrict__ p_out,
    const vyre_words5 words)
{
    const u32 n_x = words.w[0];
    const u32 n_y = words.w[1];
    const u32 dim0_x = words.w[2];
    const u32 dim1_x = words.w[3];
    const u32 dim1_out = words.w[4];
    __shared__ __align__(16) f32 near_x[1056];
    const u32 lane = (threadIdx.z * 8u + threadIdx.y) * 32u + threadIdx.x;
    const u32 tile_column = blockIdx.x * 32u;
    const u32 tile_line = blockIdx.y * 32u;
    const u32 tile_plane = blockIdx.z * 1u;
    const u32 column0 = tile_column + threadIdx.x;
    const u32 line0 = tile_line + threadIdx.y * 4u;
    const u32 line1 = tile_line + threadIdx.y * 4u + 1u;
    const u32 line2 = tile_line + threadIdx.y * 4u + 2u;
    const u32 line3 = tile_line + threadIdx.y * 4u + 3u;
    const u32 plane0 = tile_plane;
    const bool mine = true;
    const bool whole = mine && n_x - tile_column >= 32u && n_y - tile_line >= 32u;
    const u32 base_x = threadIdx.x + threadIdx.y * 4u * 33u;
    {
        const u32 c1 = lane % 32u;
        const u32 c0 = lane / 32u;
        const u32 e0 = tile_column + c0;
        const u32 e1 = tile_line + c1;
        const f32* from = p_x + ((u64)e0 * dim1_x + e1);
        f32* to = near_x + (c0 + c1 * 33u);
        #pragma unroll
        for (u32 turn = 0u; turn < 4u; ++turn) {
            const f32 found = e0 < dim0_x && turn * 8u < dim0_x - e0 && e1 < dim1_x ? from[(u64)(turn * 8u) * dim1_x] : (f32)0;
            to[turn * 8u] = found;
        }
    }
    __syncthreads();
    u32 v0_i = line0;
    u32 v1_i = line1;
    u32 v2_i = line2;
    u32 v3_i = line3;
    u32 v0_j = column0;
    const f32 row_x_2 = near_x[base_x];
    const f32 row_x_4 = near_x[base_x + 33u];
    const f32 row_x_6 = near_x[base_x + 66u];
    const f32 row_x_8 = near_x[base_x + 99u];
    {
        const f32 value_0 = row_x_2;
        if (mine && column0 < n_x && line0 < n_y) p_out[v0_i * dim1_out + v0_j] = value_0;
    }
    {
        const f32 value_1 = row_x_4;
        if (mine && column0 < n_x && line1 < n_y) p_out[v1_i * dim1_out + v0_j] = value_1;
    }
    {
        const f32 value_2 = row_x_6;
        if (mine && column0 < n_x && line2 < n_y) p_out[v2_i * dim1_out + v0_j] = value_2;
    }
    {
        const f32 value_3 = row_x_8;
        if (mine && column0 < n_x && line3 < n_y) p_out[v3_i * dim1_out + v0_j] = value_3;
    }
}
