typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[4]; } vyre_words4;

static __device__ __forceinline__ f32 load_f32(const f32* p, u32 i, u32 n) { return i < n ? p[i] : 0; }

extern "C" __global__ void vyre_kernel(
    const f32* __restrict__ p_table,
    const u32* __restrict__ p_index,
    f32* __restrict__ p_out,
    const vyre_words4 words)
{
    const u32 len_table = words.w[0];
    const u32 len_index = words.w[1];
    const u32 len_out = words.w[2];
    const u32 n_x = words.w[3];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 v_i = blockIdx.x * blockDim.x + threadIdx.x;
    if (v_i < len_out) p_out[v_i] = load_f32(p_table, v_i < len_index ? p_index[v_i] : 0, len_table);
}
