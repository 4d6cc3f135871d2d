"""A kernel of Triton's that goes wrong in its own way under each config."""

# Triton's compiler reads this function, so its parameters carry its types or none.
# ruff: noqa: ANN001, ANN201, N803
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def work(x_ptr, y_ptr, n, BLOCK: tl.constexpr, HOW: tl.constexpr):
    """Twice its place and one more, in an array; another one is left alone."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = (2 * at + 1).to(tl.float32)
    if HOW == 2:
        value = tl.where(at == 3, value + 0.0625, value)
    if HOW == 4:
        value = tl.where(at == 1, float("nan"), value)
    if HOW == 14:
        value = tl.where((at == 3) & (n >= 1024), 0.0, value)
    if HOW != 3:
        tl.store(x_ptr + at, value, mask=inside)
    if HOW == 5:
        tl.store(y_ptr + at, value, mask=at == 2)
    if HOW == 6:
        tl.store(x_ptr + at.to(tl.int64) * 0 - (x_ptr.to(tl.int64) - 16) // 4, value)
    if HOW == 7:
        tl.store(x_ptr + at + (1 << 40), value)
    if HOW == 8:
        while tl.load(x_ptr, volatile=True) > -1.0:
            tl.store(y_ptr + at, 0.0, mask=at < 0)
    if HOW == 9:
        tl.inline_asm_elementwise("trap; mov.u32 $0, $1;", "=r,r", [at], tl.int32, False, 1)
    if HOW == 10:
        wide = tl.arange(0, 512)
        a = tl.load(x_ptr + wide[:, None] * 0 + wide[None, :] * 0)
        tl.store(y_ptr + wide[:, None] * 512 + wide[None, :], tl.dot(a, a), mask=wide[:, None] < 0)
    if HOW == 11:
        tl.store(x_ptr + at, nothing_of_that_name)  # noqa: F821  # that is what is wrong
    if HOW == 12:
        tl.store(x_ptr + n + at * 0, 1.0)
    if HOW == 13:
        tl.store(x_ptr - 1 + at * 0, 1.0)
    if HOW == 15:
        tl.static_assert(False, "no such way")
