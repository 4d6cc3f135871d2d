typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[10]; } vyre_words10;

static __device__ __forceinline__ u32 flat2(u32 i, u32 j, u32 d0, u32 d1) { return i < d0 && j < d1 ? (u32)(i * d1 + j) : 0xffffffffu; }

static __device__ __forceinline__ f32 load_f32(const f32* p, u32 i, u32 n) { return i < n ? p[i] : 0; }

extern "C" __global__ void vyre_kernel(
    const f32* x,
    f32* out,
    const vyre_words10 words)
{
    const u32 len_x = words.w[1];
    const u32 n_x = words.w[3];
    const u32 n_y = words.w[4];
    const u32 dim_x_0 = words.w[6];
    const u32 dim_x_1 = words.w[7];
    const u32 dim_out_1 = words.w[9];
    if ((blockIdx.y * blockDim.y + threadIdx.y) >= n_y) return;
    const u32 span = blockDim.x * 4u;
    const u32 tile = blockIdx.x * span;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    if (left >= span) {
        const u32 pos0 = tile + threadIdx.x * 2u;
        const u32 pos1 = pos0 + 1u;
        const u32 pos2 = pos0 + blockDim.x * 2u;
        const u32 pos3 = pos2 + 1u;
        u32 i = blockIdx.y * blockDim.y + threadIdx.y;
        u32 j_0 = pos0;
        u32 j_1 = pos1;
        u32 j_2 = pos2;
        u32 j_3 = pos3;
        {
            const f32 value_0 = 0.25f * (((load_f32(x, flat2(i - 1u, j_0, dim_x_0, dim_x_1), len_x) + load_f32(x, flat2(i + 1u, j_0, dim_x_0, dim_x_1), len_x)) + load_f32(x, flat2(i, j_0 - 1u, dim_x_0, dim_x_1), len_x)) + load_f32(x, flat2(i, j_0 + 1u, dim_x_0, dim_x_1), len_x));
            const f32 value_1 = 0.25f * (((load_f32(x, flat2(i - 1u, j_1, dim_x_0, dim_x_1), len_x) + load_f32(x, flat2(i + 1u, j_1, dim_x_0, dim_x_1), len_x)) + load_f32(x, flat2(i, j_1 - 1u, dim_x_0, dim_x_1), len_x)) + load_f32(x, flat2(i, j_1 + 1u, dim_x_0, dim_x_1), len_x));
            const f32 value_2 = 0.25f * (((load_f32(x, flat2(i - 1u, j_2, dim_x_0, dim_x_1), len_x) + load_f32(x, flat2(i + 1u, j_2, dim_x_0, dim_x_1), len_x)) + load_f32(x, flat2(i, j_2 - 1u, dim_x_0, dim_x_1), len_x)) + load_f32(x, flat2(i, j_2 + 1u, dim_x_0, dim_x_1), len_x));
            const f32 value_3 = 0.25f * (((load_f32(x, flat2(i - 1u, j_3, dim_x_0, dim_x_1), len_x) + load_f32(x, flat2(i + 1u, j_3, dim_x_0, dim_x_1), len_x)) + load_f32(x, flat2(i, j_3 - 1u, dim_x_0, dim_x_1), len_x)) + load_f32(x, flat2(i, j_3 + 1u, dim_x_0, dim_x_1), len_x));
            *(float2*)(out + (i * dim_out_1 + j_0)) = make_float2(value_0, value_1);
            *(float2*)(out + (i * dim_out_1 + j_2)) = make_float2(value_2, value_3);
        }
    } else {
        for (u32 item = 0u; item < 4u; ++item) {
            const u32 offset = (threadIdx.x + item / 2u * blockDim.x) * 2u + item % 2u;
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 i = blockIdx.y * blockDim.y + threadIdx.y;
            u32 j = pos;
            out[i * dim_out_1 + j] = 0.25f * (((load_f32(x, flat2(i - 1u, j, dim_x_0, dim_x_1), len_x) + load_f32(x, flat2(i + 1u, j, dim_x_0, dim_x_1), len_x)) + load_f32(x, flat2(i, j - 1u, dim_x_0, dim_x_1), len_x)) + load_f32(x, flat2(i, j + 1u, dim_x_0, dim_x_1), len_x));
        }
    }
}
