#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef float f32;
typedef struct { u32 w[7]; } vyre_words7;

static inline f32 load_f32(__global const f32* p, u32 i, u32 n) { return i < n ? p[i] : 0; }

__kernel void vyre_kernel(
    __global const f32* x,
    __global const f32* w,
    __global f32* out,
    const vyre_words7 words)
{
    const u32 len_x = words.w[1];
    const u32 len_out = words.w[3];
    const u32 n_x = words.w[4];
    if ((u32)get_global_id(0) >= n_x) return;
    u32 i = (u32)get_global_id(0);
    f32 s = 0.0f;
    for (u32 k = 0u; k < 9u; ++k) {
        s = s + (load_f32(w, k, 9u) * load_f32(x, (i + k) - 4u, len_x));
    }
    if (i < len_out) out[i] = s;
}
