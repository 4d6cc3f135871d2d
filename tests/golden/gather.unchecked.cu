typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[2]; } vyre_words2;

static __device__ __forceinline__ f32 load_f32(const f32* p, u32 i, u32 n) { return i < n ? p[i] : 0; }

extern "C" __global__ void vyre_kernel(
    const f32* __restrict__ p_table,
    const u32* __restrict__ p_index,
    f32* __restrict__ p_out,
    const vyre_words2 words)
{
    const u32 len_table = words.w[0];
    const u32 n_x = words.w[1];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 v_i = blockIdx.x * blockDim.x + threadIdx.x;
    p_out[v_i] = load_f32(p_table, p_index[v_i], len_table);
}
