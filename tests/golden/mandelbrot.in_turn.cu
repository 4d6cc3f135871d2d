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
    const u32 tile = blockIdx.x * blockDim.x * 2u;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    if (left > threadIdx.x + blockDim.x * 1u) {
        const u32 pos0 = tile + threadIdx.x;
        const u32 pos1 = pos0 + blockDim.x * 1u;
        u32 v0_i = pos0;
        u32 v1_i = pos1;
        const f32 row_re = v0_i < len_re ? p_re[v0_i] : 0;
        const f32 row_re_2 = v1_i < len_re ? p_re[v1_i] : 0;
        const f32 row_im = v0_i < len_im ? p_im[v0_i] : 0;
        const f32 row_im_2 = v1_i < len_im ? p_im[v1_i] : 0;
        f32 v0_cr = row_re;
        f32 v1_cr = row_re_2;
        f32 v0_ci = row_im;
        f32 v1_ci = row_im_2;
        f32 v0_zr = 0.0f;
        f32 v1_zr = 0.0f;
        f32 v0_zi = 0.0f;
        f32 v1_zi = 0.0f;
        u32 v0_n = 0u;
        u32 v1_n = 0u;
        while ((v0_n < p_most) & (((v0_zr * v0_zr) + (v0_zi * v0_zi)) <= 4.0f)) {
            f32 v0_zr_2 = ((v0_zr * v0_zr) - (v0_zi * v0_zi)) + v0_cr;
            f32 v0_zi_2 = ((2.0f * v0_zr) * v0_zi) + v0_ci;
            v0_zr = v0_zr_2;
            v0_zi = v0_zi_2;
            v0_n = v0_n + 1u;
        }
        while ((v1_n < p_most) & (((v1_zr * v1_zr) + (v1_zi * v1_zi)) <= 4.0f)) {
            f32 v1_zr_2 = ((v1_zr * v1_zr) - (v1_zi * v1_zi)) + v1_cr;
            f32 v1_zi_2 = ((2.0f * v1_zr) * v1_zi) + v1_ci;
            v1_zr = v1_zr_2;
            v1_zi = v1_zi_2;
            v1_n = v1_n + 1u;
        }
        {
            const u32 value_0 = v0_n;
            const u32 value_1 = v1_n;
            if (v0_i < len_out) p_out[v0_i] = value_0;
            if (v1_i < len_out) p_out[v1_i] = value_1;
        }
    } else {
        for (u32 item = 0u; item < 2u; ++item) {
            const u32 offset = threadIdx.x + item * blockDim.x;
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 v_i = pos;
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
    }
}
