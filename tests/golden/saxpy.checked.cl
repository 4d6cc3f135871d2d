#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef float f32;
typedef struct { u32 w[8]; } vyre_words8;

static inline f32 load_f32(__global const f32* p, u32 i, u32 n) { return i < n ? p[i] : 0; }

__kernel void vyre_kernel(
    __global const f32* x,
    __global const f32* y,
    __global f32* out,
    const f32 a,
    const vyre_words8 words)
{
    const u32 len_x = words.w[1];
    const u32 len_y = words.w[2];
    const u32 len_out = words.w[3];
    const u32 n_x = words.w[5];
    if ((u32)get_global_id(0) >= n_x) return;
    u32 i = (u32)get_global_id(0);
    if (i < len_out) out[i] = (a * load_f32(x, i, len_x)) + load_f32(y, i, len_y);
}
