#pragma OPENCL FP_CONTRACT OFF
typedef uchar u8;
typedef uint u32;
typedef ulong u64;
typedef struct { u32 w[2]; } vyre_words2;

static inline u32 atomic_add_u32(__global u32* p, u64 i, u32 n, u32 v) {
    if (i >= n) return 0u;
    return atomic_add(p + i, v);
}

__kernel void vyre_kernel(
    __global const u8* restrict p_data,
    __global u32* restrict p_bins,
    const vyre_words2 words)
{
    const u32 len_data = words.w[0];
    const u32 n_x = words.w[1];
    if ((u32)get_global_id(0) >= n_x) return;
    u32 v_i = (u32)get_global_id(0);
    u32 v_old_value = atomic_add_u32(p_bins, (u32)(v_i < len_data ? p_data[v_i] : 0), 256u, 1u);
}
