#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef int i32;
typedef float f32;
typedef struct { u32 w[6]; } vyre_words6;

__kernel void vyre_kernel(
    __global const f32* x,
    __global f32* out,
    const vyre_words6 words)
{
    const u32 n_x = words.w[3];
    const u32 span = (u32)get_local_size(0) * 4u;
    const u32 tile = (u32)get_group_id(0) * span;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    if (left >= span) {
        const u32 pos0 = tile + (u32)get_local_id(0);
        const u32 pos1 = pos0 + (u32)get_local_size(0) * 1u;
        const u32 pos2 = pos0 + (u32)get_local_size(0) * 2u;
        const u32 pos3 = pos0 + (u32)get_local_size(0) * 3u;
        u32 i_0 = pos0;
        u32 i_1 = pos1;
        u32 i_2 = pos2;
        u32 i_3 = pos3;
        f32 v_0 = x[i_0];
        f32 v_1 = x[i_1];
        f32 v_2 = x[i_2];
        f32 v_3 = x[i_3];
        f32 s_0 = v_0;
        f32 s_1 = v_1;
        f32 s_2 = v_2;
        f32 s_3 = v_3;
        #pragma unroll 4
        for (i32 _ = 0; _ < 512; ++_) {
            s_0 = (s_0 * v_0) + 0.5f;
            s_1 = (s_1 * v_1) + 0.5f;
            s_2 = (s_2 * v_2) + 0.5f;
            s_3 = (s_3 * v_3) + 0.5f;
        }
        {
            const f32 value_0 = s_0;
            const f32 value_1 = s_1;
            const f32 value_2 = s_2;
            const f32 value_3 = s_3;
            out[i_0] = value_0;
            out[i_1] = value_1;
            out[i_2] = value_2;
            out[i_3] = value_3;
        }
    } else {
        for (u32 item = 0u; item < 4u; ++item) {
            const u32 offset = (u32)get_local_id(0) + item * (u32)get_local_size(0);
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 i = pos;
            f32 v = x[i];
            f32 s = v;
            #pragma unroll 4
            for (i32 _ = 0; _ < 512; ++_) {
                s = (s * v) + 0.5f;
            }
            out[i] = s;
        }
    }
}
