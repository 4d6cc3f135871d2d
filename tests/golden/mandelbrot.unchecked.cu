typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[8]; } vyre_words8;

extern "C" __global__ void vyre_kernel(
    const f32* re,
    const f32* im,
    u32* out,
    const u32 most,
    const vyre_words8 words)
{
    const u32 n_x = words.w[5];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    f32 cr = re[i];
    f32 ci = im[i];
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
    out[i] = n;
}
