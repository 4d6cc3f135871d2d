typedef unsigned int u32;
typedef float f32;
typedef struct { u32 w[8]; } vyre_words8;

extern "C" __global__ void vyre_kernel(
    const f32* x,
    const f32* y,
    f32* out,
    const f32 a,
    const vyre_words8 words)
{
    const u32 n_x = words.w[5];
    const u32 span = blockDim.x * 4u;
    const u32 tile = blockIdx.x * span;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    if (left >= span) {
        const u32 pos0 = tile + threadIdx.x * 4u;
        const u32 pos1 = pos0 + 1u;
        const u32 pos2 = pos0 + 2u;
        const u32 pos3 = pos0 + 3u;
        u32 i_0 = pos0;
        u32 i_1 = pos1;
        u32 i_2 = pos2;
        u32 i_3 = pos3;
        {
            const float4 x_0 = *(const float4*)(x + i_0);
            const float4 y_0 = *(const float4*)(y + i_0);
            const f32 value_0 = (a * x_0.x) + y_0.x;
            const f32 value_1 = (a * x_0.y) + y_0.y;
            const f32 value_2 = (a * x_0.z) + y_0.z;
            const f32 value_3 = (a * x_0.w) + y_0.w;
            *(float4*)(out + i_0) = make_float4(value_0, value_1, value_2, value_3);
        }
    } else {
        for (u32 item = 0u; item < 4u; ++item) {
            const u32 offset = threadIdx.x * 4u + item;
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 i = pos;
            out[i] = (a * x[i]) + y[i];
        }
    }
}
