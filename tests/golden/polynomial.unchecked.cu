typedef unsigned int u32;
typedef int i32;
typedef float f32;
typedef struct { u32 w[1]; } vyre_words1;

extern "C" __global__ void vyre_kernel(
    const f32* p_x,
    f32* p_out,
    const vyre_words1 words)
{
    const u32 n_x = words.w[0];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 v_i = blockIdx.x * blockDim.x + threadIdx.x;
    f32 v_v = p_x[v_i];
    f32 v_s = v_v;
    for (i32 v__ = 0; v__ < 512; ++v__) {
        v_s = (v_s * v_v) + 0.5f;
    }
    p_out[v_i] = v_s;
}
