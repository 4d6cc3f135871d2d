// CUDA C++ as a compiler of the host's reads it: what kernels of vyre.emit ask of the language.
//
// Lanes are fibers that cuda_on_host.c switches between where they wait for each other. Nothing of
// the system's headers is included, so that their names are not in the way of a kernel's.
#pragma once

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static __attribute__((section("vyre_shared")))

struct vyre_place { unsigned x, y, z; };
extern "C" {
extern vyre_place vyre_thread, vyre_group, vyre_size;
void vyre_barrier(int line);
unsigned long long vyre_exchange(int line, unsigned mask, unsigned long long mine, int from);
}
#define threadIdx vyre_thread
#define blockIdx vyre_group
#define blockDim vyre_size
#define __syncthreads() vyre_barrier(__LINE__)
#define __shfl_up_sync(mask, value, by) vyre_passed(__LINE__, mask, value, -(by))
#define __shfl_down_sync(mask, value, by) vyre_passed(__LINE__, mask, value, by)
#define __shfl_xor_sync(mask, value, by)                                                      \
    vyre_passed(__LINE__, mask, value, (int)(vyre_lane() ^ (by)) - (int)vyre_lane())

#define __shfl_sync(mask, value, from)                                                        \
    vyre_passed(__LINE__, mask, value, (int)(from) - (int)vyre_lane())
#define __threadfence() ((void)0)
#define __syncwarp() ((void)vyre_passed(__LINE__, 0xffffffffu, 0u, 0))

static inline unsigned vyre_lane()
{
    return ((vyre_thread.z * vyre_size.y + vyre_thread.y) * vyre_size.x + vyre_thread.x) % 32;
}

template <class T> static T vyre_passed(int line, unsigned mask, T value, int from)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle passes words");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    bits = vyre_exchange(line, mask, bits, from);
    __builtin_memcpy(&value, &bits, sizeof(T));
    return value;
}

template <class T, class V> static inline void __stcs(T *at, V value) { *at = value; }

// -- vectors, aligned as CUDA's are

#define VYRE_VECTORS(stem, type, two, four)                                                   \
    struct __attribute__((aligned(two))) stem##2 { type x, y; };                              \
    struct stem##3 { type x, y, z; };                                                         \
    struct __attribute__((aligned(four))) stem##4 { type x, y, z, w; };                       \
    static inline stem##2 make_##stem##2(type x, type y) { return {x, y}; }                   \
    static inline stem##3 make_##stem##3(type x, type y, type z) { return {x, y, z}; }        \
    static inline stem##4 make_##stem##4(type x, type y, type z, type w) { return {x, y, z, w}; }
VYRE_VECTORS(char, signed char, 2, 4)
VYRE_VECTORS(uchar, unsigned char, 2, 4)
VYRE_VECTORS(short, short, 4, 8)
VYRE_VECTORS(ushort, unsigned short, 4, 8)
VYRE_VECTORS(int, int, 8, 16)
VYRE_VECTORS(uint, unsigned, 8, 16)
VYRE_VECTORS(longlong, long long, 16, 16)
VYRE_VECTORS(ulonglong, unsigned long long, 16, 16)
VYRE_VECTORS(float, float, 8, 16)
VYRE_VECTORS(double, double, 16, 16)

// -- functions

template <class To, class From> static inline To vyre_bits(From from)
{
    To to;
    __builtin_memcpy(&to, &from, sizeof(to));
    return to;
}
static inline float __uint_as_float(unsigned bits) { return vyre_bits<float>(bits); }
static inline unsigned __float_as_uint(float value) { return vyre_bits<unsigned>(value); }
static inline double __longlong_as_double(long long bits) { return vyre_bits<double>(bits); }
static inline long long __double_as_longlong(double value) { return vyre_bits<long long>(value); }
static inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
static inline int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
static inline int __clz(int bits) { return bits ? __builtin_clz((unsigned)bits) : 32; }
static inline int __clzll(long long bits)
{
    return bits ? __builtin_clzll((unsigned long long)bits) : 64;
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline long long __mul64hi(long long a, long long b)
{
    return (long long)((__int128)a * b >> 64);
}

#define VYRE_ONE(name) extern "C" float name##f(float); extern "C" double name(double);
#define VYRE_TWO(name)                                                                        \
    extern "C" float name##f(float, float);                                                   \
    extern "C" double name(double, double);
VYRE_ONE(cos) VYRE_ONE(sin) VYRE_ONE(tan) VYRE_ONE(acos) VYRE_ONE(asin) VYRE_ONE(atan)
VYRE_ONE(tanh) VYRE_ONE(sinh) VYRE_ONE(cosh) VYRE_ONE(exp) VYRE_ONE(exp2) VYRE_ONE(log)
VYRE_ONE(log2) VYRE_ONE(log10) VYRE_ONE(log1p) VYRE_ONE(expm1) VYRE_ONE(asinh) VYRE_ONE(acosh)
VYRE_ONE(atanh) VYRE_ONE(cbrt) VYRE_ONE(erf) VYRE_ONE(erfc) VYRE_ONE(sqrt) VYRE_ONE(floor)
VYRE_ONE(ceil) VYRE_ONE(rint) VYRE_ONE(trunc) VYRE_ONE(fabs)
VYRE_TWO(pow) VYRE_TWO(atan2) VYRE_TWO(hypot) VYRE_TWO(copysign) VYRE_TWO(fmod)
extern "C" float fmaf(float, float, float);
extern "C" double fma(double, double, double);
static inline float rsqrtf(float a) { return (float)(1.0 / sqrt((double)a)); }

// One instruction each of PTX, to the last bit here: a device's own bits differ.
static inline float vyre_min_f32(float a, float b) {
    if (a != a || b != b) return a != a ? b : a;
    return a < b || (a == b && __builtin_signbit(a)) ? a : b;
}
static inline float vyre_max_f32(float a, float b) {
    if (a != a || b != b) return a != a ? b : a;
    return a > b || (a == b && !__builtin_signbit(a)) ? a : b;
}
static inline float vyre_div_full(float a, float b) { return a / b; }
static inline float vyre_rcp_approx(float a) { return 1.0f / a; }
static inline float vyre_sqrt_approx(float a) { return sqrtf(a); }
static inline float vyre_rsqrt_approx(float a) { return rsqrtf(a); }
static inline float vyre_ex2_approx(float a) { return exp2f(a); }
static inline float vyre_lg2_approx(float a) { return log2f(a); }
static inline float vyre_sin_approx(float a) { return sinf(a); }
static inline float vyre_cos_approx(float a) { return cosf(a); }
static inline float vyre_tanh_approx(float a) { return tanhf(a); }

// -- atomics: one fiber runs at a time

#define VYRE_ATOMIC(name, result)                                                             \
    template <class T, class V> static inline T name(T *at, V value)                          \
    {                                                                                         \
        const T old = *at, v = (T)value;                                                      \
        *at = (T)(result);                                                                    \
        return old;                                                                           \
    }
static inline unsigned vyre_sum(unsigned a, unsigned b) { return a + b; }
static inline unsigned long long vyre_sum(unsigned long long a, unsigned long long b)
{
    return a + b;
}
static inline int vyre_sum(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
VYRE_ATOMIC(atomicAdd, vyre_sum(old, v))
VYRE_ATOMIC(atomicOr, old | v)
VYRE_ATOMIC(atomicAnd, old & v)
VYRE_ATOMIC(atomicXor, old ^ v)
VYRE_ATOMIC(atomicMin, old < v ? old : v)
VYRE_ATOMIC(atomicMax, old > v ? old : v)
VYRE_ATOMIC(atomicExch, v)
VYRE_ATOMIC(atomicInc, old >= v ? 0 : old + 1)
template <class T, class V> static inline T atomicCAS(T *at, V expected, V value)
{
    const T old = *at;
    if (old == (T)expected) *at = (T)value;
    return old;
}

// -- a kernel by the addresses of its arguments, as CUDA's driver takes them

template <int... I> struct vyre_places {};
template <int N, int... I> struct vyre_count : vyre_count<N - 1, N - 1, I...> {};
template <int... I> struct vyre_count<0, I...> { typedef vyre_places<I...> type; };
template <class... P, int... I>
static void vyre_spread(void (*kernel)(P...), void **given, vyre_places<I...>)
{
    kernel(*(P *)given[I]...);
}
template <class... P> static void vyre_call(void (*kernel)(P...), void **given)
{
    vyre_spread(kernel, given, typename vyre_count<sizeof...(P)>::type());
}
