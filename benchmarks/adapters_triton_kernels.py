"""Kernels of Triton as its users write them, for tests and for benchmarks/adapters_triton.py."""

# Triton's compiler reads these functions, so their parameters carry its types or none.
# ruff: noqa: ANN001, N803

import triton
import triton.language as tl


@triton.jit
def ones(x_ptr, BLOCK: tl.constexpr):
    """Next to nothing, so that Triton itself has come up."""
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """The sum of two arrays."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, x + y, mask=inside)


@triton.jit
def softmax(out_ptr, in_ptr, in_step, out_step, columns, BLOCK: tl.constexpr):
    """Softmax of each row, which one program walks in blocks: the largest and the sum first."""
    row = tl.program_id(0)
    source = in_ptr + row.to(tl.int64) * in_step
    target = out_ptr + row.to(tl.int64) * out_step
    most = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        x = tl.load(source + at, mask=at < columns, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(most, x)
        kept = tl.where(most == -float("inf"), 0.0, total * tl.exp(most - higher))
        total = kept + tl.where(x == -float("inf"), 0.0, tl.exp(x - higher))
        most = higher
    top = tl.max(most, 0)
    whole = tl.sum(tl.where(most == -float("inf"), 0.0, total * tl.exp(most - top)), 0)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        x = tl.load(source + at, mask=at < columns, other=-float("inf")).to(tl.float32)
        tl.store(target + at, tl.exp(x - top) / whole, mask=at < columns)


@triton.jit
def layer_norm(
    x_ptr,
    out_ptr,
    weight_ptr,
    bias_ptr,
    mean_ptr,
    rstd_ptr,
    step,
    columns,
    eps,
    BLOCK: tl.constexpr,
):
    """Each row less its mean, over its deviation, weighted; both are kept for a backward pass."""
    row = tl.program_id(0)
    x_ptr += row.to(tl.int64) * step
    out_ptr += row.to(tl.int64) * step
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < columns, other=0.0).to(tl.float32)
        apart = tl.where(at < columns, x - mean, 0.0)
        squares += apart * apart
    rstd = 1 / tl.sqrt(tl.sum(squares, 0) / columns + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for begin in range(0, columns, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        inside = at < columns
        weight = tl.load(weight_ptr + at, mask=inside)
        bias = tl.load(bias_ptr + at, mask=inside)
        x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(out_ptr + at, (x - mean) * rstd * weight + bias, mask=inside)


@triton.jit
def leaky(x):
    """A function that a product may end with."""
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def product(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_column, b_row, b_column, c_row, c_column,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    ACTIVATION: tl.constexpr = "",
):  # fmt: skip
    """C = A B in tiles, walked in groups of rows so that neighbours share what they read."""
    number = tl.program_id(0)
    down, along = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    first = number // (GROUP * along) * GROUP
    height = min(down - first, GROUP)
    i = first + number % (GROUP * along) % height
    j = number % (GROUP * along) // height
    rows = (i * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    columns = (j * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    deep = tl.arange(0, BLOCK_K)
    a = a_ptr + rows[:, None] * a_row + deep[None, :] * a_column
    b = b_ptr + deep[:, None] * b_row + columns[None, :] * b_column
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(tl.cdiv(K, BLOCK_K)):
        left = K - step * BLOCK_K
        one = tl.load(a, mask=deep[None, :] < left, other=0.0)
        other = tl.load(b, mask=deep[:, None] < left, other=0.0)
        total = tl.dot(one, other, total)
        a += BLOCK_K * a_column
        b += BLOCK_K * b_row
    if ACTIVATION == "leaky":
        total = leaky(total)
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = j * BLOCK_N + tl.arange(0, BLOCK_N)
    c = c_ptr + rows[:, None] * c_row + columns[None, :] * c_column
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c, total.to(c_ptr.dtype.element_ty), mask=inside)


@triton.jit
def attention(
    q_ptr, k_ptr, v_ptr, out_ptr, scale, head_step, row_step, length,
    WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, EVEN: tl.constexpr,
):  # fmt: skip
    """Rows of queries over all keys of a head, with the softmax taken as it goes."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    across = tl.arange(0, WIDTH)
    head = tl.program_id(1).to(tl.int64) * head_step
    here = head + rows[:, None] * row_step + across[None, :]
    q = tl.load(q_ptr + here, mask=rows[:, None] < length, other=0.0)
    most = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    whole = tl.zeros((BLOCK_M,), tl.float32)
    total = tl.zeros((BLOCK_M, WIDTH), tl.float32)
    for begin in range(0, length, BLOCK_N):
        at = begin + tl.arange(0, BLOCK_N)
        there = head + at[:, None] * row_step + across[None, :]
        if EVEN:
            k = tl.load(k_ptr + there)
            v = tl.load(v_ptr + there)
        else:
            k = tl.load(k_ptr + there, mask=at[:, None] < length, other=0.0)
            v = tl.load(v_ptr + there, mask=at[:, None] < length, other=0.0)
        score = tl.dot(q, tl.trans(k)) * scale
        if not EVEN:
            score = tl.where(at[None, :] < length, score, -float("inf"))
        higher = tl.maximum(most, tl.max(score, 1))
        share = tl.exp(score - higher[:, None])
        faded = tl.exp(most - higher)
        whole = whole * faded + tl.sum(share, 1)
        total = tl.dot(share.to(v.dtype), v, total * faded[:, None])
        most = higher
    total = total / whole[:, None]
    tl.store(out_ptr + here, total.to(out_ptr.dtype.element_ty), mask=rows[:, None] < length)
