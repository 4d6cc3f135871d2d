#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef float f32;
typedef struct { u32 w[11]; } vyre_words11;

static inline u32 flat2(u32 i, u32 j, u32 d0, u32 d1) { return i < d0 && j < d1 ? (u32)(i * d1 + j) : 0xffffffffu; }

static inline f32 load_f32(__global const f32* p, u32 i, u32 n) { return i < n ? p[i] : 0; }

__kernel void vyre_kernel(
    __global const f32* p_x,
    __global f32* p_out,
    const vyre_words11 words)
{
    const u32 len_x = words.w[1];
    const u32 n_x = words.w[3];
    const u32 n_y = words.w[4];
    const u32 dim0_x = words.w[6];
    const u32 dim1_x = words.w[7];
    const u32 dim1_out = words.w[9];
    if ((u32)get_global_id(1) >= n_y) return;
    const u32 span = (u32)get_local_size(0) * 4u;
    const u32 tile = (u32)get_group_id(0) * span;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    if (left >= span) {
        const u32 pos0 = tile + (u32)get_local_id(0) * 2u;
        const u32 pos1 = pos0 + 1u;
        const u32 pos2 = pos0 + (u32)get_local_size(0) * 2u;
        const u32 pos3 = pos2 + 1u;
        u32 v_i = (u32)get_global_id(1);
        u32 v0_j = pos0;
        u32 v1_j = pos1;
        u32 v2_j = pos2;
        u32 v3_j = pos3;
        {
            const f32 value_0 = 0.25f * (((load_f32(p_x, flat2(v_i - 1u, v0_j, dim0_x, dim1_x), len_x) + load_f32(p_x, flat2(v_i + 1u, v0_j, dim0_x, dim1_x), len_x)) + load_f32(p_x, flat2(v_i, v0_j - 1u, dim0_x, dim1_x), len_x)) + load_f32(p_x, flat2(v_i, v0_j + 1u, dim0_x, dim1_x), len_x));
            const f32 value_1 = 0.25f * (((load_f32(p_x, flat2(v_i - 1u, v1_j, dim0_x, dim1_x), len_x) + load_f32(p_x, flat2(v_i + 1u, v1_j, dim0_x, dim1_x), len_x)) + load_f32(p_x, flat2(v_i, v1_j - 1u, dim0_x, dim1_x), len_x)) + load_f32(p_x, flat2(v_i, v1_j + 1u, dim0_x, dim1_x), len_x));
            const f32 value_2 = 0.25f * (((load_f32(p_x, flat2(v_i - 1u, v2_j, dim0_x, dim1_x), len_x) + load_f32(p_x, flat2(v_i + 1u, v2_j, dim0_x, dim1_x), len_x)) + load_f32(p_x, flat2(v_i, v2_j - 1u, dim0_x, dim1_x), len_x)) + load_f32(p_x, flat2(v_i, v2_j + 1u, dim0_x, dim1_x), len_x));
            const f32 value_3 = 0.25f * (((load_f32(p_x, flat2(v_i - 1u, v3_j, dim0_x, dim1_x), len_x) + load_f32(p_x, flat2(v_i + 1u, v3_j, dim0_x, dim1_x), len_x)) + load_f32(p_x, flat2(v_i, v3_j - 1u, dim0_x, dim1_x), len_x)) + load_f32(p_x, flat2(v_i, v3_j + 1u, dim0_x, dim1_x), len_x));
            vstore2((float2)(value_0, value_1), 0, p_out + (v_i * dim1_out + v0_j));
            vstore2((float2)(value_2, value_3), 0, p_out + (v_i * dim1_out + v2_j));
        }
    } else {
        for (u32 item = 0u; item < 4u; ++item) {
            const u32 offset = ((u32)get_local_id(0) + item / 2u * (u32)get_local_size(0)) * 2u + item % 2u;
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 v_i = (u32)get_global_id(1);
            u32 v_j = pos;
            p_out[v_i * dim1_out + v_j] = 0.25f * (((load_f32(p_x, flat2(v_i - 1u, v_j, dim0_x, dim1_x), len_x) + load_f32(p_x, flat2(v_i + 1u, v_j, dim0_x, dim1_x), len_x)) + load_f32(p_x, flat2(v_i, v_j - 1u, dim0_x, dim1_x), len_x)) + load_f32(p_x, flat2(v_i, v_j + 1u, dim0_x, dim1_x), len_x));
        }
    }
}
