#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef int i32;
typedef float f32;
typedef struct { u32 w[1]; } vyre_words1;

__kernel void vyre_kernel(
    __global const f32* p_x,
    __global f32* p_out,
    const vyre_words1 words)
{
    const u32 n_x = words.w[0];
    const u32 tile = (u32)get_group_id(0) * (u32)get_local_size(0) * 4u;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    if (left > (u32)get_local_id(0) + (u32)get_local_size(0) * 3u) {
        const u32 pos0 = tile + (u32)get_local_id(0);
        const u32 pos1 = pos0 + (u32)get_local_size(0) * 1u;
        const u32 pos2 = pos0 + (u32)get_local_size(0) * 2u;
        const u32 pos3 = pos0 + (u32)get_local_size(0) * 3u;
        u32 v0_i = pos0;
        u32 v1_i = pos1;
        u32 v2_i = pos2;
        u32 v3_i = pos3;
        const f32 row_x = p_x[v0_i];
        const f32 row_x_2 = p_x[v1_i];
        const f32 row_x_3 = p_x[v2_i];
        const f32 row_x_4 = p_x[v3_i];
        f32 v0_v = row_x;
        f32 v1_v = row_x_2;
        f32 v2_v = row_x_3;
        f32 v3_v = row_x_4;
        f32 v0_s = v0_v;
        f32 v1_s = v1_v;
        f32 v2_s = v2_v;
        f32 v3_s = v3_v;
        #pragma unroll 4
        for (i32 v__ = 0; v__ < 512; ++v__) {
            v0_s = (v0_s * v0_v) + 0.5f;
            v1_s = (v1_s * v1_v) + 0.5f;
            v2_s = (v2_s * v2_v) + 0.5f;
            v3_s = (v3_s * v3_v) + 0.5f;
        }
        {
            const f32 value_0 = v0_s;
            const f32 value_1 = v1_s;
            const f32 value_2 = v2_s;
            const f32 value_3 = v3_s;
            p_out[v0_i] = value_0;
            p_out[v1_i] = value_1;
            p_out[v2_i] = value_2;
            p_out[v3_i] = value_3;
        }
    } else {
        for (u32 item = 0u; item < 4u; ++item) {
            const u32 offset = (u32)get_local_id(0) + item * (u32)get_local_size(0);
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 v_i = pos;
            f32 v_v = p_x[v_i];
            f32 v_s = v_v;
            #pragma unroll 4
            for (i32 v__ = 0; v__ < 512; ++v__) {
                v_s = (v_s * v_v) + 0.5f;
            }
            p_out[v_i] = v_s;
        }
    }
}
