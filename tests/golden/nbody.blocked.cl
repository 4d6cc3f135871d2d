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
    const u32 tile = (u32)get_group_id(0) * (u32)get_local_size(0) * 2u;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    if (left > (u32)get_local_id(0) * 2u + 1u) {
        const u32 pos0 = tile + (u32)get_local_id(0) * 2u;
        const u32 pos1 = pos0 + 1u;
        u32 v0_i = pos0;
        u32 v1_i = pos1;
        __global const f32* from_x = p_x + (v1_i);
        __global const f32* from_y = p_y + (v1_i);
        __global const f32* from_z = p_z + (v1_i);
        const f32 row_x = from_x[-1];
        const f32 row_x_2 = from_x[0];
        const f32 row_y = from_y[-1];
        const f32 row_y_2 = from_y[0];
        const f32 row_z = from_z[-1];
        const f32 row_z_2 = from_z[0];
        f32 v0_px = row_x;
        f32 v1_px = row_x_2;
        f32 v0_py = row_y;
        f32 v1_py = row_y_2;
        f32 v0_pz = row_z;
        f32 v1_pz = row_z_2;
        f32 v0_sx = 0.0f;
        f32 v1_sx = 0.0f;
        f32 v0_sy = 0.0f;
        f32 v1_sy = 0.0f;
        f32 v0_sz = 0.0f;
        f32 v1_sz = 0.0f;
        for (u32 v_j = 0u, end_j = len_x; v_j < end_j; ++v_j) {
            const f32 row_x_3 = p_x[v_j];
            const f32 row_y_3 = p_y[v_j];
            const f32 row_z_3 = p_z[v_j];
            const f32 row_m = p_m[v_j];
            f32 v0_dx = row_x_3 - v0_px;
            f32 v1_dx = row_x_3 - v1_px;
            f32 v0_dy = row_y_3 - v0_py;
            f32 v1_dy = row_y_3 - v1_py;
            f32 v0_dz = row_z_3 - v0_pz;
            f32 v1_dz = row_z_3 - v1_pz;
            f32 v0_r = inverse_sqrt_f32((((v0_dx * v0_dx) + (v0_dy * v0_dy)) + (v0_dz * v0_dz)) + 0.0001f);
            f32 v1_r = inverse_sqrt_f32((((v1_dx * v1_dx) + (v1_dy * v1_dy)) + (v1_dz * v1_dz)) + 0.0001f);
            f32 v0_s = ((row_m * v0_r) * v0_r) * v0_r;
            f32 v1_s = ((row_m * v1_r) * v1_r) * v1_r;
            v0_sx = v0_sx + (v0_s * v0_dx);
            v1_sx = v1_sx + (v1_s * v1_dx);
            v0_sy = v0_sy + (v0_s * v0_dy);
            v1_sy = v1_sy + (v1_s * v1_dy);
            v0_sz = v0_sz + (v0_s * v0_dz);
            v1_sz = v1_sz + (v1_s * v1_dz);
        }
        {
            const f32 value_0 = v0_sx;
            const f32 value_1 = v1_sx;
            p_ax[v0_i] = value_0;
            p_ax[v1_i] = value_1;
        }
        {
            const f32 value_0 = v0_sy;
            const f32 value_1 = v1_sy;
            p_ay[v0_i] = value_0;
            p_ay[v1_i] = value_1;
        }
        {
            const f32 value_0 = v0_sz;
            const f32 value_1 = v1_sz;
            p_az[v0_i] = value_0;
            p_az[v1_i] = value_1;
        }
    } else {
        for (u32 item = 0u; item < 2u; ++item) {
            const u32 offset = (u32)get_local_id(0) * 2u + item;
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 v_i = pos;
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
    }
}
