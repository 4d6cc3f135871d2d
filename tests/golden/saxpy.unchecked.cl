#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef float f32;
typedef struct { u32 w[8]; } vyre_words8;

__kernel void vyre_kernel(
    __global const f32* x,
    __global const f32* y,
    __global f32* out,
    const f32 a,
    const vyre_words8 words)
{
    const u32 n_x = words.w[5];
    if ((u32)get_global_id(0) >= n_x) return;
    u32 i = (u32)get_global_id(0);
    out[i] = (a * x[i]) + y[i];
}
