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
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
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
