typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[1]; } vyre_words1;

extern "C" __global__ void vyre_kernel(
    const f32* p_x,
    f32* p_out,
    const vyre_words1 words)
{
    const u32 n_x = words.w[0];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 v_i = blockIdx.x * blockDim.x + threadIdx.x;
    f32 v_v = p_x[v_i];
    f32 v_inner = 0.7978846f * (v_v + (((0.044715f * v_v) * v_v) * v_v));
    p_out[v_i] = (0.5f * v_v) * (1.0f + tanhf(v_inner));
}
