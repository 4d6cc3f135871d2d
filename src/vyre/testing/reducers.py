"""Kernels with reductions as people write them, under every schedule that may run them.

Each gives the reference's bits under all of them: alone and in teams, of one row of lanes and of
several, checked and not. Some names are words that emitters use themselves.
"""

# mypy: ignore-errors
# A kernel's annotations are the language's types: what they name is not what Python would see.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vyre
from vyre import In, InOut, Out, f32, f64, i32, i64, u8, u32, u64
from vyre.lang import Role
from vyre.model import Schedule
from vyre.plan.space import Space
from vyre.runtime.call.bound import Bound
from vyre.runtime.call.kernel import Kernel
from vyre.runtime.devices.device import Device
from vyre.testing.compare import apart
from vyre.testing.schedules import keeping, pinned, sharing

Array = NDArray[Any]

TABLE = tuple(round(0.37 * k - 1.5, 3) for k in range(40))


@vyre.kernel
def softmax(x: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid()
    top = max(x[i, k] for k in range(x.shape[1]))
    out[i, j] = vyre.exp(x[i, j] - top) / sum(vyre.exp(x[i, k] - top) for k in range(x.shape[1]))


@vyre.kernel
def softmax_rows(x: In[f32, 2], out: Out[f32, 2]):
    i = vyre.gid()
    top = max(x[i, k] for k in range(x.shape[1]))
    total = sum(vyre.exp(x[i, k] - top) for k in range(x.shape[1]))
    for j in range(x.shape[1]):
        out[i, j] = vyre.exp(x[i, j] - top) / total


@vyre.kernel
def layer_norm(x: In[f32, 2], w: In[f32], out: Out[f32, 2], eps: f32):
    i, j = vyre.gid()
    n = f32(x.shape[1])
    mean = sum(x[i, k] for k in range(x.shape[1])) / n
    variance = sum((x[i, at] - mean) ** 2 for at in range(x.shape[1])) / n
    out[i, j] = (x[i, j] - mean) * vyre.rsqrt(variance + eps) * w[j]


@vyre.kernel
def layer_norm_rows(x: In[f32, 2], out: Out[f32, 2], spread: Out[f32], eps: f32):
    i = vyre.gid()
    n = f32(x.shape[1])
    mean = sum(x[i, k] for k in range(x.shape[1])) / n
    square = sum(x[i, k] ** 2 for k in range(x.shape[1])) / n
    spread[i] = square - mean * mean
    for j in range(x.shape[1]):
        value = x[i, j] - mean
        out[i, j] = value * vyre.rsqrt(square - mean * mean + eps)


@vyre.kernel(fast_math=True)
def norm_fast(x: In[f32, 2], y: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    value = sum(x[i, k] * y[i, k] + x[i, k] for k in range(x.shape[1]))
    out[i] = value * value + 1  # a root or a quotient has a device's own last bits here


@vyre.kernel
def column_means(x: In[f32, 2], out: Out[f32]):
    j = vyre.gid()
    out[j] = sum(x[i, j] for i in range(len(x))) / f32(len(x))


@vyre.kernel
def dot(x: In[f32], y: In[f32], out: Out[f32]):
    out[0] = sum(x[k] * y[k] for k in range(len(x)))


@vyre.kernel
def dot_f64(x: In[f64], y: In[f64], out: Out[f64]):
    out[0] = sum(x[k] * y[k] for k in range(len(x)) if x[k] > -0.5)


@vyre.kernel
def norm(x: In[f32], out: Out[f32]):
    out[0] = vyre.sqrt(sum(x[k] ** 2 for k in range(len(x))))


@vyre.kernel
def normalise(x: In[f32], out: Out[f32]):
    j = vyre.gid()
    out[j] = x[j] / vyre.sqrt(sum(x[k] ** 2 for k in range(len(x))))


@vyre.kernel
def residual(a: In[f32, 2], v: In[f32], y: In[f32], out: Out[f32]):
    i = vyre.gid()
    out[i] = sum(a[i, k] * v[k] for k in range(len(v))) + y[i]


@vyre.kernel
def residual_twice(a: In[f32, 2], y: In[f32], out: Out[f32], also: Out[f32]):
    i = vyre.gid()
    value = y[i]
    if value > 0:
        value += max(a[i, k] for k in range(a.shape[1]))
    also[i] = value
    out[i] = value * sum(a[i, k] for k in range(a.shape[1]))


@vyre.kernel
def nearest(points: In[f32, 2], centres: In[f32, 2], out: Out[u32]):
    i = vyre.gid()
    out[i] = vyre.argmin(
        sum((points[i, d] - centres[c, d]) ** 2 for d in range(points.shape[1]))
        for c in range(len(centres))
    )


@vyre.kernel
def csr(start: In[u32], column: In[u32], value: In[f32], v: In[f32], out: Out[f32], most: Out[f32]):
    i = vyre.gid()
    out[i] = sum(value[k] * v[column[k]] for k in range(start[i], start[i + 1]))
    most[i] = max(value[k] for k in range(start[i], start[i + 1]) if value[k] < 0.5)


@vyre.kernel
def every_op(x: In[f32, 2], n: In[u32], out: Out[f32, 2], found: Out[u32, 2], says: Out[u8, 2]):
    i = vyre.gid()
    lane = n[i]
    out[i, 0] = sum(x[i, at] for at in range(lane) if x[i, at] > 0)
    out[i, 1] = vyre.prod(x[i, at] for at in range(lane))
    out[i, 2] = min(x[i, at] for at in range(lane))
    out[i, 3] = max(x[i, at] for at in range(lane) if x[i, at] < 1)
    found[i, 0] = vyre.argmin(x[i, at] for at in range(lane))
    found[i, 1] = vyre.argmax(x[i, at] for at in range(lane))
    found[i, 2] = sum(x[i, at] > 0 for at in range(lane))
    says[i, 0] = u8(any(x[i, at] != x[i, at] for at in range(lane)))
    says[i, 1] = u8(all(x[i, at] == x[i, at] for at in range(lane)))


@vyre.kernel
def wide_ops(
    x: In[i64, 2],
    y: In[u64, 2],
    z: In[f64, 2],
    w: In[i32, 2],
    n: u32,
    a: Out[i64, 2],
    b: Out[u64, 2],
    c: Out[f64, 2],
    d: Out[i32, 2],
    e: Out[u32, 2],
):
    i = vyre.gid()
    a[i, 0] = sum(x[i, k] for k in range(n))
    a[i, 1] = vyre.prod(x[i, k] for k in range(n))
    a[i, 2] = max(x[i, k] for k in range(n))
    b[i, 0] = sum(y[i, k] for k in range(n))
    b[i, 1] = min(y[i, k] for k in range(n))
    c[i, 0] = sum(z[i, k] for k in range(n))
    c[i, 1] = min(z[i, k] for k in range(n) if z[i, k] > 0)
    d[i, 0] = sum(w[i, k] for k in range(n))
    d[i, 1] = min(w[i, k] for k in range(n))
    e[i, 0] = vyre.argmin(x[i, k] for k in range(n))
    e[i, 1] = vyre.argmax(y[i, k] for k in range(n))
    e[i, 2] = vyre.argmax(z[i, k] for k in range(n))


@vyre.kernel
def in_loops(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    found = 0.0
    self = 0
    while self < 3 and sum(x[i, k] for k in range(self)) < 1:
        for float4 in range(2):
            found += sum(x[i, k] for k in range(float4 * 20, x.shape[1])) * 0.5
            if found > 100:
                break
            if any(x[i, k] > 0.9 for k in range(x.shape[1])):
                continue
            found -= min(x[i, k] for k in range(x.shape[1]))
        self += 1
    out[i] = found


@vyre.kernel
def early(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    if x[i, 0] < 0:
        return
    total = sum(x[i, k] for k in range(x.shape[1]))
    if total < 1:
        out[i] = total
        return
    out[i] = total - max(x[i, k] for k in range(x.shape[1]))


@vyre.kernel
def lengths(x: In[f32], y: In[f32], z: In[f32], out: Out[f32], n: i32):
    i = vyre.gid()
    goes = sum(x[k] for k in range(len(x)))
    value = sum(y[k] * goes for k in range(len(y)))
    out[i] = goes + value + sum(z[k + i32(i)] for k in range(n)) + sum(1.5 for k in range(7))


@vyre.kernel
def own_arrays(x: In[f32, 2], out: Out[f32]):
    i = vyre.gid()
    t = vyre.local(f32, 8)
    for k in range(8):
        t[k] = x[i, k] * TABLE[k]
    first = sum(t[k] for k in range(8))
    t[3] = first
    out[i] = first + sum(t[k % 8] * TABLE[k] for k in range(40)) + max(t[k] for k in range(8))


@vyre.kernel
def changed(x: InOut[f32, 2]):
    i = vyre.gid()
    total = sum(x[i, k] for k in range(x.shape[1]))
    for j in range(x.shape[1]):
        x[i, j] = x[i, j] / total


@vyre.kernel
def running(x: InOut[f32, 2]):
    i = vyre.gid()
    total = sum(x[i, k] for k in range(x.shape[1]))
    for j in range(1, x.shape[1]):
        x[i, j] = x[i, j - 1] / total


@vyre.kernel
def added(x: In[f32, 2], total: InOut[f32]):
    i = vyre.gid()
    total[i] += sum(x[i, k] for k in range(x.shape[1]))


@vyre.kernel
def planes(x: In[f32, 3], out: Out[f32, 3]):
    i, j, k = vyre.gid()
    out[i, j, k] = x[i, j, k] - sum(
        max(x[i, m, at] for at in range(x.shape[2])) for m in range(x.shape[1])
    )


@vyre.kernel
def cubes(x: In[f32, 3], out: Out[f32, 3]):
    i, j, k = vyre.gid()
    out[i, j, k] = x[i, j, k] * sum(x[i, m, k] for m in range(x.shape[1]))


@vyre.kernel
def product(a: In[f32, 2], b: In[f32, 2], out: Out[f32, 2]):
    i, j = vyre.gid()
    out[i, j] = sum(a[i, k] * b[k, j] for k in range(a.shape[1]))


@vyre.kernel
def odd_loops(x: In[f32, 2], a: Out[f32, 2], b: Out[f32, 2], c: Out[f32, 2], d: Out[f32, 2]):
    i = vyre.gid()
    s = sum(x[i, k] for k in range(x.shape[1]))
    for j in range(x.shape[1]):  # at one place
        a[i, 0] = s + x[i, j]
    carried = 0.0
    for j in range(x.shape[1]):  # carries a value
        carried += x[i, j]
        b[i, j] = carried * s
    for j in range(x.shape[1]):  # leaves early
        if x[i, j] > 0.95:
            break
        c[i, j] = s
    for j in range(x.shape[1]):  # twice to one array
        d[i, j] = s
        d[i, j + 1] = s * 2


@vyre.kernel
def strided_loops(x: In[f32, 2], a: Out[f32, 2], b: Out[f32, 2], c: Out[f32, 2]):
    i = vyre.gid()
    s = max(x[i, k] for k in range(x.shape[1]))
    for j in range(3, x.shape[1], 2):
        a[i, j] = s + x[i, j]
    for j in range(i32(x.shape[1]) - 1, -1, -1):
        b[i, j] = s - x[i, j]
    for j in range(-3, i32(x.shape[1])):
        inner = 0.0
        for k in range(3):
            inner += x[i, j + k]
        c[i, j] = s * inner


@vyre.kernel
def scattered(x: In[f32, 2], where: In[u32], out: Out[f32, 2]):
    i = vyre.gid()
    s = sum(x[i, k] for k in range(x.shape[1]))
    for j in range(x.shape[1]):  # the last of those that go to one place stays
        out[i, where[j]] = s + x[i, j]


@vyre.kernel
def cheap_sum(x: In[f32], w: In[f32], out: Out[f32]):
    j = vyre.gid()
    out[j] = vyre.sin(x[j]) * sum(w[k] for k in range(4))


@vyre.kernel
def conditional_rows(x: In[f32, 2], out: Out[f32, 2]):
    value, lane = vyre.gid()
    s = sum(x[value, k] for k in range(x.shape[1]))
    if lane % 2 == 0:
        at = x[value, lane]
        while at < 4:
            at = abs(at) * 2 + 1
        out[value, lane] = at + s
    else:
        out[value, lane] = s


@vyre.kernel
def halved_rounds(x: In[f32, 2], out: Out[f32], n: u32):
    i = vyre.gid()
    rounds = n
    kept = sum(x[i, k] for k in range(rounds))
    rounds = rounds // 2
    out[i] = kept + sum(x[i, k] * kept for k in range(rounds))


@vyre.kernel
def other_rounds_between(x: In[f32, 2], z: In[f32], out: Out[f32]):
    i = vyre.gid()
    start = sum(x[i, k] for k in range(x.shape[1]))
    slot = sum(z[k] for k in range(len(z)))
    at = max(x[i, k] for k in range(x.shape[1]))
    out[i] = start + slot + sum(x[i, k] - at for k in range(x.shape[1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A kernel and what it is called with."""

    kernel: Kernel
    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]  # as they are before
    scalars: Mapping[str, Any] = field(default_factory=dict)
    shape: tuple[int, ...] | None = None
    shared: Mapping[str, str] = field(default_factory=dict)  # inputs, by outputs they are passed as

    def __str__(self) -> str:
        shapes = ", ".join(f"{n} {a.shape}" for n, a in (self.inputs | self.outputs).items())
        return f"{self.kernel.name}({shapes}{', in place' if self.shared else ''})"

    def run(self, device: Device, schedule: Schedule | None = None) -> dict[str, Array]:
        """What it writes."""
        arrays, given, outs = self._given(device)
        self.kernel(**given, out=outs, shape=self.shape, schedule=schedule, **self.scalars)
        return {name: np.asarray(arrays[name]) for name in self.outputs}

    def space(self, device: Device) -> Space:
        """The schedules that may run it."""
        bound = self._bound(device)
        numbers, alignment, _ = bound.numbered
        return bound.launcher.space(numbers, alignment)

    def sharing(self, device: Device, rng: Random) -> list[Schedule]:
        """A few schedules whose teams share each result."""
        numbers, _, _ = self._bound(device).numbered
        return sharing(device.info, self.kernel.program, numbers, rng)

    def keeping(self, device: Device, rng: Random) -> list[Schedule]:
        """A few schedules whose lanes keep what they compute again."""
        numbers, _, _ = self._bound(device).numbered
        return keeping(device.info, self.kernel.program, numbers, rng)

    def pinned(self, device: Device, rng: Random) -> list[Schedule]:
        """A few schedules of each kind of teams, whatever they are worth."""
        numbers, _, _ = self._bound(device).numbered
        return pinned(device.info, self.kernel.program, numbers, rng)

    def _bound(self, device: Device) -> Bound:
        _, given, outs = self._given(device)
        named = {**given, **self.scalars}
        return self.kernel._dispatcher.bind((), outs, self.shape, None, named)

    def _given(self, device: Device) -> tuple[dict[str, Any], dict[str, Any], Any]:
        arrays = {n: device.array(a) for n, a in {**self.inputs, **self.outputs}.items()}
        arrays |= {name: arrays[source] for name, source in self.shared.items()}
        roles = {p.name: p.role for p in self.kernel._translation.params}
        outs = tuple(a for n, a in arrays.items() if roles[n] is Role.OUT)
        given = {n: a for n, a in arrays.items() if roles[n] is not Role.OUT}
        return arrays, given, outs or None


def deviations(
    call: Call, device: Device, schedules: Sequence[Schedule] | None = None
) -> Iterator[str]:
    """What differs from the reference, in words, under some schedules or all that may run it."""
    expected = call.run(vyre.open("reference"))
    first: dict[str, Array] = {}
    for schedule in call.space(device).legal if schedules is None else schedules:
        found = call.run(device, schedule)
        for name, values in found.items():
            exact = call.kernel.name not in INEXACT
            wanted = expected[name] if exact else first.setdefault(name, values)
            dtype = call.kernel.program.buffer(name).element
            for at in apart(dtype, wanted, values)[:1]:
                yield (
                    f"{call} on {device.name} as {schedule.text}: {name}[{at}] is "
                    f"{values.flat[at]}, not {wanted.flat[at]}"
                )


INEXACT = frozenset(("softmax", "softmax_rows", "cheap_sum"))
"""Kernels whose functions may differ between devices, but not between schedules."""

ROUNDS = (0, 1, 2, 31, 32, 33, 40, 1023, 1024, 1025, 2049)


def floats(rng: np.random.Generator, *shape: int, kind: type = np.float32) -> Array:
    """Numbers of several sizes; now and then some are -0, NaN or infinite."""
    values = np.ldexp(rng.uniform(-1, 1, shape), rng.integers(-3, 4, shape)).astype(kind)
    values[rng.random(shape) < 0.03] = -0.0
    if rng.random() < 0.15:
        values[rng.random(shape) < 0.01] = rng.choice([np.nan, np.inf, -np.inf])
    return values


def calls(seed: int) -> Iterator[Call]:
    """Every kernel once, with arrays that differ from seed to seed."""
    rng = np.random.default_rng(seed)
    draw = Random(seed)

    def n() -> int:
        return draw.choice(ROUNDS)

    def rows() -> int:
        return draw.choice((1, 1, 2, 3, 5, 33))

    def zeros(*shape: int, kind: Any = np.float32) -> Array:
        return np.zeros(shape, kind)

    def of(kernel: Kernel, inputs: dict[str, Array], shape: Any = None, **outputs: Array) -> Call:
        return Call(kernel=kernel, inputs=inputs, outputs=outputs, shape=shape)

    for kernel in (softmax, conditional_rows):
        x = floats(rng, rows(), max(n(), 1))
        yield of(kernel, {"x": x}, x.shape, out=zeros(*x.shape))
    x = floats(rng, rows(), max(n(), 1))
    yield of(softmax_rows, {"x": x}, (len(x),), out=zeros(*x.shape))
    m, k = rows(), max(n(), 1)
    yield replace(
        of(layer_norm, {"x": floats(rng, m, k), "w": floats(rng, k)}, (m, k), out=zeros(m, k)),
        scalars={"eps": 1e-5},
    )
    yield replace(
        of(layer_norm_rows, {"x": floats(rng, m, k)}, (m,), out=zeros(m, k), spread=zeros(m)),
        scalars={"eps": 1e-5},
    )
    m, k = rows(), n()
    yield of(norm_fast, {"x": floats(rng, m, k), "y": floats(rng, m, k)}, (m,), out=zeros(m))
    yield of(column_means, {"x": floats(rng, n(), m)}, (m,), out=zeros(m))
    k = draw.choice((*ROUNDS, 40_000))
    yield of(dot, {"x": floats(rng, k), "y": floats(rng, k)}, out=zeros(1))
    doubles = {name: floats(rng, k, kind=np.float64) for name in ("x", "y")}
    yield of(dot_f64, doubles, out=zeros(1, kind=np.float64))
    yield of(norm, {"x": floats(rng, k)}, out=zeros(1))
    k = max(n(), 1)
    yield of(normalise, {"x": floats(rng, k)}, (k,), out=zeros(k))
    k = n()
    inputs = {"a": floats(rng, m, k), "v": floats(rng, k), "y": floats(rng, m)}
    yield of(residual, inputs, (m,), out=zeros(m))
    yield replace(of(residual, inputs, (m,), out=zeros(m)), shared={"out": "y"})
    inputs = {"a": floats(rng, m, k), "y": floats(rng, m)}
    twice = of(residual_twice, inputs, (m,), out=zeros(m), also=zeros(m))
    yield twice
    yield replace(twice, shared={"out": "y"})
    yield replace(twice, shared={"also": "y"})
    d = draw.choice((1, 3, 32, 33))
    inputs = {"points": floats(rng, m, d), "centres": floats(rng, draw.choice((1, 5, 33, 70)), d)}
    yield of(nearest, inputs, (m,), out=zeros(m, kind=np.uint32))
    sizes = rng.choice([0, 0, 1, 5, 32, 33, 100, 1025], m)
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)
    total = max(int(start[-1]), 1)
    inputs = {
        "start": start,
        "column": rng.integers(0, 60, total, np.uint32),  # some of which are beyond
        "value": floats(rng, total),
        "v": floats(rng, 50),
    }
    yield of(csr, inputs, (m,), out=zeros(m), most=zeros(m))
    k = max(n(), 1)
    inputs = {"x": floats(rng, m, k), "n": rng.integers(0, k + 1, m, np.uint32)}
    yield of(
        every_op,
        inputs,
        (m,),
        out=zeros(m, 4),
        found=zeros(m, 3, kind=np.uint32),
        says=zeros(m, 2, kind=np.uint8),
    )
    k = n()
    inputs = {
        "x": rng.integers(-(2**63), 2**63, (m, k), np.int64),
        "y": rng.integers(0, 2**64, (m, k), np.uint64),
        "z": floats(rng, m, k, kind=np.float64),
        "w": rng.integers(-5, 5, (m, k), np.int32),
    }
    yield replace(
        of(
            wide_ops,
            inputs,
            (m,),
            a=zeros(m, 3, kind=np.int64),
            b=zeros(m, 2, kind=np.uint64),
            c=zeros(m, 2, kind=np.float64),
            d=zeros(m, 2, kind=np.int32),
            e=zeros(m, 3, kind=np.uint32),
        ),
        scalars={"n": k},
    )
    for kernel in (in_loops, early):
        yield of(kernel, {"x": floats(rng, m, draw.choice((1, 5, 33, 70)))}, (m,), out=zeros(m))
    inputs = {name: floats(rng, n()) for name in "xyz"}
    yield replace(of(lengths, inputs, (m,), out=zeros(m)), scalars={"n": draw.choice((-1, 0, 50))})
    yield of(own_arrays, {"x": floats(rng, m, 8)}, (m,), out=zeros(m))
    for kernel in (changed, running):
        yield of(kernel, {}, (m,), x=floats(rng, m, n()))
    yield of(added, {"x": floats(rng, m, n())}, (m,), total=floats(rng, m))
    for kernel in (planes, cubes):
        x = floats(rng, 2, draw.choice((1, 33, 40)), draw.choice((1, 3, 35)))
        yield of(kernel, {"x": x}, x.shape, out=zeros(*x.shape))
    k = draw.choice((0, 1, 33, 100))
    inputs = {"a": floats(rng, 5, k), "b": floats(rng, k, 7)}
    yield of(product, inputs, (5, 7), out=zeros(5, 7))
    x = floats(rng, m, draw.choice((1, 3, 32, 100, 1025)))
    outs = {name: zeros(*x.shape) for name in "abcd"}
    yield of(odd_loops, {"x": x}, (m,), **outs)
    yield of(strided_loops, {"x": x}, (m,), **{name: outs[name] for name in "abc"})
    where = rng.integers(0, x.shape[1] + 2, x.shape[1], np.uint32)
    yield of(scattered, {"x": x, "where": where}, (m,), out=zeros(*x.shape))
    k = draw.choice((1, 40, 300))
    yield of(cheap_sum, {"x": floats(rng, k), "w": floats(rng, 4)}, (k,), out=zeros(k))
    k = n()
    x = floats(rng, m, k)
    yield replace(of(halved_rounds, {"x": x}, (m,), out=zeros(m)), scalars={"n": k})
    yield of(other_rounds_between, {"x": x, "z": floats(rng, n())}, (m,), out=zeros(m))
