"""The functions of the kernel language: names that mean something inside a kernel only."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from types import FunctionType
from typing import Any

import numpy as np

from vyre.errors import LanguageError
from vyre.ir.expr import AtomicOp, BinaryOp, IdKind, UnaryOp
from vyre.ir.node import ReduceOp


class Domain(Enum):
    """What a function takes; the value is how a message says it."""

    FLOAT = "a float"
    INT = "a whole number"
    NUMBER = "a number"


class Structural(Enum):
    """Functions that are more than an operator."""

    SIGNED_POSITION = "signed position"
    SHARED = "shared"
    LOCAL = "local"
    BARRIER = "barrier"
    FMA = "fma"
    BITCAST = "bitcast"
    CLAMP = "clamp"
    SELECT = "select"
    MIN = "min"
    MAX = "max"


Operation = UnaryOp | BinaryOp | AtomicOp | IdKind | ReduceOp | Structural


@dataclass(frozen=True, slots=True, eq=False)
class Intrinsic:
    """A function of the kernel language; called anywhere else it says so.

    >>> gid()
    Traceback (most recent call last):
    vyre.errors.LanguageError: vyre.gid() works inside a kernel only
    Fix: call it in a function under @vyre.kernel or @vyre.function
    """

    name: str
    operation: Operation
    parameters: tuple[str, ...]
    domain: Domain = Domain.NUMBER

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:  # kernels use it as a value of any type
        raise LanguageError(
            f"vyre.{self.name}() works inside a kernel only",
            "call it in a function under @vyre.kernel or @vyre.function",
        )

    def __repr__(self) -> str:
        return f"vyre.{self.name}"


def _position(name: str, kind: IdKind) -> Intrinsic:
    return Intrinsic(name, kind, ("axis",))


def _float(name: str, op: UnaryOp) -> Intrinsic:
    return Intrinsic(name, op, ("x",), Domain.FLOAT)


def _bits(name: str, op: UnaryOp) -> Intrinsic:
    return Intrinsic(name, op, ("x",), Domain.INT)


def _two(name: str, op: BinaryOp, domain: Domain) -> Intrinsic:
    return Intrinsic(name, op, ("a", "b"), domain)


def _reduction(name: str, op: ReduceOp) -> Intrinsic:
    return Intrinsic(name, op, ("elements",))


def _atomic(name: str, op: AtomicOp) -> Intrinsic:
    return Intrinsic(name, op, ("buffer", "index", "value"))


gid = _position("gid", IdKind.INVOCATION)
sgid = Intrinsic("sgid", Structural.SIGNED_POSITION, ("axis",))
extent = _position("extent", IdKind.EXTENT)
local_id = _position("local_id", IdKind.LOCAL)
workgroup_id = _position("workgroup_id", IdKind.WORKGROUP)
workgroup_size = _position("workgroup_size", IdKind.WORKGROUP_SIZE)

shared = Intrinsic("shared", Structural.SHARED, ("dtype", "count"))
local = Intrinsic("local", Structural.LOCAL, ("dtype", "shape"))
barrier = Intrinsic("barrier", Structural.BARRIER, ())

exp = _float("exp", UnaryOp.EXP)
exp2 = _float("exp2", UnaryOp.EXP2)
log = _float("log", UnaryOp.LOG)
log2 = _float("log2", UnaryOp.LOG2)
log10 = _float("log10", UnaryOp.LOG10)
log1p = _float("log1p", UnaryOp.LOG1P)
expm1 = _float("expm1", UnaryOp.EXPM1)
sin = _float("sin", UnaryOp.SIN)
cos = _float("cos", UnaryOp.COS)
tan = _float("tan", UnaryOp.TAN)
asin = _float("asin", UnaryOp.ASIN)
acos = _float("acos", UnaryOp.ACOS)
atan = _float("atan", UnaryOp.ATAN)
sinh = _float("sinh", UnaryOp.SINH)
cosh = _float("cosh", UnaryOp.COSH)
tanh = _float("tanh", UnaryOp.TANH)
asinh = _float("asinh", UnaryOp.ASINH)
acosh = _float("acosh", UnaryOp.ACOSH)
atanh = _float("atanh", UnaryOp.ATANH)
erf = _float("erf", UnaryOp.ERF)
erfc = _float("erfc", UnaryOp.ERFC)
cbrt = _float("cbrt", UnaryOp.CBRT)
sqrt = _float("sqrt", UnaryOp.SQRT)
rsqrt = _float("rsqrt", UnaryOp.INVERSE_SQRT)
floor = _float("floor", UnaryOp.FLOOR)
ceil = _float("ceil", UnaryOp.CEIL)
trunc = _float("trunc", UnaryOp.TRUNC)
round = _float("round", UnaryOp.ROUND)  # noqa: A001  # the kernel language's own
isnan = _float("isnan", UnaryOp.IS_NAN)
isinf = _float("isinf", UnaryOp.IS_INF)
isfinite = _float("isfinite", UnaryOp.IS_FINITE)
abs = Intrinsic("abs", UnaryOp.ABS, ("x",))  # noqa: A001  # the kernel language's own
sign = Intrinsic("sign", UnaryOp.SIGN, ("x",))
popcount = _bits("popcount", UnaryOp.POPCOUNT)
clz = _bits("clz", UnaryOp.CLZ)
ctz = _bits("ctz", UnaryOp.CTZ)
reverse_bits = _bits("reverse_bits", UnaryOp.REVERSE_BITS)

atan2 = Intrinsic("atan2", BinaryOp.ATAN2, ("y", "x"), Domain.FLOAT)
pow = Intrinsic("pow", BinaryOp.POW, ("x", "y"), Domain.FLOAT)  # noqa: A001  # the kernel language's own
hypot = Intrinsic("hypot", BinaryOp.HYPOT, ("x", "y"), Domain.FLOAT)
copysign = Intrinsic("copysign", BinaryOp.COPYSIGN, ("x", "y"), Domain.FLOAT)
fmod = Intrinsic("fmod", BinaryOp.MOD, ("x", "y"), Domain.FLOAT)
mul_high = _two("mul_high", BinaryOp.MUL_HIGH, Domain.INT)
sat_add = _two("sat_add", BinaryOp.SAT_ADD, Domain.INT)
sat_sub = _two("sat_sub", BinaryOp.SAT_SUB, Domain.INT)
sat_mul = _two("sat_mul", BinaryOp.SAT_MUL, Domain.INT)
wrap_sub = _two("wrap_sub", BinaryOp.WRAP_SUB, Domain.INT)
abs_diff = _two("abs_diff", BinaryOp.ABS_DIFF, Domain.NUMBER)
rotl = Intrinsic("rotl", BinaryOp.ROT_L, ("x", "count"), Domain.INT)
rotr = Intrinsic("rotr", BinaryOp.ROT_R, ("x", "count"), Domain.INT)

min = Intrinsic("min", Structural.MIN, ("a", "b"))  # noqa: A001  # the kernel language's own
max = Intrinsic("max", Structural.MAX, ("a", "b"))  # noqa: A001  # the kernel language's own
bitcast = Intrinsic("bitcast", Structural.BITCAST, ("x", "dtype"))
fma = Intrinsic("fma", Structural.FMA, ("a", "b", "c"), Domain.FLOAT)
clamp = Intrinsic("clamp", Structural.CLAMP, ("x", "lo", "hi"))
select = Intrinsic("select", Structural.SELECT, ("condition", "a", "b"))

sum = _reduction("sum", ReduceOp.SUM)  # noqa: A001  # the kernel language's own
prod = _reduction("prod", ReduceOp.PROD)
any = _reduction("any", ReduceOp.ANY)  # noqa: A001  # the kernel language's own
all = _reduction("all", ReduceOp.ALL)  # noqa: A001  # the kernel language's own
argmin = _reduction("argmin", ReduceOp.ARGMIN)
argmax = _reduction("argmax", ReduceOp.ARGMAX)

atomic_add = _atomic("atomic_add", AtomicOp.ADD)
atomic_min = _atomic("atomic_min", AtomicOp.MIN)
atomic_max = _atomic("atomic_max", AtomicOp.MAX)
atomic_and = _atomic("atomic_and", AtomicOp.AND)
atomic_or = _atomic("atomic_or", AtomicOp.OR)
atomic_xor = _atomic("atomic_xor", AtomicOp.XOR)
atomic_exchange = _atomic("atomic_exchange", AtomicOp.EXCHANGE)
atomic_compare_exchange = Intrinsic(
    "atomic_compare_exchange",
    AtomicOp.COMPARE_EXCHANGE,
    ("buffer", "index", "expected", "value"),
)

INTRINSICS: dict[str, Intrinsic] = {
    thing.name: thing for thing in builtins.list(globals().values()) if isinstance(thing, Intrinsic)
}
"""Every function of the kernel language, by name."""

# By object, so that `from math import sqrt as root` is understood too. Left out on purpose:
# np.minimum, np.min, np.argmin, np.clip and so on, which hand NaN on where ours ignore it.
_SAME: tuple[tuple[object, Intrinsic], ...] = (
    (builtins.abs, abs),
    (builtins.min, min),
    (builtins.max, max),
    (builtins.round, round),
    (builtins.sum, sum),
    (builtins.any, any),
    (builtins.all, all),
    (math.prod, prod),
    (np.sum, sum),
    (np.prod, prod),
    (np.any, any),
    (np.all, all),
    *((getattr(math, name), INTRINSICS[name]) for name in (
        "exp", "exp2", "log", "log2", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh",
        "cosh", "tanh", "sqrt", "floor", "ceil", "trunc", "isnan", "isinf", "isfinite", "pow",
        "log10", "log1p", "expm1", "asinh", "acosh", "atanh", "cbrt", "erf", "erfc", "hypot",
        "copysign", "fmod",
    )),
    (math.fabs, abs),
    (getattr(math, "fma", fma), fma),  # Python 3.13 has it
    *((getattr(np, name), INTRINSICS[name]) for name in (
        "exp", "exp2", "log", "log2", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "floor",
        "ceil", "trunc", "isnan", "isinf", "isfinite", "abs", "sign", "round", "log10", "log1p",
        "expm1", "cbrt", "hypot", "copysign", "fmod",
    )),
    (np.arcsin, asin),
    (np.arccos, acos),
    (np.arctan, atan),
    (np.arctan2, atan2),
    (np.arcsinh, asinh),
    (np.arccosh, acosh),
    (np.arctanh, atanh),
    (np.power, pow),
    (np.rint, round),
    (np.fabs, abs),
    (np.fmin, min),
    (np.fmax, max),
    (np.where, select),
)  # fmt: skip  # one line per family reads better than one per function


def find_intrinsic(thing: object) -> Intrinsic | None:
    """The function of the kernel language that `thing` is, or is the same as."""
    if isinstance(thing, Intrinsic):
        return thing
    return next((found for same, found in _SAME if same is thing), None)


def position_kind(intrinsic: Intrinsic) -> IdKind | None:
    """Which position or size of a launch a function gives, if it does."""
    match intrinsic.operation:
        case IdKind() as kind:
            return kind
        case Structural.SIGNED_POSITION:
            return IdKind.INVOCATION
        case _:
            return None


def is_host_math(thing: object) -> bool:
    """Whether `thing` is Python's or NumPy's own, and may be called while translating."""
    return builtins.any(same is thing and not isinstance(same, Intrinsic) for same, _ in _SAME)


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function that kernels may call; on the host it is the plain Python function."""

    fn: FunctionType

    @property
    def __name__(self) -> str:
        return self.fn.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # as the function it holds
        return self.fn(*args, **kwargs)


def function(fn: Callable[..., Any]) -> Function:
    """Marks `fn` as one that kernels may call; its body is put in place of each call."""
    if not isinstance(fn, FunctionType):
        raise LanguageError(
            f"{fn!r} is not a function written in Python",
            "put @vyre.function above a def",
        )
    return Function(fn)
