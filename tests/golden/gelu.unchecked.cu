typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[6]; } vyre_words6;

extern "C" __global__ void vyre_kernel(
    const f32* x,
    f32* out,
    const vyre_words6 words)
{
    const u32 n_x = words.w[3];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    f32 v = x[i];
    f32 inner = 0.7978846f * (v + (((0.044715f * v) * v) * v));
    out[i] = (0.5f * v) * (1.0f + tanhf(inner));
}
