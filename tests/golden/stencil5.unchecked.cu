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
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x || (blockIdx.y * blockDim.y + threadIdx.y) >= n_y) return;
    u32 i = blockIdx.y * blockDim.y + threadIdx.y;
    u32 j = blockIdx.x * blockDim.x + threadIdx.x;
    out[i * dim_out_1 + j] = 0.25f * (((load_f32(x, flat2(i - 1u, j, dim_x_0, dim_x_1), len_x) + load_f32(x, flat2(i + 1u, j, dim_x_0, dim_x_1), len_x)) + load_f32(x, flat2(i, j - 1u, dim_x_0, dim_x_1), len_x)) + load_f32(x, flat2(i, j + 1u, dim_x_0, dim_x_1), len_x));
}
