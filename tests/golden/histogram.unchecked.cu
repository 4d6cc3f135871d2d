typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef struct { u32 w[1]; } vyre_words1;

static __device__ __forceinline__ u32 atomic_add_u32(u32* p, u64 i, u32 n, u32 v) {
    if (i >= n) return 0u;
    return atomicAdd(p + i, v);
}

extern "C" __global__ void vyre_kernel(
    const u8* __restrict__ p_data,
    u32* __restrict__ p_bins,
    const vyre_words1 words)
{
    const u32 n_x = words.w[0];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 v_i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 v_old_value = atomic_add_u32(p_bins, (u32)p_data[v_i], 256u, 1u);
}
