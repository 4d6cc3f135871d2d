typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[8]; } vyre_words8;

static __device__ __forceinline__ f32 load_f32(const f32* p, u32 i, u32 n) { return i < n ? p[i] : 0; }

extern "C" __global__ void vyre_kernel(
    const f32* re,
    const f32* im,
    u32* out,
    const u32 most,
    const vyre_words8 words)
{
    const u32 len_re = words.w[1];
    const u32 len_im = words.w[2];
    const u32 len_out = words.w[3];
    const u32 n_x = words.w[5];
    const u32 span = blockDim.x * 2u;
    const u32 tile = blockIdx.x * span;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    if (left >= span) {
        const u32 pos0 = tile + threadIdx.x;
        const u32 pos1 = pos0 + blockDim.x * 1u;
        u32 i_0 = pos0;
        u32 i_1 = pos1;
        f32 cr_0 = load_f32(re, i_0, len_re);
        f32 cr_1 = load_f32(re, i_1, len_re);
        f32 ci_0 = load_f32(im, i_0, len_im);
        f32 ci_1 = load_f32(im, i_1, len_im);
        f32 zr_0 = 0.0f;
        f32 zr_1 = 0.0f;
        f32 zi_0 = 0.0f;
        f32 zi_1 = 0.0f;
        u32 v_n_0 = 0u;
        u32 v_n_1 = 0u;
        while ((v_n_0 < most) & (((zr_0 * zr_0) + (zi_0 * zi_0)) <= 4.0f)) {
            f32 zr_2_0 = ((zr_0 * zr_0) - (zi_0 * zi_0)) + cr_0;
            f32 zi_2_0 = ((2.0f * zr_0) * zi_0) + ci_0;
            zr_0 = zr_2_0;
            zi_0 = zi_2_0;
            v_n_0 = v_n_0 + 1u;
        }
        while ((v_n_1 < most) & (((zr_1 * zr_1) + (zi_1 * zi_1)) <= 4.0f)) {
            f32 zr_2_1 = ((zr_1 * zr_1) - (zi_1 * zi_1)) + cr_1;
            f32 zi_2_1 = ((2.0f * zr_1) * zi_1) + ci_1;
            zr_1 = zr_2_1;
            zi_1 = zi_2_1;
            v_n_1 = v_n_1 + 1u;
        }
        {
            const u32 value_0 = v_n_0;
            const u32 value_1 = v_n_1;
            if (i_0 < len_out) out[i_0] = value_0;
            if (i_1 < len_out) out[i_1] = value_1;
        }
    } else {
        for (u32 item = 0u; item < 2u; ++item) {
            const u32 offset = threadIdx.x + item * blockDim.x;
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 i = pos;
            f32 cr = load_f32(re, i, len_re);
            f32 ci = load_f32(im, i, len_im);
            f32 zr = 0.0f;
            f32 zi = 0.0f;
            u32 n = 0u;
            while ((n < most) & (((zr * zr) + (zi * zi)) <= 4.0f)) {
                f32 zr_2 = ((zr * zr) - (zi * zi)) + cr;
                f32 zi_2 = ((2.0f * zr) * zi) + ci;
                zr = zr_2;
                zi = zi_2;
                n = n + 1u;
            }
            if (i < len_out) out[i] = n;
        }
    }
}
