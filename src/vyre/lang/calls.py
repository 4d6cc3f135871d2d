"""Calls in a kernel: casts, positions, mathematics and atomics."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from abc import abstractmethod
from collections.abc import Collection, Sequence
from math import copysign, isnan
from types import FunctionType
from typing import Any

import numpy as np

from vyre.errors import LanguageError
from vyre.ir.expr import (
    Atomic,
    AtomicOp,
    Binary,
    BinaryOp,
    Bitcast,
    Cast,
    Expr,
    Fma,
    Id,
    IdKind,
    Lit,
    Select,
    Unary,
    UnaryOp,
    Var,
)
from vyre.ir.node import Let, ReduceOp
from vyre.ir.types import SCALARS, DataType
from vyre.ir.typing import has_bits
from vyre.lang.context import NOTHING
from vyre.lang.expressions import SPLIT_EVERY, chain_of
from vyre.lang.intrinsics import (
    INTRINSICS,
    Domain,
    Function,
    Intrinsic,
    Structural,
    find_intrinsic,
    is_host_math,
)
from vyre.lang.operators import whole
from vyre.lang.params import MAX_RANK, instead_of
from vyre.lang.reductions import Reductions
from vyre.lang.scopes import Buffer, Held, Local
from vyre.lang.several import Parts, count_of, form_of
from vyre.lang.unknown import fix_for_text
from vyre.lang.values import PLACEHOLDER, Number, Value, converted, fits, literal

_TESTS = (UnaryOp.IS_NAN, UnaryOp.IS_INF, UnaryOp.IS_FINITE)
_ROTATES = (BinaryOp.ROT_L, BinaryOp.ROT_R)
_FLOAT_ATOMICS = (AtomicOp.ADD, AtomicOp.MIN, AtomicOp.MAX, AtomicOp.EXCHANGE)
_NEEDS_WORKGROUP = (IdKind.LOCAL, IdKind.WORKGROUP, IdKind.WORKGROUP_SIZE)
_EXTREMES = (Structural.MIN, Structural.MAX)
_SMALLEST_ATOMIC = 4  # bytes
_NAN_KEEPING: tuple[tuple[object, str], ...] = (
    (np.minimum, "min"),
    (np.maximum, "max"),
    (np.clip, "vyre.clamp"),
    (np.min, "min"),
    (np.max, "max"),
    (np.argmin, "vyre.argmin"),
    (np.argmax, "vyre.argmax"),
)


class Calls(Reductions):
    """Turns calls into values; functions under @vyre.function are left to whoever extends it."""

    @abstractmethod
    def misplaced_local(self, node: ast.Call) -> LanguageError: ...

    @abstractmethod
    def inline(self, node: ast.Call, function: Function) -> Parts | None: ...

    def call(self, node: ast.Call) -> Value:
        value = self.call_or_nothing(node)
        if value is None:
            raise self.no_value(node)
        if not isinstance(value, Value):
            names = ", ".join(f"v{number}" for number in range(len(value))) or "_"
            called = self.text(node.func)
            raise self.error(
                node,
                f"{called}() returns {count_of(form_of(value))}, and one is used here",
                f"take them apart on a line of its own: {names} = {called}(...)",
            )
        return value

    def no_value(self, node: ast.Call) -> LanguageError:
        return self.error(
            node,
            f"{self.text(node.func)}() has no value",
            "write the call on a line of its own",
        )

    def call_or_nothing(self, node: ast.Call) -> Parts | None:
        """What a call yields, or None for one that is made for its effect alone."""
        target = self.target(node)
        if isinstance(target, DataType):
            return self.cast(node, target)
        if isinstance(target, Function):
            return self.inline(node, target)
        if target is len:
            return self.call_len(node)
        if target is pow:
            base, exponent = self.arguments(node, ("base", "exp"))
            return self.binary(node, ast.Pow(), *self.values(base, exponent))
        if target is print:
            raise self.error(node, "print() has no value", "write print(...) on a line of its own")
        intrinsic = find_intrinsic(target)
        if intrinsic is None:
            return self.refuse(node, target)
        match intrinsic.operation:
            case IdKind() as kind:
                return self.position_of(node, intrinsic, kind)
            case Structural.SIGNED_POSITION:
                return self.position_of(node, intrinsic, IdKind.INVOCATION)
            case AtomicOp() as op:
                return self.atomic(node, intrinsic, op)
            case ReduceOp() as op:
                return self.reduction(node, op)
            case Structural.MIN | Structural.MAX as which if self.holds_elements(node):
                return self.reduction(node, ReduceOp[which.name])
            case Structural.BARRIER:
                raise self.error(
                    node, "vyre.barrier() has no value", "write vyre.barrier() on a line of its own"
                )
            case Structural.SHARED:
                raise self.misplaced_shared(node)
            case Structural.LOCAL:
                raise self.misplaced_local(node)
            case Structural.BITCAST:
                return self.bitcast(node, intrinsic)
            case _:
                return self.mathematics(node, intrinsic, target)

    def mathematics(self, node: ast.Call, intrinsic: Intrinsic, target: object) -> Value:
        names = intrinsic.parameters
        if intrinsic.operation in _EXTREMES:
            names += tuple(f"x{n}" for n in range(2, len(node.args)))
        values = self.values(*self.arguments(node, names))
        numbers = [value.constant for value in values]
        if is_host_math(target) and all(number is not None for number in numbers):
            return self.on_host_call(node, target, numbers)
        return self.function_of(node, intrinsic, values)

    def target(self, node: ast.Call) -> object:
        if isinstance(node.func, ast.Attribute) and (held := self.held(node.func.value)):
            raise self.no_method(node, node.func, held)
        target = self.static(node.func)
        if target is NOTHING:
            self.expression(node.func)  # says what is wrong with a name that is not there
            raise self.error(
                node.func, f"{self.text(node.func)} is a number, not a function", "call a function"
            )
        return target

    def no_method(self, node: ast.Call, method: ast.Attribute, held: Held) -> LanguageError:
        known = INTRINSICS.get(method.attr)
        fix = "write what one element does, with a loop where several are needed"
        op = None if known is None else known.operation
        if op in _EXTREMES:
            op = ReduceOp[op.name]
        if isinstance(op, ReduceOp):
            word = method.attr if hasattr(builtins, method.attr) else f"vyre.{method.attr}"
            fix = f"say which elements: {self.elements(word, op, self.text(method.value), held)}"
        return self.error(node, f"arrays have no methods in a kernel, such as {method.attr!r}", fix)

    def arguments(self, node: ast.Call, names: Sequence[str]) -> list[ast.expr]:
        """The arguments of a call in the order of `names`, each given once."""
        given = self.matched(node, names)
        return [given[name] for name in names]

    def matched(
        self, node: ast.Call, names: Sequence[str], optional: Collection[str] = ()
    ) -> dict[str, ast.expr]:
        """The arguments of a call by name, each given once; some may be left out."""
        given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
        called, wants = self.text(node.func), ", ".join(names)
        for word in node.keywords:
            if word.arg is None or word.arg not in names or word.arg in given:
                problem = f"{called}() has no further parameter {word.arg!r}"
                raise self.error(word.value, problem, f"write {called}({wants})")
            given[word.arg] = word.value
        count = len(node.args) + len(node.keywords)
        if count > len(names) or any(name not in given and name not in optional for name in names):
            least = len(names) - len(optional)
            several = _several(len(names), "argument")
            several = f"{least} to {several}" if optional else several
            takes = f"{called}({wants}) takes {several}, {count} given"
            raise self.error(node, takes, f"write {called}({wants})")
        return given

    def refuse(self, node: ast.Call, target: object) -> Value:
        text = self.text(node.func)
        inside = self.text(node.args[0]) if node.args else "x"
        if isinstance(target, type) and issubclass(target, (float, int, np.generic)):
            instead = f"write {_numpy_spelling(target) or instead_of(target)}({inside})"
            given = node.args[0] if node.args else None
            if isinstance(given, ast.Constant) and isinstance(given.value, str):
                instead = fix_for_text(given.value) or instead
            raise self.error(node, f"{text}() converts on the host, not in a kernel", instead)
        same = next((name for thing, name in _NAN_KEEPING if thing is target), None)
        if same is not None:
            raise self.error(
                node, f"{text}() hands NaN on, and {same}() ignores it", f"write {same}(...)"
            )
        if target is range:
            raise self.error(node, "range() is for loops", "write for k in range(...):")
        if isinstance(target, FunctionType):
            raise self.error(
                node,
                f"{text}() is a Python function, which a kernel cannot call",
                f"put @vyre.function above def {target.__name__}",
            )
        raise self.error(
            node,
            f"{text}() is {_kind_of(target)} that has no meaning in a kernel",
            "use a function of vyre, or one under @vyre.function",
        )

    def misplaced_shared(self, node: ast.Call) -> LanguageError:
        return self.error(
            node,
            "vyre.shared() is not the whole of a top-level assignment",
            "write tile = vyre.shared(f32, 256) at the top level of the kernel",
        )

    def check_workgroup(self, node: ast.Call, name: str) -> None:
        if self.workgroup is None:
            raise self.error(
                node,
                f"vyre.{name}() depends on the workgroup, and the kernel does not fix one",
                "give it one, for example @vyre.kernel(workgroup=256)",
            )

    def on_host_call(
        self, node: ast.Call, target: object, numbers: Sequence[Number | None]
    ) -> Value:
        """Python's own function of numbers known while translating is computed by Python.

        The least and the greatest are those of the language: NaN loses, and -0 is less than 0.
        """
        assert callable(target)
        try:
            if target in (builtins.min, builtins.max) and len(numbers) > 1:
                result = target(numbers, key=_rank if target is builtins.max else _rank_below)
            else:
                result = target(*numbers)
        except (ArithmeticError, ValueError, TypeError):
            listed = ", ".join(repr(number) for number in numbers)
            raise self.error(
                node, f"{self.text(node.func)}({listed}) has no value", "change the constant"
            ) from None
        return self.constant(node, result)

    def call_len(self, node: ast.Call) -> Value:
        (argument,) = self.arguments(node, ("x",))
        held = self.held(argument) or self.table(argument)
        if held is None:
            raise self.error(
                node,
                f"len() of {self.text(argument)}, which is not an array",
                self.instead_of_len(argument),
            )
        return self.axis_extent(node, held, 0)

    def instead_of_len(self, argument: ast.expr) -> str:
        """How the length of a row is written, and that of a shape."""
        named, indices = chain_of(argument)
        is_sliced = any(isinstance(index, ast.Slice) for index in indices)
        held = self.held(named)
        if held is not None and 0 < len(indices) < held.rank and not is_sliced:
            return f"write {self.text(named)}.shape[{len(indices)}]"
        match argument:
            case ast.Attribute(value=base, attr="shape") if self.held(base) is not None:
                return f"write {self.text(base)}.ndim"
            case _:
                return "use it on an array"

    def cast(self, node: ast.Call, target: DataType) -> Value:
        (argument,) = self.arguments(node, ("x",))
        value = self.expression(argument)
        if value.constant is not None:
            number = converted(value.constant, target)
            computed = target.computed
            if computed.is_bool:
                return Value.literal(node, bool(number))
            return Value.typed(node, computed, literal(computed, number))
        wide = value.dtype is None and not value.needs and not value.is_whole
        if wide and not all(fits(one.value, value.default) for one in value.constants):
            computed = target.computed
            if all(fits(one.value, computed) for one in value.constants):
                return Value.typed(node, computed, value.build(computed))
        expr, dtype = self.settle(value)
        if dtype == target:
            return Value.typed(node, dtype, expr)
        return Value.typed(node, target, self.noted(Cast(target, expr), node))

    def bitcast(self, node: ast.Call, intrinsic: Intrinsic) -> Value:
        argument, named = self.arguments(node, intrinsic.parameters)
        target, text = self.static(named), self.text(argument)
        if not isinstance(target, DataType) or not has_bits(target):
            raise self.error(
                named,
                f"bitcast() to {self.text(named)}, which is not a type that shows its bits",
                f"name an integer type, f32 or f64, for example vyre.bitcast({text}, u32)",
            )
        value = self.expression(argument)
        self.check_number(value, "bitcast()")
        if value.constant is not None:
            found = _spelled(value.constant, target)
            expr, dtype = self.fit(value, found, f"what bitcast() to {target} takes"), found
        else:
            expr, dtype = self.settle(value)
        if expr is not PLACEHOLDER and dtype.bits != target.bits:
            raise self.error(
                node,
                f"bitcast() to {target}, and {text} is {dtype}: not as many bits",
                f"name a type of {dtype.bits} bits, or cast it first",
            )
        if isinstance(expr, Lit) or dtype == target:
            same = Lit(target, expr.bits) if isinstance(expr, Lit) else expr
            return Value.typed(node, target, same)
        return Value.typed(node, target, self.noted(Bitcast(target, expr), node))

    def position_of(self, node: ast.Call, intrinsic: Intrinsic, kind: IdKind) -> Value:
        """A position or size of the launch; axes count as NumPy's, so the last is the fastest."""
        axis: Number | None = 0
        if node.args or node.keywords:
            (argument,) = self.arguments(node, intrinsic.parameters)
            axis = self.expression(argument).constant
        if not isinstance(axis, int) or isinstance(axis, bool) or not 0 <= axis < MAX_RANK:
            raise self.error(
                node,
                f"the axis of vyre.{intrinsic.name}() is not 0, 1 or 2",
                f"write vyre.{intrinsic.name}(0)",
            )
        return self.along(node, intrinsic, kind, axis)

    def along(self, node: ast.Call, intrinsic: Intrinsic, kind: IdKind, axis: int) -> Value:
        """A position or size of the launch along one axis, outermost first."""
        if kind in _NEEDS_WORKGROUP:
            self.check_workgroup(node, intrinsic.name)
        self.is_placed = True
        if axis >= self.decisions.rank:
            self.decide_rank(axis + 1)
        found = Id(kind, self.decisions.rank - 1 - axis)
        if intrinsic.operation is Structural.SIGNED_POSITION:
            self.has_signed_positions = True
            return Value.typed(node, DataType.I32, Cast(DataType.I32, found))
        return Value.typed(node, DataType.U32, found)

    def function_of(self, node: ast.Call, intrinsic: Intrinsic, values: list[Value]) -> Value:
        made = self._function_of(node, intrinsic, values)
        return whole(made) if intrinsic.domain is Domain.INT else made

    def _function_of(self, node: ast.Call, intrinsic: Intrinsic, values: list[Value]) -> Value:
        name = intrinsic.name
        if intrinsic.operation is Structural.SELECT:
            condition, *values = values
            self.check_bool(condition)
            cond = condition.expr
            return self.combine(node, values, lambda _, parts: Select(cond, *parts))
        match intrinsic.domain:
            case Domain.FLOAT:
                values = [self.as_float(value, f"{name}()") for value in values]
            case Domain.INT:
                for value in values:
                    self.check_int(value, f"{name}()")
            case Domain.NUMBER:
                for value in values:
                    self.check_number(value, f"{name}()")
        match intrinsic.operation:
            case UnaryOp() as unary:
                result = DataType.BOOL if unary in _TESTS else None
                return self.combine(node, values, lambda _, parts: Unary(unary, *parts), result)
            case BinaryOp() as binary:
                first, count = values
                if binary in _ROTATES and first.dtype and count.dtype == DataType.U32:
                    rotated = Binary(binary, first.expr, count.expr)
                    return Value.typed(node, first.dtype, rotated)
                return self.combine(node, values, lambda _, parts: Binary(binary, *parts))
            case Structural.FMA:
                return self.combine(node, values, lambda _, parts: Fma(*parts))
            case Structural.CLAMP:
                return self.clamp(node, values)
            case Structural.MIN:
                return self.extreme(node, BinaryOp.MIN, values)
            case Structural.MAX:
                return self.extreme(node, BinaryOp.MAX, values)
            case _:
                raise AssertionError(intrinsic)

    def extreme(self, node: ast.Call, op: BinaryOp, values: list[Value]) -> Value:
        """The least or greatest of values, in the order they are given."""
        while len(values) > SPLIT_EVERY:
            first = self.extreme(node, op, values[:SPLIT_EVERY])
            values = [self.once(first, "part"), *values[SPLIT_EVERY:]]

        def chain(_: DataType, parts: tuple[Expr, ...]) -> Expr:
            found, *rest = parts
            for part in rest:
                found = self.noted(Binary(op, found, part), node)
            return found

        return self.combine(node, values, chain)

    def clamp(self, node: ast.Call, values: list[Value]) -> Value:
        def limited(_: DataType, parts: tuple[Expr, ...]) -> Expr:
            x, low, high = parts
            return Binary(BinaryOp.MIN, self.noted(Binary(BinaryOp.MAX, x, low), node), high)

        return self.combine(node, values, limited)

    def atomic(self, node: ast.Call, intrinsic: Intrinsic, op: AtomicOp) -> Value:
        """An atomic is bound where it stands, so that it happens once, and in order."""
        arguments = dict(
            zip(intrinsic.parameters, self.arguments(node, intrinsic.parameters), strict=True)
        )
        buffer = self.buffer(arguments["buffer"])
        if isinstance(self.held(arguments["buffer"]), Local):
            name = self.text(arguments["buffer"])
            raise self.error(
                arguments["buffer"],
                f"vyre.{intrinsic.name}() on {name!r}, which no other invocation sees",
                f"write {name}[k] = ..., which nothing can come between",
            )
        if buffer is None:
            raise self.error(
                arguments["buffer"],
                f"{self.text(arguments['buffer'])} is not an array",
                f"write vyre.{intrinsic.name}(array, {', '.join(intrinsic.parameters[1:])})",
            )
        self.check_atomic(node, buffer, intrinsic.name, op)
        index = arguments["index"]
        indices = index.elts if isinstance(index, ast.Tuple) else [index]
        position = self.flat(buffer, indices, node)
        element = buffer.decl.element
        mark, before = len(self.out), self.effects
        parts = self.values(*(arguments[name] for name in intrinsic.parameters[2:]))
        if self.effects != before and self.reads_changing_memory(position):
            at = Value.typed(index, DataType.U32, position)
            position = self.spill(at, "at", mark).expr
        fitted = [self.fit(part, element, f"an element of {buffer.name}") for part in parts]
        expected = fitted[0] if len(fitted) > 1 else None
        old = self.names.fresh("old_value", anywhere=True)
        self.effect(node, f"vyre.{intrinsic.name}()")
        atomic = Atomic(op, buffer.name, position, fitted[-1], expected)
        self.out.append(Let(old, self.noted(atomic, node)))
        return Value.typed(node, element, Var(old))

    def check_atomic(self, node: ast.Call, buffer: Buffer, name: str, op: AtomicOp) -> None:
        element = buffer.decl.element
        if not buffer.is_writable:
            raise self.error(
                node,
                f"vyre.{name}() changes {buffer.name!r}, which is an In",
                f"declare it {buffer.as_inout}",
            )
        self.check_readable(buffer, node)
        if element.min_bytes < _SMALLEST_ATOMIC or (element.is_float and op not in _FLOAT_ATOMICS):
            raise self.error(
                node,
                f"vyre.{name}() on {element} elements of {buffer.name!r}",
                "use 32- or 64-bit whole numbers; f32 and f64 can add, min, max and exchange",
            )


def _spelled(number: Number, target: DataType) -> DataType:
    """The type of a number written down, of which `target` shows the bits."""
    if isinstance(number, float):
        return DataType.F64 if target.bits == DataType.F64.bits else DataType.F32
    return next(
        dtype
        for dtype in SCALARS
        if dtype.is_int and dtype.bits == target.bits and dtype.is_signed == (number < 0)
    )


def _numpy_spelling(target: type) -> str | None:
    """`f32` for numpy.float32, and so on; Python's own float is not one of NumPy's."""
    found = re.fullmatch(r"(float|uint|int)(\d+)", target.__name__)
    return f"{found[1][0]}{found[2]}" if found else None


def _several(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"


def _kind_of(target: object) -> str:
    """What a thing is that a kernel cannot call, in a word that its author knows."""
    if inspect.isbuiltin(target):
        return "a built-in"
    if (getattr(target, "__module__", None) or "").partition(".")[0] == "numpy":
        return "a function of NumPy"
    return f"a {type(target).__name__}"


def _rank(number: Any) -> tuple[bool, Any, float]:
    """By what the greatest of some numbers is found."""
    return not _is_nan(number), number, _sign(number)


def _rank_below(number: Any) -> tuple[bool, Any, float]:
    """By what the least is."""
    return _is_nan(number), number, _sign(number)


def _is_nan(number: Any) -> bool:
    return isinstance(number, float) and isnan(number)


def _sign(number: Any) -> float:
    return copysign(1.0, number) if isinstance(number, float) else 1.0
