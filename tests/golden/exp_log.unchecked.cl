#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef float f32;
typedef struct { u32 w[6]; } vyre_words6;

static inline f32 exp_f32(f32 a) { return a != a ? a : exp(a); }

static inline f32 log_f32(f32 a) { return a != a ? a : log(a); }

__kernel void vyre_kernel(
    __global const f32* p_x,
    __global f32* p_out,
    const vyre_words6 words)
{
    const u32 n_x = words.w[3];
    if ((u32)get_global_id(0) >= n_x) return;
    u32 v_i = (u32)get_global_id(0);
    p_out[v_i] = log_f32(1.0f + exp_f32(p_x[v_i]));
}
