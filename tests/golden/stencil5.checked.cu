typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[11]; } vyre_words11;

static __device__ __forceinline__ u32 flat2(u32 i, u32 j, u32 d0, u32 d1) { return i < d0 && j < d1 ? (u32)(i * d1 + j) : 0xffffffffu; }

static __device__ __forceinline__ f32 load_f32(const f32* p, u32 i, u32 n) { return i < n ? p[i] : 0; }

extern "C" __global__ void vyre_kernel(
    const f32* p_x,
    f32* p_out,
    const vyre_words11 words)
{
    const u32 len_x = words.w[1];
    const u32 len_out = words.w[2];
    const u32 n_x = words.w[3];
    const u32 n_y = words.w[4];
    const u32 dim0_x = words.w[6];
    const u32 dim1_x = words.w[7];
    const u32 dim0_out = words.w[8];
    const u32 dim1_out = words.w[9];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x || (blockIdx.y * blockDim.y + threadIdx.y) >= n_y) return;
    u32 v_i = blockIdx.y * blockDim.y + threadIdx.y;
    u32 v_j = blockIdx.x * blockDim.x + threadIdx.x;
    {
        const u32 at = flat2(v_i, v_j, dim0_out, dim1_out);
        if (at < len_out) p_out[at] = 0.25f * (((load_f32(p_x, flat2(v_i - 1u, v_j, dim0_x, dim1_x), len_x) + load_f32(p_x, flat2(v_i + 1u, v_j, dim0_x, dim1_x), len_x)) + load_f32(p_x, flat2(v_i, v_j - 1u, dim0_x, dim1_x), len_x)) + load_f32(p_x, flat2(v_i, v_j + 1u, dim0_x, dim1_x), len_x));
    }
}
