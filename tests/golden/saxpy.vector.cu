typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[1]; } vyre_words1;

extern "C" __global__ void vyre_kernel(
    const f32* p_x,
    const f32* p_y,
    f32* p_out,
    const f32 p_a,
    const vyre_words1 words)
{
    const u32 n_x = words.w[0];
    const u32 tile = blockIdx.x * blockDim.x * 4u;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    if (left > threadIdx.x * 4u + 3u) {
        const u32 pos0 = tile + threadIdx.x * 4u;
        const u32 pos1 = pos0 + 1u;
        const u32 pos2 = pos0 + 2u;
        const u32 pos3 = pos0 + 3u;
        u32 v0_i = pos0;
        u32 v1_i = pos1;
        u32 v2_i = pos2;
        u32 v3_i = pos3;
        const float4 row_x = *(const float4*)(p_x + v0_i);
        const float4 row_y = *(const float4*)(p_y + v0_i);
        {
            const f32 value_0 = (p_a * row_x.x) + row_y.x;
            const f32 value_1 = (p_a * row_x.y) + row_y.y;
            const f32 value_2 = (p_a * row_x.z) + row_y.z;
            const f32 value_3 = (p_a * row_x.w) + row_y.w;
            *(float4*)(p_out + (v0_i)) = make_float4(value_0, value_1, value_2, value_3);
        }
    } else {
        for (u32 item = 0u; item < 4u; ++item) {
            const u32 offset = threadIdx.x * 4u + item;
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 v_i = pos;
            p_out[v_i] = (p_a * p_x[v_i]) + p_y[v_i];
        }
    }
}
