typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[4]; } vyre_words4;

static __device__ __forceinline__ f32 fast_tanh_f32(f32 a) {
    f32 r;
    asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}

static __device__ __forceinline__ f32 hide_f32(f32 a, u32 zero) { return __uint_as_float(__float_as_uint(a) ^ zero); }

extern "C" __global__ void vyre_kernel(
    const f32* p_x,
    f32* p_out,
    const vyre_words4 words)
{
    const u32 len_x = words.w[0];
    const u32 len_out = words.w[1];
    const u32 n_x = words.w[2];
    const u32 zero = words.w[3];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 v_i = blockIdx.x * blockDim.x + threadIdx.x;
    f32 v_v = v_i < len_x ? p_x[v_i] : 0;
    f32 v_inner = 0.7978846f * fmaf((0.044715f * v_v) * v_v, v_v, v_v);
    if (v_i < len_out) p_out[v_i] = (0.5f * v_v) * (1.0f + fast_tanh_f32(hide_f32(v_inner, zero)));
}
