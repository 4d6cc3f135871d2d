#pragma OPENCL FP_CONTRACT OFF
typedef uchar u8;
typedef uint u32;
typedef ulong u64;
typedef struct { u32 w[1]; } vyre_words1;

static inline u32 atomic_add_u32(__global u32* p, u64 i, u32 n, u32 v) {
    if (i >= n) return 0u;
    return atomic_add(p + i, v);
}

__kernel void vyre_kernel(
    __global const u8* restrict p_data,
    __global u32* restrict p_bins,
    const vyre_words1 words)
{
    const u32 n_x = words.w[0];
    const u32 tile = (u32)get_group_id(0) * (u32)get_local_size(0) * 2u;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    if (left > (u32)get_local_id(0) + (u32)get_local_size(0) * 1u) {
        const u32 pos0 = tile + (u32)get_local_id(0);
        const u32 pos1 = pos0 + (u32)get_local_size(0) * 1u;
        u32 v0_i = pos0;
        u32 v1_i = pos1;
        const u8 row_data = p_data[v0_i];
        const u8 row_data_2 = p_data[v1_i];
        u32 v0_old_value = atomic_add_u32(p_bins, (u32)row_data, 256u, 1u);
        u32 v1_old_value = atomic_add_u32(p_bins, (u32)row_data_2, 256u, 1u);
    } else {
        for (u32 item = 0u; item < 2u; ++item) {
            const u32 offset = (u32)get_local_id(0) + item * (u32)get_local_size(0);
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 v_i = pos;
            u32 v_old_value = atomic_add_u32(p_bins, (u32)p_data[v_i], 256u, 1u);
        }
    }
}
