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
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
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
