#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef float f32;
typedef struct { u32 w[2]; } vyre_words2;

static inline f32 inverse_sqrt_f32(f32 a) {
    const f32 y = 1.0f / sqrt(a);
    const f32 p = a * y, q = fma(a, y, -p);
    const f32 r = fma(-q, y, fma(-p, y, 1.0f));
    const f32 z = fma(y * r, fma(0.375f, r, 0.5f), y);
    return fabs(r) < 1.0f ? z : y;
}

__kernel void vyre_kernel(
    __global const f32* restrict p_x,
    __global const f32* restrict p_y,
    __global const f32* restrict p_z,
    __global const f32* restrict p_m,
    __global f32* restrict p_ax,
    __global f32* restrict p_ay,
    __global f32* restrict p_az,
    const vyre_words2 words)
{
    const u32 len_x = words.w[0];
    const u32 n_x = words.w[1];
    if ((u32)get_global_id(0) >= n_x) return;
    u32 v_i = (u32)get_global_id(0);
    f32 v_px = p_x[v_i];
    f32 v_py = p_y[v_i];
    f32 v_pz = p_z[v_i];
    f32 v_sx = 0.0f;
    f32 v_sy = 0.0f;
    f32 v_sz = 0.0f;
    for (u32 v_j = 0u, end_j = len_x; v_j < end_j; ++v_j) {
        f32 v_dx = p_x[v_j] - v_px;
        f32 v_dy = p_y[v_j] - v_py;
        f32 v_dz = p_z[v_j] - v_pz;
        f32 v_r = inverse_sqrt_f32((((v_dx * v_dx) + (v_dy * v_dy)) + (v_dz * v_dz)) + 0.0001f);
        f32 v_s = ((p_m[v_j] * v_r) * v_r) * v_r;
        v_sx = v_sx + (v_s * v_dx);
        v_sy = v_sy + (v_s * v_dy);
        v_sz = v_sz + (v_s * v_dz);
    }
    p_ax[v_i] = v_sx;
    p_ay[v_i] = v_sy;
    p_az[v_i] = v_sz;
}
