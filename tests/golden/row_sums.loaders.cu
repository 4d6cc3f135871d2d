typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef struct { u32 w[3]; } vyre_words3;

extern "C" __global__ void __launch_bounds__(256) vyre_kernel(
    const f32* __restrict__ p_x,
    f32* __restrict__ p_out,
    const vyre_words3 words)
{
    const u32 n_x = words.w[0];
    const u32 dim0_x = words.w[1];
    const u32 dim1_x = words.w[2];
    __shared__ __align__(16) f32 near_x[1088];
    const u32 lane = (threadIdx.z * 1u + threadIdx.y) * 8u + threadIdx.x;
    const u32 tile_column = blockIdx.x * 8u;
    const u32 tile_line = blockIdx.y * 1u;
    const u32 tile_plane = blockIdx.z * 1u;
    const u32 column0 = tile_column + threadIdx.x;
    const u32 line0 = tile_line;
    const u32 plane0 = tile_plane;
    const bool mine = lane < 8u;
    const bool whole = mine && n_x - tile_column >= 8u;
    const u32 base_x = threadIdx.x * 68u;
    u32 v0_i = column0;
    f32 v0_s = 0.0f;
    {
        const u32 begin = 0u, end = dim1_x;
        const u32 rounds = begin < end ? (u32)end - (u32)begin : 0u;
        f32 ahead_x[3];
        if (lane >= 32u) {
            #pragma unroll
            for (u32 turn = 0u; turn < 3u; ++turn) {
                const u32 unit = (lane - 32u) + turn * 224u;
                if (unit < 512u) {
                    const u32 c1 = unit % 64u;
                    const u32 c0 = unit / 64u;
                    const u32 e0 = tile_column + c0;
                    const u32 e1 = (u32)begin + c1;
                    const f32* from = p_x + ((u64)e0 * dim1_x + e1);
                    f32* to = near_x + (c0 * 68u + c1);
                    const f32 found = e0 < dim0_x && e1 < dim1_x ? from[0] : (f32)0;
                    to[0] = found;
                }
            }
            if (rounds > 64u) {
                #pragma unroll
                for (u32 turn = 0u; turn < 3u; ++turn) {
                    const u32 unit = (lane - 32u) + turn * 224u;
                    if (unit < 512u) {
                        const u32 c1 = unit % 64u;
                        const u32 c0 = unit / 64u;
                        const u32 e0 = tile_column + c0;
                        const u32 e1 = ((u32)begin + 64u) + c1;
                        const f32* from = p_x + ((u64)e0 * dim1_x + e1);
                        ahead_x[turn] = e0 < dim0_x && e1 < dim1_x ? from[0] : (f32)0;
                    }
                }
            }
        }
        __syncthreads();
        u32 side = 0u;
        for (u32 done = 0u; done < rounds; side ^= 1u) {
            const u32 first = (u32)begin + done;
            const u32 count = rounds - done < 64u ? rounds - done : 64u;
            const bool more = rounds - done > 64u;
            const f32* now_x = near_x + side * 544u;
            if (lane >= 32u) {
                if (more) {
                    #pragma unroll
                    for (u32 turn = 0u; turn < 3u; ++turn) {
                        const u32 unit = (lane - 32u) + turn * 224u;
                        if (unit < 512u) {
                            const u32 c1 = unit % 64u;
                            const u32 c0 = unit / 64u;
                            f32* to = near_x + ((side ^ 1u) * 544u + c0 * 68u + c1);
                            to[0] = ahead_x[turn];
                        }
                    }
                }
                if (rounds - done > 128u) {
                    #pragma unroll
                    for (u32 turn = 0u; turn < 3u; ++turn) {
                        const u32 unit = (lane - 32u) + turn * 224u;
                        if (unit < 512u) {
                            const u32 c1 = unit % 64u;
                            const u32 c0 = unit / 64u;
                            const u32 e0 = tile_column + c0;
                            const u32 e1 = (first + 128u) + c1;
                            const f32* from = p_x + ((u64)e0 * dim1_x + e1);
                            ahead_x[turn] = e0 < dim0_x && e1 < dim1_x ? from[0] : (f32)0;
                        }
                    }
                }
            } else if (mine) {
                if (count == 64u) {
                    #pragma unroll 64
                    for (u32 q = 0u; q < 64u; ++q) {
                        const u32 v_k = (u32)(first + q);
                        const f32 row_x_2 = now_x[base_x + q];
                        v0_s = v0_s + row_x_2;
                    }
                } else {
                    for (u32 q = 0u; q < count; ++q) {
                        const u32 v_k = (u32)(first + q);
                        const f32 row_x_2 = now_x[base_x + q];
                        v0_s = v0_s + row_x_2;
                    }
                }
            }
            __syncthreads();
            done += count;
        }
    }
    {
        const f32 value_0 = v0_s;
        if (mine && column0 < n_x) p_out[v0_i] = value_0;
    }
}
