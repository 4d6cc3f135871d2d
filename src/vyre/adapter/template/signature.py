"""What a kernel's parameters are, by its source, as far as that can be read without a compiler."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from vyre.errors import InvalidInput
from vyre.plain import shown

BLANKED = re.compile(r'//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
"""What is no code: comments and texts."""

_LONG = "i4" if sys.platform == "win32" else "i8"
_NUMBERS = {
    **{
        f"{kind}{bits}_t": f"{kind[0]}{bits // 8}"
        for kind in ("int", "uint")
        for bits in (8, 16, 32, 64)
    },
    "bool": "u1",
    "char": "i1",
    "signed char": "i1",
    "uchar": "u1",
    "unsigned char": "u1",
    "short": "i2",
    "signed short": "i2",
    "ushort": "u2",
    "unsigned short": "u2",
    "int": "i4",
    "signed": "i4",
    "signed int": "i4",
    "uint": "u4",
    "unsigned": "u4",
    "unsigned int": "u4",
    "float": "f4",
    "double": "f8",
    "half": "f2",
    "__half": "f2",
}
_OPENCL = {"long": "i8", "ulong": "u8", "unsigned long": "u8"}
_CUDA = {
    "long": _LONG,
    "unsigned long": f"u{_LONG[1]}",
    "ulong": f"u{_LONG[1]}",
    "size_t": "u8",
    "long long": "i8",
    "unsigned long long": "u8",
    "longlong": "i8",
    "ulonglong": "u8",
}
_IGNORED_TEXT = (
    "const volatile restrict __restrict __restrict__ global __global constant "
    "__constant local __local private __private __global__ read_only write_only "
    "__read_only __write_only __grid_constant__ struct register"
)
_IGNORED = frozenset(_IGNORED_TEXT.split())
_LOCAL = frozenset(("local", "__local"))
_MARK = {
    "opencl": re.compile(r"\b(?:__kernel|kernel)\b"),
    "cuda": re.compile(r"\b__global__\b"),
}
_VECTOR = re.compile(r"([a-z_]+?)(?:[234]|8|16)$")
_TOKEN = re.compile(r"[A-Za-z_]\w*|\S")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel.

    Args:
        name: as the source has it.
        number: the type of its number, or of what it points to, as NumPy writes it; empty where it
            is something else, or a name that only a compiler knows.
        is_pointer: whether it takes an array.
        is_const: whether what it points to is only read.
        is_local: whether it points to workgroup memory, which no caller passes.
        said: its type as the source says it.
    """

    name: str
    number: str
    is_pointer: bool = False
    is_const: bool = False
    is_local: bool = False
    said: str = ""


@dataclass(frozen=True, slots=True)
class Signature:
    """All parameters of a kernel, in their order."""

    parameters: tuple[Parameter, ...]

    @property
    def passed(self) -> tuple[Parameter, ...]:
        """Those that a caller gives."""
        return tuple(one for one in self.parameters if not one.is_local)


@dataclass(frozen=True, slots=True)
class Unread:
    """A signature that only a compiler can read, and why."""

    why: str


def signature_of(text: str, name: str, language: str, where: str) -> Signature | Unread:
    """What a source says of a kernel's parameters.

    Raises:
        InvalidInput: nothing there has the kernel's name.
    """
    code = BLANKED.sub(" ", text)
    lists = list(_lists(code, name, language))
    if not lists:
        if "##" not in code and not re.search(rf"\b{re.escape(name)}\b", code):
            here = sorted(set(_kernels(code, language)))
            raise InvalidInput(
                f"no kernel {shown(name)} in {where}"
                + (f", which has {', '.join(here)}" if here else ""),
                "name one of its kernels" if here else "write it there, or name another source",
            )
        return Unread(f"{name} is not defined in {where} as plain text")
    found = {_read(one, language) for one in lists}
    if len(found) > 1:
        return Unread(f"{where} defines {name} more than once, with other parameters")
    return found.pop()


def _kernels(code: str, language: str) -> Iterator[str]:
    """The names of all kernels of a code."""
    for mark in _MARK[language].finditer(code):
        head = re.compile(r"[^;{}]*").match(code, mark.end())
        for name in re.findall(r"(\w+)\s*\(", head[0] if head else ""):
            if name not in ("__attribute__", "__launch_bounds__"):
                yield name
                break


def _lists(code: str, name: str, language: str) -> Iterator[str]:
    """The parameter list of each definition of a kernel."""
    for match in re.finditer(rf"\b{re.escape(name)}\s*\(", code):
        end = _closing(code, match.end())
        if end is None or not re.compile(r"\s*(?:__attribute__\s*\(\(.*?\)\)\s*)*\{").match(
            code, end + 1
        ):
            continue
        before = code[: match.start()]
        begin = max(before.rfind(one) for one in ";}") + 1
        if _MARK[language].search(before, begin):
            yield code[match.end() : end]


def _closing(code: str, at: int) -> int | None:
    """Where the parenthesis ends that was opened just before a place."""
    depth = 1
    for place in range(at, len(code)):
        depth += {"(": 1, ")": -1}.get(code[place], 0)
        if depth == 0:
            return place
    return None


def _read(listed: str, language: str) -> Signature | Unread:
    if "#" in listed:
        return Unread("its parameters depend on macros")
    parts = _parts(listed)
    if [one.strip() for one in parts] in ([""], ["void"]):
        return Signature(())
    read = [_parameter(one, language) for one in parts]
    if not all(read):
        return Unread("its parameters are not plain")
    return Signature(tuple(one for one in read if one is not None))


def _parts(listed: str) -> list[str]:
    """What stands between commas, outside of brackets of any kind."""
    parts, depth = [""], 0
    for letter in listed:
        depth += {"(": 1, "[": 1, "<": 1, "{": 1, ")": -1, "]": -1, ">": -1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _parameter(text: str, language: str) -> Parameter | None:
    plain = re.sub(r"__attribute__\s*\(\(.*?\)\)", " ", text).partition("=")[0]
    tokens = _TOKEN.findall(plain)
    words = [one for one in tokens if re.match(r"[A-Za-z_]", one)]
    if not words or "(" in tokens:
        return None
    stars = [n for n, one in enumerate(tokens) if one in "*["]
    name, kinds = words[-1], [one for one in words[:-1] if one not in _IGNORED]
    if not kinds:  # a macro for all of it, say
        return None
    pointed = tokens[: stars[0]] if stars else tokens
    simple = all(re.match(r"[A-Za-z_]", one) or one in "*[]" or one.isdigit() for one in tokens)
    return Parameter(
        name=name,
        number=number_named(" ".join(kinds), language, pointer=bool(stars)) if simple else "",
        is_pointer=bool(stars),
        is_const=bool(stars)
        and ("const" in pointed or bool({"constant", "__constant"} & set(pointed))),
        is_local=bool(_LOCAL & set(tokens)),
        said=" ".join(one for one in kinds) + (" *" if stars else ""),
    )


def number_named(kinds: str, language: str, *, pointer: bool = False) -> str:
    """A type's number as NumPy writes it, or what arrays of vectors are made of; "" of any other.

    >>> number_named("unsigned int", "cuda"), number_named("float4", "cuda", pointer=True)
    ('u4', 'f4')
    """
    words = kinds.split()
    if (
        len(words) > 1
        and words[-1] == "int"
        and words != ["unsigned", "int"]
        and words != ["signed", "int"]
    ):
        words = words[:-1]  # long int, unsigned short int
    if words[:1] == ["signed"] and len(words) > 1 and words[1] not in ("char", "short", "int"):
        words = words[1:]
    known = {**_NUMBERS, **(_OPENCL if language == "opencl" else _CUDA)}
    plain = " ".join(words)
    if plain in known:
        return known[plain]
    vector = _VECTOR.match(plain) if pointer else None
    return known.get(vector[1], "") if vector else ""
