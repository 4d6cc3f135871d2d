#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
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
    for (u32 item = 0u; item < 4u; ++item) {
        const u32 offset = (u32)get_local_id(0) + item * (u32)get_local_size(0);
        if (offset >= left) break;
        const u32 pos = tile + offset;
        {
            f32 v_v = p_x[pos];
            if (v_v < 0.0f) {
                goto next;
            }
            p_out[pos] = sqrt(v_v);
        }
        next: ;
    }
}
