typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef struct { u32 w[3]; } vyre_words3;

extern "C" __global__ void __launch_bounds__(256) vyre_kernel(
    const f32* __restrict__ p_x,
    f32* __restrict__ p_out,
    const vyre_words3 words)
{
    const u32 dim0_x = words.w[0];
    const u32 dim1_x = words.w[1];
    const u32 dim1_out = words.w[2];
    const u32 tile = blockIdx.x * 32u * 4u;
    const u32 first_line = (blockIdx.y * 8u + threadIdx.y) * 2u;
    const u32 pos0 = tile + threadIdx.x * 4u;
    const u32 pos1 = pos0 + 1u;
    const u32 pos2 = pos0 + 2u;
    const u32 pos3 = pos0 + 3u;
    const u32 line0 = first_line;
    const u32 line1 = first_line + 1u;
    u32 v0_i = line0;
    u32 v1_i = line1;
    u32 v0_j = pos0;
    u32 v1_j = pos1;
    u32 v2_j = pos2;
    u32 v3_j = pos3;
    const f32* from_x = p_x + ((u64)v0_i * dim1_x + (v3_j + 1u));
    const f32* from_x_2 = from_x + dim1_x;
    const float4 row_x = (v0_i - 1u) < dim0_x ? *(const float4*)(p_x + ((v0_i - 1u) * dim1_x + v0_j)) : make_float4(0, 0, 0, 0);
    const float4 row_x_2 = *(const float4*)(from_x + (-4));
    const f32 row_x_4 = (threadIdx.x & 31u) == 0u && (v0_j - 1u) < dim1_x ? from_x[-5] : 0;
    const f32 row_x_6 = (threadIdx.x & 31u) == 31u && (v3_j + 1u) < dim1_x ? from_x[0] : 0;
    const float4 row_x_7 = *(const float4*)(from_x_2 + (-4));
    const f32 row_x_9 = (threadIdx.x & 31u) == 0u && (v0_j - 1u) < dim1_x ? from_x_2[-5] : 0;
    const f32 row_x_11 = (threadIdx.x & 31u) == 31u && (v3_j + 1u) < dim1_x ? from_x_2[0] : 0;
    const float4 row_x_12 = (v1_i + 1u) < dim0_x ? *(const float4*)(p_x + ((v1_i + 1u) * dim1_x + v0_j)) : make_float4(0, 0, 0, 0);
    const f32 row_x_3 = __shfl_up_sync(0xffffffffu, row_x_2.w, 1);
    const f32 row_x_5 = __shfl_down_sync(0xffffffffu, row_x_2.x, 1);
    const f32 row_x_8 = __shfl_up_sync(0xffffffffu, row_x_7.w, 1);
    const f32 row_x_10 = __shfl_down_sync(0xffffffffu, row_x_7.x, 1);
    {
        const f32 value_0 = 0.25f * (((row_x.x + row_x_7.x) + ((threadIdx.x & 31u) == 0u ? row_x_4 : row_x_3)) + row_x_2.y);
        const f32 value_1 = 0.25f * (((row_x.y + row_x_7.y) + row_x_2.x) + row_x_2.z);
        const f32 value_2 = 0.25f * (((row_x.z + row_x_7.z) + row_x_2.y) + row_x_2.w);
        const f32 value_3 = 0.25f * (((row_x.w + row_x_7.w) + row_x_2.z) + ((threadIdx.x & 31u) == 31u ? row_x_6 : row_x_5));
        *(float4*)(p_out + (v0_i * dim1_out + v0_j)) = make_float4(value_0, value_1, value_2, value_3);
    }
    {
        const f32 value_4 = 0.25f * (((row_x_2.x + row_x_12.x) + ((threadIdx.x & 31u) == 0u ? row_x_9 : row_x_8)) + row_x_7.y);
        const f32 value_5 = 0.25f * (((row_x_2.y + row_x_12.y) + row_x_7.x) + row_x_7.z);
        const f32 value_6 = 0.25f * (((row_x_2.z + row_x_12.z) + row_x_7.y) + row_x_7.w);
        const f32 value_7 = 0.25f * (((row_x_2.w + row_x_12.w) + row_x_7.z) + ((threadIdx.x & 31u) == 31u ? row_x_11 : row_x_10));
        *(float4*)(p_out + (v1_i * dim1_out + v0_j)) = make_float4(value_4, value_5, value_6, value_7);
    }
}
