"""Refuses barriers that not all lanes reach, and memory that lanes share without one."""

from __future__ import annotations

from dataclasses import dataclass

from vyre.analysis.missing_barriers import Meeting, missing_barrier
from vyre.analysis.uniformity import Divergence, uniformity
from vyre.errors import InvalidProgram, VyreError
from vyre.ir.expr import Atomic, Expr, Id, Load, Ordering
from vyre.ir.node import Barrier, Break, Continue, If, Loop, Node, Return, While
from vyre.ir.program import Program
from vyre.ir.text import expr_text, statement_text
from vyre.ir.walk import bodies, statements
from vyre.lang.source import Place, Places


def check_barriers(program: Program, places: Places | None = None, note: str = "") -> None:
    """Nothing, or an error where lanes of a workgroup would wait for others that never come.

    Also where one lane is certain to read or write what another one writes between the same two
    barriers. What is loaded depends on who is first then, and no two devices agree.

    Args:
        program: a valid one.
        places: where its statements are written, if they are.
        note: what to add to a problem: in which of several workgroups there is one.

    Raises:
        LanguageError: at the line, for a program whose places are known.
        InvalidProgram: with the statement, for others.
    """
    barriers = [node for node in statements(program.entry) if isinstance(node, Barrier)]
    if not barriers and not any(decl.is_shared for decl in program.buffers):
        return
    found = uniformity(program)
    divergences = found.divergences
    if any(barrier.ordering is Ordering.GRID_SYNC for barrier in barriers):
        divergences += uniformity(program, grid=True).divergences
    words = Words(program, places or Places(), note)
    for divergence in divergences:
        raise words.divergent(divergence)
    meeting = missing_barrier(program, found.varying)
    if meeting is not None:
        raise words.met(meeting)


_MADE_FOR_ALL = "lanes beyond the last element load 0 and store nowhere"
_TOGETHER = (
    "let all lanes make the same rounds, by what they share (constants, scalars, sizes, "
    "workgroup_id), and put what only some do under an if without a barrier in it"
)


@dataclass(frozen=True, slots=True)
class Words:
    """Messages about a program in its author's terms."""

    program: Program
    places: Places
    note: str = ""  # in which of several workgroups it is so

    def divergent(self, found: Divergence) -> VyreError:
        all_of = "the grid" if found.barrier.ordering is Ordering.GRID_SYNC else "a workgroup"
        where = self.named(found.parting)
        cause = self.cause(found.cause)
        fix = _TOGETHER
        match found.parting:
            case If():
                why = f"it is inside {where}, which goes by {cause}"
                fix = "put the barrier outside of it, and keep inside what only some lanes do"
                if found.is_bounds_test:
                    fix = f"leave the condition out: {_MADE_FOR_ALL}"
            case Return():
                why = f"some return at {where}, which goes by {cause}"
                fix = (
                    "let every lane go on to the last barrier, and put what only some do under an "
                    "if without a barrier in it"
                )
                if found.is_bounds_test:
                    fix = f"leave that return out: {_MADE_FOR_ALL}"
            case Break():
                why = f"some leave the loop at {where}, which goes by {cause}"
            case Continue():
                why = f"some skip it at {where}, which goes by {cause}"
            case _:
                why = f"it is inside {where}, whose rounds go by {cause}"
        if isinstance(found.cause, Load) and self.program.buffer(found.cause.buffer).is_shared:
            name = found.cause.buffer
            fix = f"put a barrier between the line that reads {name} and those that write it"
        return self.error(
            found.barrier, f"not every lane of {all_of} reaches this barrier: {why}", fix
        )

    def met(self, found: Meeting) -> VyreError:
        earlier, later = found.earlier, found.later
        first, second = found.lanes
        element = f"{found.buffer}[{self.element(found.buffer, found.element)}]"
        where = "here too" if earlier.node is later.node else f"at {self.named(earlier.node)}"
        if found.next_round:
            where += " in the round before"
        if earlier.writes and later.writes and not earlier.is_atomic and not later.is_atomic:
            problem = f"lane {second} writes {element} here and lane {first} writes it {where}"
            return self.error(
                later.node,
                f"{problem}, and nothing says which of them is last",
                "let one lane write it, under an if, or use an atomic",
            )
        does = {True: "changes", False: "writes"}
        act = does[later.is_atomic] if later.writes else "reads"
        did = does[earlier.is_atomic] if earlier.writes else "reads"
        problem = f"lane {second} {act} {element} here, which lane {first} {did} {where}"
        fix = "put a barrier between the two, where all lanes come by"
        if found.next_round:
            fix = "put a barrier at the end of the loop"
        elif earlier.node is later.node:
            fix = "read into a variable, put a barrier after it, and write then"
        return self.error(later.node, f"{problem}, and no barrier is between them", fix)

    def element(self, buffer: str, place: int) -> str:
        """A place in workgroup memory as its author counts: along each axis."""
        parts = []
        for extent in reversed(self.program.buffer(buffer).shape[1:]):
            place, along = divmod(place, extent)
            parts.append(along)
        return ", ".join(map(str, (place, *reversed(parts))))

    def named(self, node: Node) -> str:
        """A statement as its author finds it."""
        place = self.place(node)
        if place is None:
            return f"`{statement_text(node).removesuffix(':')}`"
        kind = {If: "the if of ", Loop: "the loop of ", While: "the loop of "}.get(type(node), "")
        return f"{kind}line {place.line}"

    def cause(self, expr: Expr) -> str:
        match expr:
            case Id(kind):
                return kind.value
            case Load(buffer) if self.program.buffer(buffer).is_shared:
                return f"{buffer}, which lanes write between the same two barriers"
            case Load(buffer):
                return f"{buffer}, which the kernel writes"
            case Atomic(_, buffer):
                return f"what an atomic on {buffer} returns"
            case _:
                return expr_text(expr)

    def place(self, node: Node) -> Place | None:
        """Where a statement is written, or the one around it that is."""
        stack: list[tuple[Node, Place | None]] = [(top, None) for top in self.program.entry]
        while stack:
            inner, around = stack.pop()
            found = self.places.of(inner) or around
            if inner is node:
                return found
            stack.extend((part, found) for body in bodies(inner) for part in body)
        return None

    def error(self, node: Node, problem: str, fix: str) -> VyreError:
        place, problem = self.place(node), problem + self.note
        if place is not None:
            return place.error(problem, fix)
        return InvalidProgram(f"{statement_text(node).removesuffix(':')}: {problem}", fix)
