typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef struct { u32 w[5]; } vyre_words5;

static __device__ __forceinline__ f32 fast_inverse_sqrt_f32_normal(f32 a) {
    f32 r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}

extern "C" __global__ void __launch_bounds__(64) vyre_kernel(
    const f32* __restrict__ p_x,
    const f32* __restrict__ p_y,
    const f32* __restrict__ p_z,
    const f32* __restrict__ p_m,
    f32* __restrict__ p_ax,
    f32* __restrict__ p_ay,
    f32* __restrict__ p_az,
    const vyre_words5 words)
{
    const u32 len_x = words.w[0];
    const u32 len_y = words.w[1];
    const u32 len_z = words.w[2];
    const u32 len_m = words.w[3];
    const u32 n_x = words.w[4];
    __shared__ __align__(16) f32 near_x[128];
    __shared__ __align__(16) f32 near_y[128];
    __shared__ __align__(16) f32 near_z[128];
    __shared__ __align__(16) f32 near_m[128];
    const u32 lane = (threadIdx.z * 1u + threadIdx.y) * 64u + threadIdx.x;
    const u32 tile_column = blockIdx.x * 64u;
    const u32 tile_line = blockIdx.y * 1u;
    const u32 tile_plane = blockIdx.z * 1u;
    const u32 column0 = tile_column + threadIdx.x;
    const u32 line0 = tile_line;
    const u32 plane0 = tile_plane;
    const bool mine = true;
    const bool whole = mine && n_x - tile_column >= 64u;
    const u32 base_x = 0u;
    const u32 base_y = 0u;
    const u32 base_z = 0u;
    const u32 base_m = 0u;
    u32 v0_i = column0;
    const f32 row_x = v0_i < len_x ? p_x[v0_i] : 0;
    const f32 row_y = v0_i < len_y ? p_y[v0_i] : 0;
    const f32 row_z = v0_i < len_z ? p_z[v0_i] : 0;
    f32 v0_px = row_x;
    f32 v0_py = row_y;
    f32 v0_pz = row_z;
    f32 v0_sx = 0.0f;
    f32 v0_sy = 0.0f;
    f32 v0_sz = 0.0f;
    {
        const u32 begin = 0u, end = len_x;
        const u32 rounds = begin < end ? (u32)end - (u32)begin : 0u;
        f32 ahead_x[1];
        f32 ahead_y[1];
        f32 ahead_z[1];
        f32 ahead_m[1];
        {
            const u32 c0 = lane;
            const u32 e0 = (u32)begin + c0;
            const f32* from = p_x + (u64)e0;
            f32* to = near_x + (c0);
            #pragma unroll
            for (u32 turn = 0u; turn < 1u; ++turn) {
                const f32 found = e0 < len_x ? from[0] : (f32)0;
                to[0] = found;
            }
        }
        {
            const u32 c0 = lane;
            const u32 e0 = (u32)begin + c0;
            const f32* from = p_y + (u64)e0;
            f32* to = near_y + (c0);
            #pragma unroll
            for (u32 turn = 0u; turn < 1u; ++turn) {
                const f32 found = e0 < len_y ? from[0] : (f32)0;
                to[0] = found;
            }
        }
        {
            const u32 c0 = lane;
            const u32 e0 = (u32)begin + c0;
            const f32* from = p_z + (u64)e0;
            f32* to = near_z + (c0);
            #pragma unroll
            for (u32 turn = 0u; turn < 1u; ++turn) {
                const f32 found = e0 < len_z ? from[0] : (f32)0;
                to[0] = found;
            }
        }
        {
            const u32 c0 = lane;
            const u32 e0 = (u32)begin + c0;
            const f32* from = p_m + (u64)e0;
            f32* to = near_m + (c0);
            #pragma unroll
            for (u32 turn = 0u; turn < 1u; ++turn) {
                const f32 found = e0 < len_m ? from[0] : (f32)0;
                to[0] = found;
            }
        }
        __syncthreads();
        u32 side = 0u;
        for (u32 done = 0u; done < rounds; side ^= 1u) {
            const u32 first = (u32)begin + done;
            const u32 count = rounds - done < 64u ? rounds - done : 64u;
            const bool more = rounds - done > 64u;
            const f32* now_x = near_x + side * 64u;
            const f32* now_y = near_y + side * 64u;
            const f32* now_z = near_z + side * 64u;
            const f32* now_m = near_m + side * 64u;
            if (more) {
                {
                    const u32 c0 = lane;
                    const u32 e0 = (first + 64u) + c0;
                    const f32* from = p_x + (u64)e0;
                    #pragma unroll
                    for (u32 turn = 0u; turn < 1u; ++turn) {
                        ahead_x[turn] = e0 < len_x ? from[0] : (f32)0;
                    }
                }
                {
                    const u32 c0 = lane;
                    const u32 e0 = (first + 64u) + c0;
                    const f32* from = p_y + (u64)e0;
                    #pragma unroll
                    for (u32 turn = 0u; turn < 1u; ++turn) {
                        ahead_y[turn] = e0 < len_y ? from[0] : (f32)0;
                    }
                }
                {
                    const u32 c0 = lane;
                    const u32 e0 = (first + 64u) + c0;
                    const f32* from = p_z + (u64)e0;
                    #pragma unroll
                    for (u32 turn = 0u; turn < 1u; ++turn) {
                        ahead_z[turn] = e0 < len_z ? from[0] : (f32)0;
                    }
                }
                {
                    const u32 c0 = lane;
                    const u32 e0 = (first + 64u) + c0;
                    const f32* from = p_m + (u64)e0;
                    #pragma unroll
                    for (u32 turn = 0u; turn < 1u; ++turn) {
                        ahead_m[turn] = e0 < len_m ? from[0] : (f32)0;
                    }
                }
            }
            {
                if (count == 64u) {
                    #pragma unroll 64
                    for (u32 q = 0u; q < 64u; ++q) {
                        const u32 v_j = (u32)(first + q);
                        const f32 row_x_3 = now_x[base_x + q];
                        const f32 row_y_3 = now_y[base_y + q];
                        const f32 row_z_3 = now_z[base_z + q];
                        const f32 row_m_2 = now_m[base_m + q];
                        f32 v0_dx = row_x_3 - v0_px;
                        f32 v0_dy = row_y_3 - v0_py;
                        f32 v0_dz = row_z_3 - v0_pz;
                        f32 v0_r = fast_inverse_sqrt_f32_normal(fmaf(v0_dz, v0_dz, fmaf(v0_dx, v0_dx, v0_dy * v0_dy)) + 0.0001f);
                        f32 v0_s = ((row_m_2 * v0_r) * v0_r) * v0_r;
                        v0_sx = fmaf(v0_s, v0_dx, v0_sx);
                        v0_sy = fmaf(v0_s, v0_dy, v0_sy);
                        v0_sz = fmaf(v0_s, v0_dz, v0_sz);
                    }
                } else {
                    for (u32 q = 0u; q < count; ++q) {
                        const u32 v_j = (u32)(first + q);
                        const f32 row_x_3 = now_x[base_x + q];
                        const f32 row_y_3 = now_y[base_y + q];
                        const f32 row_z_3 = now_z[base_z + q];
                        const f32 row_m_2 = now_m[base_m + q];
                        f32 v0_dx = row_x_3 - v0_px;
                        f32 v0_dy = row_y_3 - v0_py;
                        f32 v0_dz = row_z_3 - v0_pz;
                        f32 v0_r = fast_inverse_sqrt_f32_normal(fmaf(v0_dz, v0_dz, fmaf(v0_dx, v0_dx, v0_dy * v0_dy)) + 0.0001f);
                        f32 v0_s = ((row_m_2 * v0_r) * v0_r) * v0_r;
                        v0_sx = fmaf(v0_s, v0_dx, v0_sx);
                        v0_sy = fmaf(v0_s, v0_dy, v0_sy);
                        v0_sz = fmaf(v0_s, v0_dz, v0_sz);
                    }
                }
            }
            if (more) {
                {
                    const u32 c0 = lane;
                    f32* to = near_x + ((side ^ 1u) * 64u + c0);
                    #pragma unroll
                    for (u32 turn = 0u; turn < 1u; ++turn) {
                        to[0] = ahead_x[turn];
                    }
                }
                {
                    const u32 c0 = lane;
                    f32* to = near_y + ((side ^ 1u) * 64u + c0);
                    #pragma unroll
                    for (u32 turn = 0u; turn < 1u; ++turn) {
                        to[0] = ahead_y[turn];
                    }
                }
                {
                    const u32 c0 = lane;
                    f32* to = near_z + ((side ^ 1u) * 64u + c0);
                    #pragma unroll
                    for (u32 turn = 0u; turn < 1u; ++turn) {
                        to[0] = ahead_z[turn];
                    }
                }
                {
                    const u32 c0 = lane;
                    f32* to = near_m + ((side ^ 1u) * 64u + c0);
                    #pragma unroll
                    for (u32 turn = 0u; turn < 1u; ++turn) {
                        to[0] = ahead_m[turn];
                    }
                }
            }
            __syncthreads();
            done += count;
        }
    }
    {
        const f32 value_0 = v0_sx;
        if (mine && column0 < n_x) p_ax[v0_i] = value_0;
    }
    {
        const f32 value_0 = v0_sy;
        if (mine && column0 < n_x) p_ay[v0_i] = value_0;
    }
    {
        const f32 value_0 = v0_sz;
        if (mine && column0 < n_x) p_az[v0_i] = value_0;
    }
}
