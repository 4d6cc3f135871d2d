typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[7]; } vyre_words7;

static __device__ __forceinline__ f32 load_f32(const f32* p, u32 i, u32 n) { return i < n ? p[i] : 0; }

extern "C" __global__ void vyre_kernel(
    const f32* table,
    const u32* index,
    f32* out,
    const vyre_words7 words)
{
    const u32 len_table = words.w[1];
    const u32 n_x = words.w[4];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = load_f32(table, index[i], len_table);
}
