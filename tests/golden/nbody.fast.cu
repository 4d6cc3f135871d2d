typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[9]; } vyre_words9;

static __device__ __forceinline__ f32 fast_inverse_sqrt_f32_normal(f32 a) {
    f32 r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}

static __device__ __forceinline__ f32 hide_f32(f32 a, u32 zero) { return __uint_as_float(__float_as_uint(a) ^ zero); }

extern "C" __global__ void vyre_kernel(
    const f32* __restrict__ p_x,
    const f32* __restrict__ p_y,
    const f32* __restrict__ p_z,
    const f32* __restrict__ p_m,
    f32* __restrict__ p_ax,
    f32* __restrict__ p_ay,
    f32* __restrict__ p_az,
    const vyre_words9 words)
{
    const u32 len_x = words.w[0];
    const u32 len_y = words.w[1];
    const u32 len_z = words.w[2];
    const u32 len_m = words.w[3];
    const u32 len_ax = words.w[4];
    const u32 len_ay = words.w[5];
    const u32 len_az = words.w[6];
    const u32 n_x = words.w[7];
    const u32 zero = words.w[8];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 v_i = blockIdx.x * blockDim.x + threadIdx.x;
    f32 v_px = v_i < len_x ? p_x[v_i] : 0;
    f32 v_py = v_i < len_y ? p_y[v_i] : 0;
    f32 v_pz = v_i < len_z ? p_z[v_i] : 0;
    f32 v_sx = 0.0f;
    f32 v_sy = 0.0f;
    f32 v_sz = 0.0f;
    for (u32 v_j = 0u, end_j = len_x; v_j < end_j; ++v_j) {
        f32 v_dx = (v_j < len_x ? p_x[v_j] : 0) - v_px;
        f32 v_dy = (v_j < len_y ? p_y[v_j] : 0) - v_py;
        f32 v_dz = (v_j < len_z ? p_z[v_j] : 0) - v_pz;
        f32 v_r = fast_inverse_sqrt_f32_normal(hide_f32(fmaf(v_dz, v_dz, fmaf(v_dx, v_dx, v_dy * v_dy)) + 0.0001f, zero));
        f32 v_s = (((v_j < len_m ? p_m[v_j] : 0) * v_r) * v_r) * v_r;
        v_sx = fmaf(v_s, v_dx, v_sx);
        v_sy = fmaf(v_s, v_dy, v_sy);
        v_sz = fmaf(v_s, v_dz, v_sz);
    }
    if (v_i < len_ax) p_ax[v_i] = v_sx;
    if (v_i < len_ay) p_ay[v_i] = v_sy;
    if (v_i < len_az) p_az[v_i] = v_sz;
}
