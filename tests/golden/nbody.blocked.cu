typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[11]; } vyre_words11;

static __device__ __forceinline__ f32 inverse_sqrt_f32(f32 a) { return 1.0f / sqrtf(a); }

extern "C" __global__ void vyre_kernel(
    const f32* x,
    const f32* y,
    const f32* z,
    const f32* m,
    f32* ax,
    f32* ay,
    f32* az,
    const vyre_words11 words)
{
    const u32 len_x = words.w[1];
    const u32 n_x = words.w[8];
    const u32 span = blockDim.x * 2u;
    const u32 tile = blockIdx.x * span;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    if (left >= span) {
        const u32 pos0 = tile + threadIdx.x * 2u;
        const u32 pos1 = pos0 + 1u;
        u32 i_0 = pos0;
        u32 i_1 = pos1;
        f32 px_0 = x[i_0];
        f32 px_1 = x[i_1];
        f32 py_0 = y[i_0];
        f32 py_1 = y[i_1];
        f32 pz_0 = z[i_0];
        f32 pz_1 = z[i_1];
        f32 sx_0 = 0.0f;
        f32 sx_1 = 0.0f;
        f32 sy_0 = 0.0f;
        f32 sy_1 = 0.0f;
        f32 sz_0 = 0.0f;
        f32 sz_1 = 0.0f;
        for (u32 j = 0u, j_end = len_x; j < j_end; ++j) {
            f32 dx_0 = x[j] - px_0;
            f32 dx_1 = x[j] - px_1;
            f32 dy_0 = y[j] - py_0;
            f32 dy_1 = y[j] - py_1;
            f32 dz_0 = z[j] - pz_0;
            f32 dz_1 = z[j] - pz_1;
            f32 r_0 = inverse_sqrt_f32((((dx_0 * dx_0) + (dy_0 * dy_0)) + (dz_0 * dz_0)) + 0.0001f);
            f32 r_1 = inverse_sqrt_f32((((dx_1 * dx_1) + (dy_1 * dy_1)) + (dz_1 * dz_1)) + 0.0001f);
            f32 s_0 = ((m[j] * r_0) * r_0) * r_0;
            f32 s_1 = ((m[j] * r_1) * r_1) * r_1;
            sx_0 = sx_0 + (s_0 * dx_0);
            sx_1 = sx_1 + (s_1 * dx_1);
            sy_0 = sy_0 + (s_0 * dy_0);
            sy_1 = sy_1 + (s_1 * dy_1);
            sz_0 = sz_0 + (s_0 * dz_0);
            sz_1 = sz_1 + (s_1 * dz_1);
        }
        {
            const f32 value_0 = sx_0;
            const f32 value_1 = sx_1;
            ax[i_0] = value_0;
            ax[i_1] = value_1;
        }
        {
            const f32 value_0 = sy_0;
            const f32 value_1 = sy_1;
            ay[i_0] = value_0;
            ay[i_1] = value_1;
        }
        {
            const f32 value_0 = sz_0;
            const f32 value_1 = sz_1;
            az[i_0] = value_0;
            az[i_1] = value_1;
        }
    } else {
        for (u32 item = 0u; item < 2u; ++item) {
            const u32 offset = threadIdx.x * 2u + item;
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 i = pos;
            f32 px = x[i];
            f32 py = y[i];
            f32 pz = z[i];
            f32 sx = 0.0f;
            f32 sy = 0.0f;
            f32 sz = 0.0f;
            for (u32 j = 0u, j_end = len_x; j < j_end; ++j) {
                f32 dx = x[j] - px;
                f32 dy = y[j] - py;
                f32 dz = z[j] - pz;
                f32 r = inverse_sqrt_f32((((dx * dx) + (dy * dy)) + (dz * dz)) + 0.0001f);
                f32 s = ((m[j] * r) * r) * r;
                sx = sx + (s * dx);
                sy = sy + (s * dy);
                sz = sz + (s * dz);
            }
            ax[i] = sx;
            ay[i] = sy;
            az[i] = sz;
        }
    }
}
