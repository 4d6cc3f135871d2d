"""Expressions that yield several values: tuples, shapes, positions, and what functions return."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from vyre.ir.expr import IdKind, Select
from vyre.lang.calls import Calls
from vyre.lang.intrinsics import Function, Intrinsic, find_intrinsic, position_kind
from vyre.lang.params import MAX_RANK
from vyre.lang.several import Parts, arranged, count_of, form_of, leaves
from vyre.lang.source import Place
from vyre.lang.values import Value

MOST_CONSTANTS = 4096
"""Numbers of a tuple or an array from outside that a kernel spells out."""


class Tuples(Calls):
    """Turns expressions that may yield several values into those."""

    def several(self, node: ast.expr, target: ast.expr | None = None) -> Parts:
        """The values of `node`, evaluated from left to right.

        `target` is what takes them: how many names it has decides how many axes `vyre.gid()` has.
        """
        match node:
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                names = names_of(target)
                takers: list[ast.expr | None] = [None] * len(elements)
                if len(names) == len(elements):
                    takers = [*names]
                return self.each(elements, takers)
            case ast.Attribute(value=base, attr="shape") if held := self.held(base):
                return tuple(self.axis_extent(node, held, axis) for axis in range(held.rank))
            case ast.Call():
                return self.several_of_call(node, target)
            case ast.IfExp():
                return self.several_of_choice(node, target)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                found = self.static(node)
                if isinstance(found, (tuple, list, np.ndarray)):
                    return self.constants(node, found)
                return self.expression(node)
            case _:
                return self.expression(node)

    def each(self, nodes: Sequence[ast.expr], targets: Sequence[ast.expr | None]) -> Parts:
        """The values of several expressions, each of which may be a tuple."""
        found: list[Parts] = []
        for node, target in zip(nodes, targets, strict=True):
            mark, before = len(self.out), self.effects
            parts = self.several(node, target)
            if self.effects != before:
                # What was read before must be read before, also from memory that changes.
                kept = iter(self.kept_before(leaves(tuple(found)), mark))
                found = [arranged(form_of(one), kept) for one in found]
            found.append(parts)
        return tuple(found)

    def several_of_call(self, node: ast.Call, target: ast.expr | None) -> Parts:
        thing = self.static(node.func)
        if isinstance(thing, Function):
            parts = self.call_or_nothing(node)
            if parts is None:
                raise self.no_value(node)
            return parts
        intrinsic = find_intrinsic(thing)
        kind = None if intrinsic is None else position_kind(intrinsic)
        names = names_of(target)
        if intrinsic is None or kind is None or not names or node.args or node.keywords:
            return self.expression(node)
        return self.positions(node, intrinsic, kind, names)

    def positions(
        self, node: ast.Call, intrinsic: Intrinsic, kind: IdKind, names: Sequence[ast.expr]
    ) -> Parts:
        """A position along every axis: as many as names take it, outermost first."""
        if len(names) > MAX_RANK:
            raise self.error(
                node,
                f"vyre.{intrinsic.name}() for {len(names)} names; a dispatch has at most "
                f"{MAX_RANK} axes",
                "compute further positions from these with // and %",
            )
        found = tuple(self.along(node, intrinsic, kind, axis) for axis in range(len(names)))
        place = Place(found[0].expr, self.frame.source, node, self.frame.called_from)
        self.unpacked.append((place, intrinsic.name, len(names)))
        return found

    def several_of_choice(self, node: ast.IfExp, target: ast.expr | None) -> Parts:
        """`(a, b) if c else (c, d)`: of both sides, as many values."""
        test = self.expression(node.test)
        self.check_bool(test)
        if test.constant is not None:
            return self.several(node.body if test.constant else node.orelse, target)
        with self.nested() as then:
            true = self.several(node.body, target)
        with self.nested() as otherwise:
            false = self.several(node.orelse, target)
        if isinstance(true, Value) and isinstance(false, Value):
            return self.chosen(node, test, (then, true), (otherwise, false))
        if form_of(true) != form_of(false):
            raise self.error(
                node,
                f"{count_of(form_of(true))} where it holds, and {count_of(form_of(false))} where "
                "not",
                "choose between tuples of as many values",
            )
        test = self.once(test, "test")
        cond, sides = test.expr, (leaves(true), leaves(false))
        if self.absorb(then, otherwise):
            chosen = [
                self.combine(node, pair, lambda _, parts: Select(cond, *parts))
                for pair in zip(*sides, strict=True)
            ]
        else:
            chosen = self.branch(node, cond, (then, sides[0]), (otherwise, sides[1]))
        return arranged(form_of(true), iter(chosen))

    def constants(
        self, node: ast.expr, found: tuple[Any, ...] | list[Any] | np.ndarray[Any, Any]
    ) -> Parts:
        """A tuple, a list or an array from outside the kernel, as the numbers it holds now."""
        count = found.size if isinstance(found, np.ndarray) else len(found)
        if count > MOST_CONSTANTS:
            raise self.error(
                node,
                f"{self.text(node)} holds {count:,} values from outside; {MOST_CONSTANTS:,} "
                "allowed",
                "pass it as an array, for example w: In[f32], and loop over range(len(w))",
            )
        listed = found.tolist() if isinstance(found, np.ndarray) else found
        if not isinstance(listed, (tuple, list)):  # an array without axes
            return self.constant(node, listed)
        return tuple(
            self.constants(node, one)
            if isinstance(one, (tuple, list, np.ndarray))
            else self.constant(node, one)
            for one in listed
        )


def names_of(target: ast.expr | None) -> list[ast.expr]:
    """What takes several values apart, one by one; nothing for what takes one."""
    return target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
