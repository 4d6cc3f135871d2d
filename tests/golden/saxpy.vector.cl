#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef float f32;
typedef struct { u32 w[8]; } vyre_words8;

__kernel void vyre_kernel(
    __global const f32* x,
    __global const f32* y,
    __global f32* out,
    const f32 a,
    const vyre_words8 words)
{
    const u32 n_x = words.w[5];
    const u32 span = (u32)get_local_size(0) * 4u;
    const u32 tile = (u32)get_group_id(0) * span;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    if (left >= span) {
        const u32 pos0 = tile + (u32)get_local_id(0) * 4u;
        const u32 pos1 = pos0 + 1u;
        const u32 pos2 = pos0 + 2u;
        const u32 pos3 = pos0 + 3u;
        u32 i_0 = pos0;
        u32 i_1 = pos1;
        u32 i_2 = pos2;
        u32 i_3 = pos3;
        {
            const float4 x_0 = vload4(0, x + i_0);
            const float4 y_0 = vload4(0, y + i_0);
            const f32 value_0 = (a * x_0.s0) + y_0.s0;
            const f32 value_1 = (a * x_0.s1) + y_0.s1;
            const f32 value_2 = (a * x_0.s2) + y_0.s2;
            const f32 value_3 = (a * x_0.s3) + y_0.s3;
            vstore4((float4)(value_0, value_1, value_2, value_3), 0, out + i_0);
        }
    } else {
        for (u32 item = 0u; item < 4u; ++item) {
            const u32 offset = (u32)get_local_id(0) * 4u + item;
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 i = pos;
            out[i] = (a * x[i]) + y[i];
        }
    }
}
