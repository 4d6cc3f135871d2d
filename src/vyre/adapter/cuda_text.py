"""What in a source of CUDA C++ may make its results depend on the block.

A kernel that asks for its threads in no other way than `blockIdx.x * blockDim.x + threadIdx.x`
gives the same under any block. Whatever else it asks for, and whatever cannot be read here, counts
as a sign that it may not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from vyre.adapter.sources import bare

_GROUPS = re.compile(
    r"\b(threadIdx|blockIdx|blockDim|gridDim|warpSize|__shared__|__sync\w*|__shfl\w*|__ballot\w*"
    r"|__any\w*|__all\w*|__activemask|__match\w*|__reduce\w*|__barrier\w*|__cluster\w*"
    r"|__block_size__|__threadfence\w*|__nvvm\w*|__pipeline\w*|__mbarrier\w*|__lane\w*|__warp\w*"
    r"|\w*_sreg_\w*|cooperative_groups|asm|__asm\w*|__?clock\w*|clock64|clock|globaltimer|volatile"
    r"|__builtin_(?!expect\b|assume|unreachable)\w+)\b|<<<"
)
"""Words of CUDA's that ask for a block, or that may."""

HARMLESS = re.compile(
    r"<(?:cuda_fp16\.h|cuda_bf16\.h|cuda_fp8\.h|cuda_runtime\.h|math_constants\.h|math\.h|cmath"
    r"|stdint\.h|cstdint|stddef\.h|cstddef|limits\.h|climits|float\.h|cfloat|limits|type_traits"
    r"|cuda/std/\w+|cuComplex\.h|cupy/complex\.cuh|cupy/carray\.cuh|cupy/math_constants\.h)>"
)
"""Headers in which nothing asks for a block but what stands in a source by its name."""

_TYPE = (
    r"(?:(?:unsigned|signed)(?: int| long(?: long)?(?: int)?)?|int|long(?: long)?(?: int)?|size_t"
    r"|ssize_t|ptrdiff_t|u?int(?:32|64)_t|std::u?int(?:32|64)_t|std::size_t)"
)
"""Types in which a number of blocks keeps its value."""

_BLANK = re.compile(r"(?<!\w) | (?!\w)")
_OPTION = re.compile(r"^(?:-D|--define-macro)[ =]?(.*)", re.DOTALL)
HIDING = re.compile(r"include|options-file|optf", re.IGNORECASE)
_RESERVED = ("int", "long", "unsigned", "signed", "size_t", "x", "y", "z")


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
    defined = [one[1].replace("=", " ", 1) for one in map(_OPTION.match, _joined(options)) if one]
    for option in options:
        if HIDING.search(option) and not option.startswith(("-I", "--include-path")):
            return f"its option {option} may hide anything"
    plain = bare("\n".join((*(f"#define {one}" for one in defined), text)))
    hidden = _hidden(plain)
    if hidden is not None:
        return f"its source has {hidden}, which may hide anything"
    lines = plain.splitlines()
    directives = [one.strip() for one in lines if one.lstrip().startswith("#")]
    code = " ".join(one for one in lines if not one.lstrip().startswith("#"))
    calls_macros = any(re.match(r"#\s*define\s+\w+\(", one) for one in directives)
    for one in directives:
        named = re.match(r"#\s*(?:define|undef)\s+(\w+)", one)
        if named is not None and named[1] in _RESERVED:
            return f"its source says {one.split('(')[0]}"
    left = [
        _without_positions(code, steps=steps, enclosed=calls_macros),
        *(_defined(one, steps=steps) for one in directives),
    ]
    found = _GROUPS.search("\n".join(left))
    return None if found is None else f"its source says {found[0]}"


def _defined(line: str, *, steps: bool) -> str:
    """A directive; what a name stands for in it is a text of its own."""
    head = re.match(r"#\s*define\s+\w+(?:\([^)]*\))?", line)
    begins = head.end() if head is not None else 0
    return line[:begins] + " " + _without_positions(line[begins:], steps=steps, enclosed=True)


def _joined(options: Iterable[str]) -> list[str]:
    """Options of which some are written as two."""
    made: list[str] = []
    for one in options:
        if made and made[-1] in ("-D", "--define-macro"):
            made[-1] += f" {one}"
        else:
            made.append(one)
    return made


def _hidden(plain: str) -> str | None:
    """What of a source may be something that is not read here."""
    for one in re.findall(r"#\s*include\b([^\n]*)", plain):
        if HARMLESS.fullmatch(one.strip()) is None:
            return f"#include {one.strip()}".strip()
    for one in ("##", "%:", "\\", "??"):
        if one in plain:
            return one
    return None


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
_BEFORE = re.compile(r"(?:[=({};,+<&|^?:\[]|(?<!-)>|\breturn )$")
"""What may stand before a sum, so that all of it is one term."""

_POSTFIX = (".", "[", "(", "->")
_NO_FACTOR = ("/", "%", ".", "->", ")", "~", "!", "::")


def _without_positions(text: str, *, steps: bool, enclosed: bool) -> str:
    """A text without what says a thread's place; where it is no place of its own, it stays.

    Args:
        text: bare.
        steps: whether the threads of a whole grid are such a thing as well.
        enclosed: whether it must be told from what stands around it, because macros may put it
            beside anything: by parentheses of its own, or as all of what is assigned.
    """
    tight = _BLANK.sub("", re.sub(r"\s+", " ", text))

    def place(found: re.Match[str]) -> str:
        before, after = _around(tight, found)
        if after.startswith((*_POSTFIX, "*", "/", "%")) or before.endswith("::"):
            return found[0]
        if enclosed:
            alone = re.search(r"(?<!\w)\($", before) is not None and after.startswith(")")
            given = re.search(r"(?:[^=!<>]=|\breturn )$", before) is not None
            return "@" if alone or (given and after.startswith(";")) else found[0]
        return "@" if not before or _BEFORE.search(before) else found[0]

    def step(found: re.Match[str]) -> str:
        before, after = _around(tight, found)
        if after.startswith(_POSTFIX) or before.endswith(_NO_FACTOR):
            return found[0]
        if enclosed and not before.endswith(("=", "(")):
            return found[0]
        return "@"

    tight = _POSITION.sub(place, tight)
    return _STEP.sub(step, tight) if steps else tight


def _around(text: str, found: re.Match[str]) -> tuple[str, str]:
    """What stands before and after something, as far as it matters."""
    return text[max(found.start() - 16, 0) : found.start()], text[found.end() : found.end() + 2]
