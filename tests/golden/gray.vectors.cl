#pragma OPENCL FP_CONTRACT OFF
typedef uchar u8;
typedef uint u32;
typedef struct { u32 w[1]; } vyre_words1;

__kernel void vyre_kernel(
    __global const u8* p_red,
    __global const u8* p_green,
    __global const u8* p_blue,
    __global u8* p_out,
    const vyre_words1 words)
{
    const u32 n_x = words.w[0];
    const u32 tile = (u32)get_group_id(0) * (u32)get_local_size(0) * 16u;
    if (tile >= n_x) return;
    const u32 left = n_x - tile;
    if (left > (u32)get_local_id(0) * 16u + 15u) {
        const u32 pos0 = tile + (u32)get_local_id(0) * 16u;
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
        const uchar16 row_red = vload16(0, p_red + v0_i);
        const uchar16 row_green = vload16(0, p_green + v0_i);
        const uchar16 row_blue = vload16(0, p_blue + v0_i);
        {
            const u8 value_0 = (u8)(((((u32)row_red.s0 * 77u) + ((u32)row_green.s0 * 150u)) + ((u32)row_blue.s0 * 29u)) >> (8u & 31u));
            const u8 value_1 = (u8)(((((u32)row_red.s1 * 77u) + ((u32)row_green.s1 * 150u)) + ((u32)row_blue.s1 * 29u)) >> (8u & 31u));
            const u8 value_2 = (u8)(((((u32)row_red.s2 * 77u) + ((u32)row_green.s2 * 150u)) + ((u32)row_blue.s2 * 29u)) >> (8u & 31u));
            const u8 value_3 = (u8)(((((u32)row_red.s3 * 77u) + ((u32)row_green.s3 * 150u)) + ((u32)row_blue.s3 * 29u)) >> (8u & 31u));
            const u8 value_4 = (u8)(((((u32)row_red.s4 * 77u) + ((u32)row_green.s4 * 150u)) + ((u32)row_blue.s4 * 29u)) >> (8u & 31u));
            const u8 value_5 = (u8)(((((u32)row_red.s5 * 77u) + ((u32)row_green.s5 * 150u)) + ((u32)row_blue.s5 * 29u)) >> (8u & 31u));
            const u8 value_6 = (u8)(((((u32)row_red.s6 * 77u) + ((u32)row_green.s6 * 150u)) + ((u32)row_blue.s6 * 29u)) >> (8u & 31u));
            const u8 value_7 = (u8)(((((u32)row_red.s7 * 77u) + ((u32)row_green.s7 * 150u)) + ((u32)row_blue.s7 * 29u)) >> (8u & 31u));
            const u8 value_8 = (u8)(((((u32)row_red.s8 * 77u) + ((u32)row_green.s8 * 150u)) + ((u32)row_blue.s8 * 29u)) >> (8u & 31u));
            const u8 value_9 = (u8)(((((u32)row_red.s9 * 77u) + ((u32)row_green.s9 * 150u)) + ((u32)row_blue.s9 * 29u)) >> (8u & 31u));
            const u8 value_10 = (u8)(((((u32)row_red.sa * 77u) + ((u32)row_green.sa * 150u)) + ((u32)row_blue.sa * 29u)) >> (8u & 31u));
            const u8 value_11 = (u8)(((((u32)row_red.sb * 77u) + ((u32)row_green.sb * 150u)) + ((u32)row_blue.sb * 29u)) >> (8u & 31u));
            const u8 value_12 = (u8)(((((u32)row_red.sc * 77u) + ((u32)row_green.sc * 150u)) + ((u32)row_blue.sc * 29u)) >> (8u & 31u));
            const u8 value_13 = (u8)(((((u32)row_red.sd * 77u) + ((u32)row_green.sd * 150u)) + ((u32)row_blue.sd * 29u)) >> (8u & 31u));
            const u8 value_14 = (u8)(((((u32)row_red.se * 77u) + ((u32)row_green.se * 150u)) + ((u32)row_blue.se * 29u)) >> (8u & 31u));
            const u8 value_15 = (u8)(((((u32)row_red.sf * 77u) + ((u32)row_green.sf * 150u)) + ((u32)row_blue.sf * 29u)) >> (8u & 31u));
            vstore16((uchar16)(value_0, value_1, value_2, value_3, value_4, value_5, value_6, value_7, value_8, value_9, value_10, value_11, value_12, value_13, value_14, value_15), 0, p_out + (v0_i));
        }
    } else {
        for (u32 item = 0u; item < 16u; ++item) {
            const u32 offset = (u32)get_local_id(0) * 16u + item;
            if (offset >= left) break;
            const u32 pos = tile + offset;
            u32 v_i = pos;
            p_out[v_i] = (u8)(((((u32)p_red[v_i] * 77u) + ((u32)p_green[v_i] * 150u)) + ((u32)p_blue[v_i] * 29u)) >> (8u & 31u));
        }
    }
}
