#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef float f32;
typedef struct { u32 w[1]; } vyre_words1;

__kernel void vyre_kernel(
    __global const f32* restrict p_re,
    __global const f32* restrict p_im,
    __global u32* p_out,
    const u32 p_most,
    const vyre_words1 words)
{
    const u32 n_x = words.w[0];
    if ((u32)get_global_id(0) >= n_x) return;
    u32 v_i = (u32)get_global_id(0);
    f32 v_cr = p_re[v_i];
    f32 v_ci = p_im[v_i];
    f32 v_zr = 0.0f;
    f32 v_zi = 0.0f;
    u32 v_n = 0u;
    while ((v_n < p_most) & (((v_zr * v_zr) + (v_zi * v_zi)) <= 4.0f)) {
        f32 v_zr_2 = ((v_zr * v_zr) - (v_zi * v_zi)) + v_cr;
        f32 v_zi_2 = ((2.0f * v_zr) * v_zi) + v_ci;
        v_zr = v_zr_2;
        v_zi = v_zi_2;
        v_n = v_n + 1u;
    }
    p_out[v_i] = v_n;
}
