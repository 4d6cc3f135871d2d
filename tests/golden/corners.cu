typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef float f32;
typedef struct { u32 w[6]; } vyre_words6;

static __device__ __forceinline__ f32 f32_from_f16(u16 h) {
    const u32 sign = (u32)(h & 0x8000u) << 16, e = h >> 10 & 31u, m = h & 1023u;
    if (e == 31u) return __uint_as_float(sign | 0x7f800000u | m << 13);
    if (e == 0u) return __uint_as_float(sign | __float_as_uint((f32)m * 5.9604644775390625e-8f));
    return __uint_as_float(sign | (e + 112u) << 23 | m << 13);
}

static __device__ __forceinline__ f32 hide_f32(f32 a, u32 zero) { return __uint_as_float(__float_as_uint(a) ^ zero); }

static __device__ __forceinline__ f32 min_at_once_f32(f32 a, f32 b) {
    f32 r;
    asm("min.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}

static __device__ __forceinline__ u16 bf16_from_f32(f32 a) {
    if (a != a) return 0x7fc0u;
    const u32 x = __float_as_uint(a);
    return (u16)((x + 0x7fffu + (x >> 16 & 1u)) >> 16);
}

static __device__ __forceinline__ i16 floor_div_i16(i16 a, i16 b) {
    if (b == (i16)0) return (i16)0;
    if (b == -1) return (i16)(0 - (u16)a);
    return (i16)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}

static __device__ __forceinline__ i16 hide_i16(i16 a, u32 zero) { return (i16)(a ^ zero); }

static __device__ __forceinline__ i64 max_i64(i64 a, i64 b) { return a > b ? a : b; }

static __device__ __forceinline__ i64 atomic_max_i64(i64* p, u64 i, u32 n, i64 v) {
    if (i >= n) return 0ll;
    u64* q = (u64*)(p + i);
    u64 old = *q, seen;
    do {
        seen = old;
        old = atomicCAS(q, seen, (u64)(max_i64((i64)seen, v)));
    } while (old != seen);
    return (i64)old;
}

static __device__ __forceinline__ i64 i64_from_f32(f32 a) {
    if (a != a) return 0ll;
    if (a <= -9.223372e+18f) return ((-9223372036854775807ll) - 1);
    if (a >= 9.223372e+18f) return 9223372036854775807ll;
    return (i64)a;
}

extern "C" __global__ void vyre_kernel(
    const u16* __restrict__ p_x,
    const i16* __restrict__ p_k,
    u16* __restrict__ p_y,
    i64* __restrict__ p_m,
    const vyre_words6 words)
{
    const u32 len_x = words.w[0];
    const u32 len_k = words.w[1];
    const u32 len_y = words.w[2];
    const u32 len_m = words.w[3];
    const u32 n_x = words.w[4];
    const u32 zero = words.w[5];
    if ((blockIdx.x * blockDim.x + threadIdx.x) >= n_x) return;
    if ((blockIdx.x * blockDim.x + threadIdx.x) < len_y) p_y[blockIdx.x * blockDim.x + threadIdx.x] = bf16_from_f32(min_at_once_f32(f32_from_f16((blockIdx.x * blockDim.x + threadIdx.x) < len_x ? p_x[blockIdx.x * blockDim.x + threadIdx.x] : 0), tanhf(hide_f32(f32_from_f16((blockIdx.x * blockDim.x + threadIdx.x) < len_x ? p_x[blockIdx.x * blockDim.x + threadIdx.x] : 0), zero))));
    if ((u64)(i64)(i32)(blockIdx.x * blockDim.x + threadIdx.x) < len_m) p_m[(u64)(i64)(i32)(blockIdx.x * blockDim.x + threadIdx.x)] = (i64)hide_i16(floor_div_i16((blockIdx.x * blockDim.x + threadIdx.x) < len_k ? p_k[blockIdx.x * blockDim.x + threadIdx.x] : 0, (blockIdx.x * blockDim.x + threadIdx.x) < len_k ? p_k[blockIdx.x * blockDim.x + threadIdx.x] : 0), zero);
    i64 v_old = atomic_max_i64(p_m, 0u, len_m, i64_from_f32(f32_from_f16((blockIdx.x * blockDim.x + threadIdx.x) < len_x ? p_x[blockIdx.x * blockDim.x + threadIdx.x] : 0)));
}
