typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef struct { u32 w[7]; } vyre_words7;

extern "C" __global__ void __launch_bounds__(256) vyre_kernel(
    const f32* __restrict__ p_a,
    const f32* __restrict__ p_b,
    f32* __restrict__ p_out,
    const vyre_words7 words)
{
    const u32 n_x = words.w[0];
    const u32 n_y = words.w[1];
    const u32 dim0_a = words.w[2];
    const u32 dim1_a = words.w[3];
    const u32 dim0_b = words.w[4];
    const u32 dim1_b = words.w[5];
    const u32 dim1_out = words.w[6];
    __shared__ __align__(16) f32 near_a[1088];
    __shared__ __align__(16) f32 near_b[2048];
    const u32 lane = (threadIdx.z * 16u + threadIdx.y) * 16u + threadIdx.x;
    const u32 tile_column = blockIdx.x * 64u;
    const u32 tile_line = blockIdx.y * 32u;
    const u32 tile_plane = blockIdx.z * 1u;
    const u32 column0 = tile_column + threadIdx.x * 4u;
    const u32 column1 = tile_column + threadIdx.x * 4u + 1u;
    const u32 column2 = tile_column + threadIdx.x * 4u + 2u;
    const u32 column3 = tile_column + threadIdx.x * 4u + 3u;
    const u32 line0 = tile_line + threadIdx.y * 2u;
    const u32 line1 = tile_line + threadIdx.y * 2u + 1u;
    const u32 plane0 = tile_plane;
    const bool mine = true;
    const bool whole = mine && n_x - tile_column >= 64u && n_y - tile_line >= 32u;
    const u32 base_a = threadIdx.y * 2u;
    const u32 base_b = threadIdx.x * 4u;
    u32 v0_i = line0;
    u32 v1_i = line1;
    u32 v0_j = column0;
    u32 v1_j = column1;
    u32 v2_j = column2;
    u32 v3_j = column3;
    f32 v0_s = 0.0f;
    f32 v1_s = 0.0f;
    f32 v2_s = 0.0f;
    f32 v3_s = 0.0f;
    f32 v4_s = 0.0f;
    f32 v5_s = 0.0f;
    f32 v6_s = 0.0f;
    f32 v7_s = 0.0f;
    {
        const u32 begin = 0u, end = dim1_a;
        const u32 rounds = begin < end ? (u32)end - (u32)begin : 0u;
        float4 ahead_a[1];
        float4 ahead_b[1];
        {
            const u32 c1 = (lane % 4u) * 4u;
            const u32 c0 = lane / 4u;
            const u32 e0 = tile_line + c0;
            const u32 e1 = (u32)begin + c1;
            const f32* from = p_a + ((u64)e0 * dim1_a + e1);
            f32* to = near_a + (c0 + c1 * 34u);
            #pragma unroll
            for (u32 turn = 0u; turn < 1u; ++turn) {
                if (lane + turn * 256u < 128u) {
                    const float4 found = e0 < dim0_a && turn * 64u < dim0_a - e0 && e1 < dim1_a ? *(const float4*)(from + (u64)(turn * 64u) * dim1_a) : make_float4(0, 0, 0, 0);
                    to[turn * 64u] = found.x;
                    to[turn * 64u + 34u] = found.y;
                    to[turn * 64u + 68u] = found.z;
                    to[turn * 64u + 102u] = found.w;
                }
            }
        }
        {
            const u32 c1 = (lane % 16u) * 4u;
            const u32 c0 = lane / 16u;
            const u32 e0 = (u32)begin + c0;
            const u32 e1 = tile_column + c1;
            const f32* from = p_b + ((u64)e0 * dim1_b + e1);
            f32* to = near_b + (c0 * 64u + c1);
            #pragma unroll
            for (u32 turn = 0u; turn < 1u; ++turn) {
                const float4 found = e0 < dim0_b && turn * 16u < dim0_b - e0 && e1 < dim1_b ? *(const float4*)(from + (u64)(turn * 16u) * dim1_b) : make_float4(0, 0, 0, 0);
                *(float4*)(to + (turn * 16u) * 64u) = make_float4(found.x, found.y, found.z, found.w);
            }
        }
        __syncthreads();
        u32 side = 0u;
        for (u32 done = 0u; done < rounds; side ^= 1u) {
            const u32 first = (u32)begin + done;
            const u32 count = rounds - done < 16u ? rounds - done : 16u;
            const bool more = rounds - done > 16u;
            const f32* now_a = near_a + side * 544u;
            const f32* now_b = near_b + side * 1024u;
            if (more) {
                {
                    const u32 c1 = (lane % 4u) * 4u;
                    const u32 c0 = lane / 4u;
                    const u32 e0 = tile_line + c0;
                    const u32 e1 = (first + 16u) + c1;
                    const f32* from = p_a + ((u64)e0 * dim1_a + e1);
                    #pragma unroll
                    for (u32 turn = 0u; turn < 1u; ++turn) {
                        if (lane + turn * 256u < 128u) {
                            ahead_a[turn] = e0 < dim0_a && turn * 64u < dim0_a - e0 && e1 < dim1_a ? *(const float4*)(from + (u64)(turn * 64u) * dim1_a) : make_float4(0, 0, 0, 0);
                        }
                    }
                }
                {
                    const u32 c1 = (lane % 16u) * 4u;
                    const u32 c0 = lane / 16u;
                    const u32 e0 = (first + 16u) + c0;
                    const u32 e1 = tile_column + c1;
                    const f32* from = p_b + ((u64)e0 * dim1_b + e1);
                    #pragma unroll
                    for (u32 turn = 0u; turn < 1u; ++turn) {
                        ahead_b[turn] = e0 < dim0_b && turn * 16u < dim0_b - e0 && e1 < dim1_b ? *(const float4*)(from + (u64)(turn * 16u) * dim1_b) : make_float4(0, 0, 0, 0);
                    }
                }
            }
            {
                if (count == 16u) {
                    #pragma unroll 16
                    for (u32 q = 0u; q < 16u; ++q) {
                        const u32 v_k = (u32)(first + q);
                        const float2 row_a = *(const float2*)(now_a + base_a + q * 34u);
                        const float4 row_b = *(const float4*)(now_b + base_b + q * 64u);
                        v0_s = v0_s + (row_a.x * row_b.x);
                        v1_s = v1_s + (row_a.x * row_b.y);
                        v2_s = v2_s + (row_a.x * row_b.z);
                        v3_s = v3_s + (row_a.x * row_b.w);
                        v4_s = v4_s + (row_a.y * row_b.x);
                        v5_s = v5_s + (row_a.y * row_b.y);
                        v6_s = v6_s + (row_a.y * row_b.z);
                        v7_s = v7_s + (row_a.y * row_b.w);
                    }
                } else {
                    for (u32 q = 0u; q < count; ++q) {
                        const u32 v_k = (u32)(first + q);
                        const float2 row_a = *(const float2*)(now_a + base_a + q * 34u);
                        const float4 row_b = *(const float4*)(now_b + base_b + q * 64u);
                        v0_s = v0_s + (row_a.x * row_b.x);
                        v1_s = v1_s + (row_a.x * row_b.y);
                        v2_s = v2_s + (row_a.x * row_b.z);
                        v3_s = v3_s + (row_a.x * row_b.w);
                        v4_s = v4_s + (row_a.y * row_b.x);
                        v5_s = v5_s + (row_a.y * row_b.y);
                        v6_s = v6_s + (row_a.y * row_b.z);
                        v7_s = v7_s + (row_a.y * row_b.w);
                    }
                }
            }
            if (more) {
                {
                    const u32 c1 = (lane % 4u) * 4u;
                    const u32 c0 = lane / 4u;
                    f32* to = near_a + ((side ^ 1u) * 544u + c0 + c1 * 34u);
                    #pragma unroll
                    for (u32 turn = 0u; turn < 1u; ++turn) {
                        if (lane + turn * 256u < 128u) {
                            to[turn * 64u] = ahead_a[turn].x;
                            to[turn * 64u + 34u] = ahead_a[turn].y;
                            to[turn * 64u + 68u] = ahead_a[turn].z;
                            to[turn * 64u + 102u] = ahead_a[turn].w;
                        }
                    }
                }
                {
                    const u32 c1 = (lane % 16u) * 4u;
                    const u32 c0 = lane / 16u;
                    f32* to = near_b + ((side ^ 1u) * 1024u + c0 * 64u + c1);
                    #pragma unroll
                    for (u32 turn = 0u; turn < 1u; ++turn) {
                        *(float4*)(to + (turn * 16u) * 64u) = make_float4(ahead_b[turn].x, ahead_b[turn].y, ahead_b[turn].z, ahead_b[turn].w);
                    }
                }
            }
            __syncthreads();
            done += count;
        }
    }
    {
        const f32 value_0 = v0_s;
        const f32 value_1 = v1_s;
        const f32 value_2 = v2_s;
        const f32 value_3 = v3_s;
        const f32 value_4 = v4_s;
        const f32 value_5 = v5_s;
        const f32 value_6 = v6_s;
        const f32 value_7 = v7_s;
        if (whole) {
            *(float4*)(p_out + (v0_i * dim1_out + v0_j)) = make_float4(value_0, value_1, value_2, value_3);
            *(float4*)(p_out + (v1_i * dim1_out + v0_j)) = make_float4(value_4, value_5, value_6, value_7);
        } else {
            if (mine && column0 < n_x && line0 < n_y) p_out[v0_i * dim1_out + v0_j] = value_0;
            if (mine && column1 < n_x && line0 < n_y) p_out[v0_i * dim1_out + v1_j] = value_1;
            if (mine && column2 < n_x && line0 < n_y) p_out[v0_i * dim1_out + v2_j] = value_2;
            if (mine && column3 < n_x && line0 < n_y) p_out[v0_i * dim1_out + v3_j] = value_3;
            if (mine && column0 < n_x && line1 < n_y) p_out[v1_i * dim1_out + v0_j] = value_4;
            if (mine && column1 < n_x && line1 < n_y) p_out[v1_i * dim1_out + v1_j] = value_5;
            if (mine && column2 < n_x && line1 < n_y) p_out[v1_i * dim1_out + v2_j] = value_6;
            if (mine && column3 < n_x && line1 < n_y) p_out[v1_i * dim1_out + v3_j] = value_7;
        }
    }
}
