typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[8]; } vyre_words8;

extern "C" __global__ void vyre_kernel(
    const f32* x,
    const f32* y,
    f32* out,
    const f32 a,
    const vyre_words8 words)
{
    const u32 n_x = words.w[5];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = (a * x[i]) + y[i];
}
