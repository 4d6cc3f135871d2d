typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[3]; } vyre_words3;

extern "C" __global__ void vyre_kernel(
    const f32* __restrict__ p_x,
    const f32* __restrict__ p_w,
    f32* __restrict__ p_out,
    const vyre_words3 words)
{
    const u32 len_x = words.w[0];
    const u32 len_out = words.w[1];
    const u32 n_x = words.w[2];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 v_i = blockIdx.x * blockDim.x + threadIdx.x;
    f32 v_s = 0.0f;
    for (u32 v_k = 0u; v_k < 9u; ++v_k) {
        v_s = v_s + ((v_k < 9u ? p_w[v_k] : 0) * (((v_i + v_k) - 4u) < len_x ? p_x[(v_i + v_k) - 4u] : 0));
    }
    if (v_i < len_out) p_out[v_i] = v_s;
}
