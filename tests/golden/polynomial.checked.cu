typedef unsigned int u32;
typedef int i32;
typedef float f32;
typedef struct { u32 w[3]; } vyre_words3;

extern "C" __global__ void vyre_kernel(
    const f32* p_x,
    f32* p_out,
    const vyre_words3 words)
{
    const u32 len_x = words.w[0];
    const u32 len_out = words.w[1];
    const u32 n_x = words.w[2];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    u32 v_i = blockIdx.x * blockDim.x + threadIdx.x;
    f32 v_v = v_i < len_x ? p_x[v_i] : 0;
    f32 v_s = v_v;
    for (i32 v__ = 0; v__ < 512; ++v__) {
        v_s = (v_s * v_v) + 0.5f;
    }
    if (v_i < len_out) p_out[v_i] = v_s;
}
