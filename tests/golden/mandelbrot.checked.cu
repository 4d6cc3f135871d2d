typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[4]; } vyre_words4;

extern "C" __global__ void vyre_kernel(
    const f32* __restrict__ p_re,
    const f32* __restrict__ p_im,
    u32* p_out,
    const u32 p_most,
    const vyre_words4 words)
{
    const u32 len_re = words.w[0];
    const u32 len_im = words.w[1];
    const u32 len_out = words.w[2];
    const u32 n_x = words.w[3];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 v_i = blockIdx.x * blockDim.x + threadIdx.x;
    f32 v_cr = v_i < len_re ? p_re[v_i] : 0;
    f32 v_ci = v_i < len_im ? p_im[v_i] : 0;
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
    if (v_i < len_out) p_out[v_i] = v_n;
}
