typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef struct { u32 w[2]; } vyre_words2;

extern "C" __global__ void __launch_bounds__(256) vyre_kernel(
    const f32* __restrict__ p_x,
    f32* __restrict__ p_out,
    const vyre_words2 words)
{
    const u32 dim1_x = words.w[0];
    const u32 dim1_out = words.w[1];
    __shared__ __align__(16) f32 near_x[1088];
    const u32 lane = (threadIdx.z * 16u + threadIdx.y) * 16u + threadIdx.x;
    const u32 tile_column = blockIdx.x * 32u;
    const u32 tile_line = blockIdx.y * 32u;
    const u32 tile_plane = blockIdx.z * 1u;
    const u32 column0 = tile_column + threadIdx.x * 2u;
    const u32 column1 = tile_column + threadIdx.x * 2u + 1u;
    const u32 line0 = tile_line + threadIdx.y * 2u;
    const u32 line1 = tile_line + threadIdx.y * 2u + 1u;
    const u32 plane0 = tile_plane;
    const bool mine = true;
    const bool whole = mine;
    const u32 base_x = threadIdx.x * 2u + threadIdx.y * 2u * 34u;
    {
        const u32 c1 = (lane % 16u) * 2u;
        const u32 c0 = lane / 16u;
        const u32 e0 = tile_column + c0;
        const u32 e1 = tile_line + c1;
        const f32* from = p_x + ((u64)e0 * dim1_x + e1);
        f32* to = near_x + (c0 + c1 * 34u);
        #pragma unroll
        for (u32 turn = 0u; turn < 2u; ++turn) {
            const float2 found = e1 < dim1_x ? *(const float2*)(from + (u64)(turn * 16u) * dim1_x) : make_float2(0, 0);
            to[turn * 16u] = found.x;
            to[turn * 16u + 34u] = found.y;
        }
    }
    __syncthreads();
    u32 v0_i = line0;
    u32 v1_i = line1;
    u32 v0_j = column0;
    u32 v1_j = column1;
    const float2 row_x = *(const float2*)(near_x + base_x);
    const float2 row_x_2 = *(const float2*)(near_x + base_x + 34u);
    {
        const f32 value_0 = row_x.x;
        const f32 value_1 = row_x.y;
        *(float2*)(p_out + (v0_i * dim1_out + v0_j)) = make_float2(value_0, value_1);
    }
    {
        const f32 value_2 = row_x_2.x;
        const f32 value_3 = row_x_2.y;
        *(float2*)(p_out + (v1_i * dim1_out + v0_j)) = make_float2(value_2, value_3);
    }
}
