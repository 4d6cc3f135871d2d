#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef int i32;
typedef float f32;
typedef struct { u32 w[6]; } vyre_words6;

__kernel void vyre_kernel(
    __global const f32* x,
    __global f32* out,
    const vyre_words6 words)
{
    const u32 n_x = words.w[3];
    if ((u32)get_global_id(0) >= n_x) return;
    u32 i = (u32)get_global_id(0);
    f32 v = x[i];
    f32 s = v;
    for (i32 _ = 0; _ < 512; ++_) {
        s = (s * v) + 0.5f;
    }
    out[i] = s;
}
