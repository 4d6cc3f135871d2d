typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[11]; } vyre_words11;

static __device__ __forceinline__ f32 load_f32(const f32* p, u32 i, u32 n) { return i < n ? p[i] : 0; }

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
    const u32 len_y = words.w[2];
    const u32 len_z = words.w[3];
    const u32 len_m = words.w[4];
    const u32 len_ax = words.w[5];
    const u32 len_ay = words.w[6];
    const u32 len_az = words.w[7];
    const u32 n_x = words.w[8];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    f32 px = load_f32(x, i, len_x);
    f32 py = load_f32(y, i, len_y);
    f32 pz = load_f32(z, i, len_z);
    f32 sx = 0.0f;
    f32 sy = 0.0f;
    f32 sz = 0.0f;
    for (u32 j = 0u, j_end = len_x; j < j_end; ++j) {
        f32 dx = load_f32(x, j, len_x) - px;
        f32 dy = load_f32(y, j, len_y) - py;
        f32 dz = load_f32(z, j, len_z) - pz;
        f32 r = inverse_sqrt_f32((((dx * dx) + (dy * dy)) + (dz * dz)) + 0.0001f);
        f32 s = ((load_f32(m, j, len_m) * r) * r) * r;
        sx = sx + (s * dx);
        sy = sy + (s * dy);
        sz = sz + (s * dz);
    }
    if (i < len_ax) ax[i] = sx;
    if (i < len_ay) ay[i] = sy;
    if (i < len_az) az[i] = sz;
}
