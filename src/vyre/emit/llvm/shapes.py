"""The shapes of functions: loops, branches, and the text around what a builder wrote."""

from __future__ import annotations

from collections.abc import Callable

from vyre.emit.llvm.builder import Builder


def counting(
    b: Builder,
    start: str,
    stop: str,
    step: int,
    act: Callable[[str], object],
    *,
    kind: str = "i32",
    saturating: bool = False,
) -> None:
    """A loop over positions; a step beyond the type's last number ends it where `saturating`."""
    place = b.alloca(kind)
    head, inside, after = (b.name() for _ in range(3))
    b.emit(f"store {kind} {start}, ptr {place}")
    b.jump(head)
    b.place(head)
    now = b.op(f"load {kind}, ptr {place}")
    b.branch(b.op(f"icmp ult {kind} {now}, {stop}"), inside, after)
    b.place(inside)
    act(now)
    if saturating:
        following = b.call(kind, f"llvm.uadd.sat.{kind}", [kind, kind], [now, str(step)])
    else:
        following = b.op(f"add nuw {kind} {now}, {step}")
    b.emit(f"store {kind} {following}, ptr {place}")
    b.jump(head)
    b.place(after)


def where(b: Builder, tests: list[str], act: Callable[[], object]) -> None:
    """Act where all tests hold."""
    if not tests:
        act()
        return
    test = tests[0]
    for other in tests[1:]:
        test = b.op(f"and i1 {test}, {other}")
    yes, after = b.name(), b.name()
    b.branch(test, yes, after)
    b.place(yes)
    act()
    b.jump(after)
    b.place(after)


def function(
    head: str, parameters: str, b: Builder, attributes: str = "", *, result: str = "void"
) -> str:
    """The text of a function that a builder wrote."""
    return "\n".join(
        [
            f"define {head}({parameters}) {attributes} #0 {{",
            "entry:",
            *b.entry,
            "  br label %start",
            "start:",
            *b.lines,
            f"  ret {result}",
            "}",
            "",
        ]
    )
