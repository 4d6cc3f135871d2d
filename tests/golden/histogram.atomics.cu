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
    const u32 tile = blockIdx.x * blockDim.x * 2u;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    __shared__ u32 near_bins[256];
    const u32 lane = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const u32 lanes = blockDim.x * blockDim.y * blockDim.z;
    for (u32 at = lane; at < 256u; at += lanes) near_bins[at] = 0;
    __syncthreads();
    if (left > threadIdx.x + blockDim.x * 1u) {
        const u32 pos0 = tile + threadIdx.x;
        const u32 pos1 = pos0 + blockDim.x * 1u;
        u32 v0_i = pos0;
        u32 v1_i = pos1;
        const u8 row_data = p_data[v0_i];
        const u8 row_data_2 = p_data[v1_i];
        u32 v0_old_value = atomic_add_u32(near_bins, (u32)row_data, 256u, 1u);
        u32 v1_old_value = atomic_add_u32(near_bins, (u32)row_data_2, 256u, 1u);
    } else {
        for (u32 item = 0u; item < 2u; ++item) {
            const u32 offset = threadIdx.x + item * blockDim.x;
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 v_i = pos;
            u32 v_old_value = atomic_add_u32(near_bins, (u32)p_data[v_i], 256u, 1u);
        }
    }
    __syncthreads();
    for (u32 at = lane; at < 256u; at += lanes)
        if (near_bins[at] != 0) atomicAdd(p_bins + at, near_bins[at]);
}
