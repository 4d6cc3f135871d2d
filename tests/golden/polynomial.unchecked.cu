typedef unsigned int u32;
typedef int i32;
typedef float f32;
typedef struct { u32 w[6]; } vyre_words6;

extern "C" __global__ void vyre_kernel(
    const f32* x,
    f32* out,
    const vyre_words6 words)
{
    const u32 n_x = words.w[3];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    f32 v = x[i];
    f32 s = v;
    for (i32 _ = 0; _ < 512; ++_) {
        s = (s * v) + 0.5f;
    }
    out[i] = s;
}
