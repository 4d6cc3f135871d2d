"""The patterns of f16 and bf16, which are computed with as f32."""

from __future__ import annotations

from vyre.emit.llvm.arithmetic.instructions import Instructions
from vyre.emit.llvm.builder import F32, U32
from vyre.emit.llvm.values import Shape, Value
from vyre.ir.types import DataType


def widened(do: Instructions, element: DataType, pattern: Value) -> Value:
    """The f32 of a stored f16 or bf16."""
    if element == DataType.BF16:
        wide = do.whole(pattern, U32)
        return do.bits(do.plain("shl", wide, do.number(U32, 16)), F32)
    if do.b.parts.features.half:
        return _through_half(do, pattern, "half", "float", F32)
    h = do.whole(pattern, U32)
    sign = do.plain("shl", do.plain("and", h, do.number(U32, 0x8000)), do.number(U32, 16))
    size = do.plain("and", h, do.number(U32, 0x7FFF))
    fraction = do.plain("shl", size, do.number(U32, 13))
    usual = do.plain("add", fraction, do.number(U32, 112 << 23))
    special = do.plain("or", fraction, do.number(U32, 0x7F80_0000))
    tiny = do.plain("fmul", do.convert("uitofp", size, F32), do.number(F32, 2.0**-24))
    found = do.select(do.compare("uge", size, do.number(U32, 0x7C00)), special, usual)
    is_tiny = do.compare("ult", size, do.number(U32, 0x0400))
    found = do.select(is_tiny, do.bits(tiny, U32), found)
    return do.bits(do.plain("or", sign, found), F32)


def narrowed(do: Instructions, element: DataType, value: Value) -> Value:
    """The stored f16 or bf16 nearest to an f32, ties to even."""
    bits = do.bits(value, U32)
    number = do.number
    if element == DataType.BF16:
        last = do.plain("and", do.plain("lshr", bits, number(U32, 16)), number(U32, 1))
        up = do.plain("add", do.plain("add", bits, number(U32, 0x7FFF)), last)
        nearest = do.plain("lshr", up, number(U32, 16))
        is_nan = do.compare("uno", value, value)
        return do.whole(do.select(is_nan, number(U32, 0x7FC0), nearest), DataType.U16)
    if do.b.parts.features.half:
        return _through_half(do, value, "float", "half", DataType.U16)
    sign = do.plain("and", do.plain("lshr", bits, number(U32, 16)), number(U32, 0x8000))
    x = do.plain("and", bits, number(U32, 0x7FFF_FFFF))
    scaled = do.plain("fmul", do.bits(x, F32), number(F32, 2.0**24))
    tiny = do.saturated(do.intrinsic("roundeven", scaled), U32)
    y = do.plain("sub", x, number(U32, 0x3800_0000))
    last = do.plain("and", do.plain("lshr", y, number(U32, 13)), number(U32, 1))
    up = do.plain("add", do.plain("add", y, number(U32, 0xFFF)), last)
    found = do.plain("lshr", up, number(U32, 13))
    found = do.select(do.compare("ult", x, number(U32, 0x3880_0000)), tiny, found)
    found = do.select(do.compare("uge", x, number(U32, 0x477F_F000)), number(U32, 0x7C00), found)
    found = do.select(do.compare("ugt", x, number(U32, 0x7F80_0000)), number(U32, 0x7E00), found)
    return do.whole(do.plain("or", sign, found), DataType.U16)


def _through_half(
    do: Instructions, value: Value, source: str, target: str, dtype: DataType
) -> Value:
    b = do.b
    vector = value.shape is Shape.VECTOR
    first, last = (b.vector(kind) if vector else kind for kind in (source, target))
    short = b.vector("i16") if vector else "i16"

    def make(register: str) -> str:
        if source == "half":
            half = b.op(f"bitcast {short} {register} to {first}")
            return b.op(f"fpext {first} {half} to {last}")
        b.parts.halves = True
        half = b.op(f"fptrunc {first} {register} to {last}")
        return b.op(f"bitcast {last} {half} to {short}")

    return b.map(dtype, value.shape, make, value)


FROM_DOUBLE = """\
@llvm.compiler.used = appending global [1 x ptr] [ptr @__truncdfhf2], section "llvm.metadata"
define internal half @__truncdfhf2(double %a) #0 {
  %bits = bitcast double %a to i64
  %top = lshr i64 %bits, 48
  %sign = and i64 %top, 32768
  %x = and i64 %bits, 9223372036854775807
  %size = bitcast i64 %x to double
  %scaled = fmul double %size, 0x4170000000000000
  %raised = fadd double %scaled, 0x4330000000000000
  %whole = bitcast double %raised to i64
  %tiny = and i64 %whole, 2047
  %y = sub i64 %x, 4539628424389459968
  %last.at = lshr i64 %y, 42
  %last = and i64 %last.at, 1
  %up = add i64 %y, 2199023255551
  %even = add i64 %up, %last
  %usual = lshr i64 %even, 42
  %is.tiny = icmp ult i64 %x, 4544132024016830464
  %near = select i1 %is.tiny, i64 %tiny, i64 %usual
  %is.large = icmp uge i64 %x, 4679237813814689792
  %far = select i1 %is.large, i64 31744, i64 %near
  %is.nan = icmp ugt i64 %x, 9218868437227405312
  %found = select i1 %is.nan, i64 32256, i64 %far
  %signed = or i64 %sign, %found
  %short = trunc i64 %signed to i16
  %half = bitcast i16 %short to half
  ret half %half
}
"""
"""What LLVM calls for an f64 that it sees rounded to f16, on processors that cannot do that.

It takes the sign of a half from the f64 that it was rounded from, and by this function.
"""
