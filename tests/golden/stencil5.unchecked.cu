typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[5]; } vyre_words5;

extern "C" __global__ void vyre_kernel(
    const f32* __restrict__ p_x,
    f32* __restrict__ p_out,
    const vyre_words5 words)
{
    const u32 n_x = words.w[0];
    const u32 n_y = words.w[1];
    const u32 dim0_x = words.w[2];
    const u32 dim1_x = words.w[3];
    const u32 dim1_out = words.w[4];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x || (blockIdx.y * blockDim.y + threadIdx.y) >= n_y) return;
    u32 v_i = blockIdx.y * blockDim.y + threadIdx.y;
    u32 v_j = blockIdx.x * blockDim.x + threadIdx.x;
    p_out[v_i * dim1_out + v_j] = 0.25f * (((((v_i - 1u) < dim0_x ? p_x[(v_i - 1u) * dim1_x + v_j] : 0) + ((v_i + 1u) < dim0_x ? p_x[(v_i + 1u) * dim1_x + v_j] : 0)) + ((v_j - 1u) < dim1_x ? p_x[v_i * dim1_x + (v_j - 1u)] : 0)) + ((v_j + 1u) < dim1_x ? p_x[v_i * dim1_x + (v_j + 1u)] : 0));
}
