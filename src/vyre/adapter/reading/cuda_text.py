"""What in a source of CUDA C++ may make its results depend on the block.

A kernel that asks for its threads in no other way than `blockIdx.x * blockDim.x + threadIdx.x`
gives the same under any block. Whatever else it asks for, and whatever cannot be read here, counts
as a sign that it may not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from vyre.adapter.reading.hidden import defined_by, directives, hidden_in_source, hiding_option
from vyre.adapter.reading.sources import bare

HARMLESS = re.compile(
    r"<(?:cuda_fp16\.h|cuda_bf16\.h|cuda_fp8\.h|cuda_runtime\.h|math_constants\.h|math\.h|cmath"
    r"|stdint\.h|cstdint|stddef\.h|cstddef|limits\.h|climits|float\.h|cfloat|limits|type_traits"
    r"|cuda/std/(?!atomic|barrier|latch|semaphore)\w+|cuComplex\.h|cupy/complex\.cuh"
    r"|cupy/carray\.cuh|cupy/math_constants\.h)>"
)
"""Headers in which nothing asks for a block but what stands in a source by its name."""

_GROUPS = re.compile(
    r"\b(threadIdx|blockIdx|blockDim|gridDim|warpSize|asm|__asm\w*|volatile|cooperative_groups"
    r"|__?clock\w*|clock64|clock|globaltimer|\w*_sreg_\w*|CUPY_FOR"
    r"|_?NV_\w+|(?:__)?U?INT(?:8|16|32|64|MAX)_C|_CCCL_\w*|_?LIBCUDACXX\w*|_GLIBCXX_\w*|_PSTL_\w*"
    r"|__(?:MATH|REDIRECT|LDBL|GLIBC|CUDART_API)\w*|__(?:P|PMT|NTH|NTHNL|STRING|LONG_LONG_PAIR)"
    r"|__f\d+x?|__gthrw_?|__ASMNAME2?"
    r"|__(?!grid_constant__)\w*(?:sync|shfl|ballot|barrier|fence|activemask|pipeline|nvvm|cvta|mma_"
    r"|match|reduce|[Ss]hared|[Bb]lock|[Gg]rid|[Cc]luster|[Ww]arp|Lane|lane|[Tt]hread|CDP)\w*"
    r"|__any\w*|__all\w*|__isLocal|__nv_atomic\w*|__atomic\w*|\w*tomic\w*_block|\w*_scope_\w*"
    r"|__ldcv|__nanosleep|__CONCAT\w*|__builtin_(?!expect\b|assume|unreachable)\w+"
    r"|(?:any|all|ballot|syncthreads\w*)(?= ?\())\b|<<<"
)
"""Words of CUDA's that ask for a block, that wait for other threads, or that may; and macros of
harmless headers that do, that paste names, or that put what they are given beside anything."""

_ATOMIC = re.compile(
    r"\b(?:atomic(?:Add|Sub|Exch|Min|Max|Inc|Dec|CAS|And|Or|Xor)\w*|__\w*Atomic\w+)\b"
)
OLD_STANDARD = re.compile(r"(?:c|gnu)\+\+(?:98|03|0x|11)")
_NAMED_TYPE = r"(?:s?size_t|ptrdiff_t|u?int(?:32|64)_t)"
_WIDE = r"(?:(?:unsigned|signed|int|long)(?: (?:unsigned|signed|int|long))*)"
_TYPE = (
    rf"(?:(?:unsigned|signed)(?: int| long(?: long)?(?: int)?)?|int|long(?: long)?(?: int)?"
    rf"|(?:std::)?{_NAMED_TYPE})"
)
"""Types in which a number of blocks keeps its value."""

_USUAL_TYPE = re.compile(
    rf"\b(?:typedef {_WIDE} {_NAMED_TYPE}|using {_NAMED_TYPE}={_WIDE}"
    rf"|using (?:std)?::{_NAMED_TYPE});"
)
_OTHER_TYPE = re.compile(
    rf"\b({_NAMED_TYPE})(?:[=;[{{]|:(?!:))|(?:\b(?:typename|class|struct|union|enum|namespace|auto"
    rf"|void|bool|char|short|int|long|unsigned|signed|float|double) ({_NAMED_TYPE})\b)"
    rf"|[&>]({_NAMED_TYPE})\("
)
"""Where a name of such a type is declared to be something, other than it usually is."""

_BLANK = re.compile(r"(?<!\w) | (?!\w)")
_MACRO = re.compile(r"#\s*(?:define|undef)\s+(\w+)(?:\(([^)]*)\))?(.*)", re.DOTALL)
_RESERVED = frozenset(
    ("int", "long", "unsigned", "signed", "size_t", "ssize_t", "ptrdiff_t", "int32_t", "int64_t")
) | {"uint32_t", "uint64_t", "std", "static_cast", "return", "x", "y", "z"}
"""What a place may be made of besides CUDA's own words."""


def sign_in(text: str, options: Iterable[str] = (), *, steps: bool) -> str | None:
    """What may make a kernel of a source depend on its block, as words; None where nothing does.

    Args:
        text: the source, all of whose kernels count.
        options: what it is compiled with.
        steps: whether `blockDim.x * gridDim.x` is the same under every block that is tried.

    >>> sign_in("x[blockIdx.x * blockDim.x + threadIdx.x] = 1;", steps=True)
    >>> sign_in("x[threadIdx.x] = 1;", steps=True)
    'its source says threadIdx'
    """
    given = tuple(options)
    option = hiding_option(given)
    if option is not None:
        return f"its option {option} may hide anything"
    old = any(map(OLD_STANDARD.search, given))
    hidden = hidden_in_source(text, HARMLESS, separated=not old)
    if hidden is not None:
        return f"its source has {hidden}, which may hide anything"
    plain = bare("\n".join((*defined_by(given), text)))
    made = [_Macro.of(one) for one in directives(plain)]
    for one in made:
        if one.name in _RESERVED:
            return f"its source says {one.line.split('(')[0]}"
    # What stands on both sides of a directive need not stand together.
    lines = ("#" if one.lstrip().startswith("#") else one for one in plain.split("\n"))
    code = _tight(" ".join(lines))
    declared = _OTHER_TYPE.search(_USUAL_TYPE.sub(";", code))
    if declared is not None:
        return f"its source says what {next(filter(None, declared.groups()))} is"
    is_loose = any(one.is_loose for one in made)
    within = _Within.DOUBLE if is_loose else _Within.PARENTHESES
    left = [
        _without_positions(code, steps=steps, within=_Within.DOUBLE if is_loose else _Within.ANY),
        *(one.without_positions(steps=steps, within=within) for one in made),
    ]
    found = _GROUPS.search("\n".join(left))
    if found is not None:
        return f"its source says {found[0]}"
    used = _used_atomic(code) or next(
        filter(None, (_ATOMIC.search(one.body) for one in made)), None
    )
    return None if used is None else f"its source uses what {used[0]} returns"


class _Within(IntEnum):
    """How a place must be told from what stands around it."""

    ANY = 0  # as one term
    PARENTHESES = 1  # in parentheses of its own, or as all of what is assigned: in a macro
    DOUBLE = 2  # in two of them: one pair may come to be a macro's, whose argument is not one term


@dataclass(frozen=True, slots=True)
class _Macro:
    """A line of a preprocessor's; other than a macro it has no name."""

    line: str
    name: str = ""
    parameters: tuple[str, ...] | None = None
    body: str = ""

    @classmethod
    def of(cls, line: str) -> _Macro:
        found = _MACRO.fullmatch(line)
        if found is None:
            return cls(line)
        names = None if found[2] is None else tuple(re.findall(r"\w+|\.\.\.", found[2]))
        return cls(line, found[1], names, _tight(found[3]))

    @property
    def is_loose(self) -> bool:
        """Whether an argument may come to stand beside anything: it is not in parentheses."""
        words = ("__VA_ARGS__", "__VA_OPT__", *(self.parameters or ()))
        if self.parameters is None or "..." in self.parameters:
            return self.parameters is not None
        return any(
            found[0] in words
            and not (self.body[: found.start()].endswith(("(", ",")) and _closes(self.body, found))
            for found in re.finditer(r"\w+", self.body)
        )

    def without_positions(self, *, steps: bool, within: _Within) -> str:
        """It without what says a thread's place; what a name stands for is a text of its own."""
        if not self.name or not _RESERVED.isdisjoint(self.parameters or ()):
            return self.line
        body = _without_positions(self.body, steps=steps, within=within)
        return " ".join((self.name, *(self.parameters or ()), body))


def _closes(text: str, found: re.Match[str]) -> bool:
    return text[found.end() :].startswith((")", ","))


def _position(axis: str) -> str:
    """What says a thread's place along an axis, with no blanks but those between words."""
    cast = rf"(?:\({_TYPE}\))?"

    def asked(word: str) -> str:
        plain = rf"{word}\.{axis}"
        called = rf"(?:static_cast<{_TYPE}>|{_TYPE})\({plain}\)"
        return rf"(?:{cast}{plain}|\({cast}{plain}\)|{called})"

    block, width, thread = (asked(one) for one in ("blockIdx", "blockDim", "threadIdx"))
    product = rf"(?:{block}\*{width}|{width}\*{block})"
    product = rf"(?:{product}|{cast}\({product}\))"
    return rf"(?:{product}\+{thread}|{thread}\+{product})"


_POSITION = re.compile("|".join(rf"{_position(axis)}(?!\w)" for axis in "xyz"))
_STEP = re.compile(
    "|".join(
        rf"(?:(?:\({_TYPE}\))?blockDim\.{axis}\*(?:\({_TYPE}\))?gridDim\.{axis}"
        rf"|(?:\({_TYPE}\))?gridDim\.{axis}\*(?:\({_TYPE}\))?blockDim\.{axis})(?!\w)"
        for axis in "xyz"
    )
)
_BEFORE = re.compile(r"(?:^|[=({;,<|^?\[]|(?<!&)&&|(?<!:):|(?<!-)>|\breturn )$")
"""What may stand before a sum, so that all of it is one term. No sum: floats are not added alike
in another order. No `&`, which may ask for an address. No name but one, as it may be a macro."""

_AFTER = re.compile(r"$|[;,)\]}<>?:&|^=!]|\+(?!\+)|-(?![->])")
"""What may stand after it."""

_AFTER_PRODUCT = re.compile(rf"{_AFTER.pattern}|[*/%]")
_GIVEN = re.compile(r"(?:[^=!<>]=|\breturn )$")


def _without_positions(tight: str, *, steps: bool, within: _Within) -> str:
    """A text without what says a thread's place; where it is no place of its own, it stays.

    Args:
        tight: bare, with no blanks but those between words.
        steps: whether the threads of a whole grid are such a thing as well.
        within: how it must be told from what stands around it.
    """

    def replaced(
        found: re.Match[str], after_it: re.Pattern[str], ends: tuple[str, ...] = (";",)
    ) -> str:
        before, after = _around(tight, found)
        if within is not _Within.ANY:
            opens, closes = "(" * within, ")" * within
            alone = before.endswith(opens) and after.startswith(closes)
            given = _GIVEN.search(before) is not None and after.startswith(ends)
            return "@" if given or alone else found[0]
        if found[0].startswith("(") and before.endswith(">"):  # what is called, or a cast
            return found[0]
        return "@" if _BEFORE.search(before) and after_it.match(after) else found[0]

    without = _POSITION.sub(lambda found: replaced(found, _AFTER), tight)
    if not steps:
        return without
    tight = re.sub(r"\bCUPY_FOR\(", "for(", without)
    # Whatever comes after a product that is assigned comes after all of it.
    return _STEP.sub(lambda found: replaced(found, _AFTER_PRODUCT, (";", ")", ",")), tight)


def _around(text: str, found: re.Match[str]) -> tuple[str, str]:
    """What stands before and after something, as far as it matters."""
    return text[max(found.start() - 16, 0) : found.start()], text[found.end() : found.end() + 2]


def _tight(text: str) -> str:
    return _BLANK.sub("", re.sub(r"\s+", " ", text))


def _used_atomic(tight: str) -> re.Match[str] | None:
    """An atomic whose result is used, by which a thread may wait for others.

    Those of its grid need not all be there at once, and how many are depends on the block.
    """
    for found in _ATOMIC.finditer(tight):
        before = tight[: found.start()]
        begins = before.endswith((";", "{", "}", "else ", "#")) or not before
        if not (begins or _is_condition(before)) or not tight.startswith("(", found.end()):
            return found
    return None


def _is_condition(before: str) -> bool:
    """Whether a text ends with the parentheses of a statement, so that another one follows."""
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        depth += (before[at] == ")") - (before[at] == "(")
        if before[at] not in "()" and not depth:
            return False
        if not depth:
            return re.search(r"\b(?:if|for|while)(?: constexpr)?$", before[:at]) is not None
    return False
