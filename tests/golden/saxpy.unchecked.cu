typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[1]; } vyre_words1;

extern "C" __global__ void vyre_kernel(
    const f32* p_x,
    const f32* p_y,
    f32* p_out,
    const f32 p_a,
    const vyre_words1 words)
{
    const u32 n_x = words.w[0];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 v_i = blockIdx.x * blockDim.x + threadIdx.x;
    p_out[v_i] = (p_a * p_x[v_i]) + p_y[v_i];
}
