typedef unsigned char u8;
typedef unsigned int u32;
typedef struct { u32 w[1]; } vyre_words1;

extern "C" __global__ void vyre_kernel(
    const u8* p_red,
    const u8* p_green,
    const u8* p_blue,
    u8* p_out,
    const vyre_words1 words)
{
    const u32 n_x = words.w[0];
    const u32 tile = blockIdx.x * blockDim.x * 16u;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    if (left > threadIdx.x * 16u + 15u) {
        const u32 pos0 = tile + threadIdx.x * 16u;
        const u32 pos1 = pos0 + 1u;
        const u32 pos2 = pos0 + 2u;
        const u32 pos3 = pos0 + 3u;
        const u32 pos4 = pos0 + 4u;
        const u32 pos5 = pos0 + 5u;
        const u32 pos6 = pos0 + 6u;
        const u32 pos7 = pos0 + 7u;
        const u32 pos8 = pos0 + 8u;
        const u32 pos9 = pos0 + 9u;
        const u32 pos10 = pos0 + 10u;
        const u32 pos11 = pos0 + 11u;
        const u32 pos12 = pos0 + 12u;
        const u32 pos13 = pos0 + 13u;
        const u32 pos14 = pos0 + 14u;
        const u32 pos15 = pos0 + 15u;
        u32 v0_i = pos0;
        u32 v1_i = pos1;
        u32 v2_i = pos2;
        u32 v3_i = pos3;
        u32 v4_i = pos4;
        u32 v5_i = pos5;
        u32 v6_i = pos6;
        u32 v7_i = pos7;
        u32 v8_i = pos8;
        u32 v9_i = pos9;
        u32 v10_i = pos10;
        u32 v11_i = pos11;
        u32 v12_i = pos12;
        u32 v13_i = pos13;
        u32 v14_i = pos14;
        u32 v15_i = pos15;
        const uint4 row_red = *(const uint4*)(p_red + v0_i);
        const uint4 row_green = *(const uint4*)(p_green + v0_i);
        const uint4 row_blue = *(const uint4*)(p_blue + v0_i);
        {
            const u8 value_0 = (u8)(((((u32)(u8)row_red.x * 77u) + ((u32)(u8)row_green.x * 150u)) + ((u32)(u8)row_blue.x * 29u)) >> (8u & 31u));
            const u8 value_1 = (u8)(((((u32)(u8)(row_red.x >> 8u) * 77u) + ((u32)(u8)(row_green.x >> 8u) * 150u)) + ((u32)(u8)(row_blue.x >> 8u) * 29u)) >> (8u & 31u));
            const u8 value_2 = (u8)(((((u32)(u8)(row_red.x >> 16u) * 77u) + ((u32)(u8)(row_green.x >> 16u) * 150u)) + ((u32)(u8)(row_blue.x >> 16u) * 29u)) >> (8u & 31u));
            const u8 value_3 = (u8)(((((u32)(u8)(row_red.x >> 24u) * 77u) + ((u32)(u8)(row_green.x >> 24u) * 150u)) + ((u32)(u8)(row_blue.x >> 24u) * 29u)) >> (8u & 31u));
            const u8 value_4 = (u8)(((((u32)(u8)row_red.y * 77u) + ((u32)(u8)row_green.y * 150u)) + ((u32)(u8)row_blue.y * 29u)) >> (8u & 31u));
            const u8 value_5 = (u8)(((((u32)(u8)(row_red.y >> 8u) * 77u) + ((u32)(u8)(row_green.y >> 8u) * 150u)) + ((u32)(u8)(row_blue.y >> 8u) * 29u)) >> (8u & 31u));
            const u8 value_6 = (u8)(((((u32)(u8)(row_red.y >> 16u) * 77u) + ((u32)(u8)(row_green.y >> 16u) * 150u)) + ((u32)(u8)(row_blue.y >> 16u) * 29u)) >> (8u & 31u));
            const u8 value_7 = (u8)(((((u32)(u8)(row_red.y >> 24u) * 77u) + ((u32)(u8)(row_green.y >> 24u) * 150u)) + ((u32)(u8)(row_blue.y >> 24u) * 29u)) >> (8u & 31u));
            const u8 value_8 = (u8)(((((u32)(u8)row_red.z * 77u) + ((u32)(u8)row_green.z * 150u)) + ((u32)(u8)row_blue.z * 29u)) >> (8u & 31u));
            const u8 value_9 = (u8)(((((u32)(u8)(row_red.z >> 8u) * 77u) + ((u32)(u8)(row_green.z >> 8u) * 150u)) + ((u32)(u8)(row_blue.z >> 8u) * 29u)) >> (8u & 31u));
            const u8 value_10 = (u8)(((((u32)(u8)(row_red.z >> 16u) * 77u) + ((u32)(u8)(row_green.z >> 16u) * 150u)) + ((u32)(u8)(row_blue.z >> 16u) * 29u)) >> (8u & 31u));
            const u8 value_11 = (u8)(((((u32)(u8)(row_red.z >> 24u) * 77u) + ((u32)(u8)(row_green.z >> 24u) * 150u)) + ((u32)(u8)(row_blue.z >> 24u) * 29u)) >> (8u & 31u));
            const u8 value_12 = (u8)(((((u32)(u8)row_red.w * 77u) + ((u32)(u8)row_green.w * 150u)) + ((u32)(u8)row_blue.w * 29u)) >> (8u & 31u));
            const u8 value_13 = (u8)(((((u32)(u8)(row_red.w >> 8u) * 77u) + ((u32)(u8)(row_green.w >> 8u) * 150u)) + ((u32)(u8)(row_blue.w >> 8u) * 29u)) >> (8u & 31u));
            const u8 value_14 = (u8)(((((u32)(u8)(row_red.w >> 16u) * 77u) + ((u32)(u8)(row_green.w >> 16u) * 150u)) + ((u32)(u8)(row_blue.w >> 16u) * 29u)) >> (8u & 31u));
            const u8 value_15 = (u8)(((((u32)(u8)(row_red.w >> 24u) * 77u) + ((u32)(u8)(row_green.w >> 24u) * 150u)) + ((u32)(u8)(row_blue.w >> 24u) * 29u)) >> (8u & 31u));
            *(uint4*)(p_out + (v0_i)) = make_uint4((u32)(unsigned char)value_0 | (u32)(unsigned char)value_1 << 8u | (u32)(unsigned char)value_2 << 16u | (u32)(unsigned char)value_3 << 24u, (u32)(unsigned char)value_4 | (u32)(unsigned char)value_5 << 8u | (u32)(unsigned char)value_6 << 16u | (u32)(unsigned char)value_7 << 24u, (u32)(unsigned char)value_8 | (u32)(unsigned char)value_9 << 8u | (u32)(unsigned char)value_10 << 16u | (u32)(unsigned char)value_11 << 24u, (u32)(unsigned char)value_12 | (u32)(unsigned char)value_13 << 8u | (u32)(unsigned char)value_14 << 16u | (u32)(unsigned char)value_15 << 24u);
        }
    } else {
        for (u32 item = 0u; item < 16u; ++item) {
            const u32 offset = threadIdx.x * 16u + item;
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 v_i = pos;
            p_out[v_i] = (u8)(((((u32)p_red[v_i] * 77u) + ((u32)p_green[v_i] * 150u)) + ((u32)p_blue[v_i] * 29u)) >> (8u & 31u));
        }
    }
}
