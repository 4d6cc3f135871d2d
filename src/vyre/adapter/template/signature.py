"""What a kernel's parameters are, by its source, as far as that can be read without a compiler."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vyre.adapter.reading.sources import bare
from vyre.adapter.template.redefined import redefined
from vyre.errors import InvalidInput
from vyre.plain import shown

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
_BUILT_IN = frozenset(" ".join((*_NUMBERS, *_OPENCL, *_CUDA)).split())
_QUALIFIERS = "const volatile restrict __restrict __restrict__ struct register"
_PLACES = (
    "global __global constant __constant local __local private __private read_only write_only "
    "__read_only __write_only"
)
_IGNORED = {
    "opencl": frozenset(f"{_QUALIFIERS} {_PLACES}".split()),
    "cuda": frozenset(f"{_QUALIFIERS} __grid_constant__".split()),
}
_LOCAL = frozenset(("local", "__local"))
_CONSTANT = frozenset(("const", "constant", "__constant"))
_MARK = {
    "opencl": re.compile(r"\b(?:__kernel|kernel)\b"),
    "cuda": re.compile(r"\b__global__\b"),
}
_VECTOR = {
    "opencl": re.compile(r"([a-z]+)(?:[234]|8|16)"),
    "cuda": re.compile(r"([a-z]+)[1234]"),
}
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d\w*|\S")
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|\[\[.*?\]\]", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*\n", re.MULTILINE)


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


@dataclass(frozen=True, slots=True)
class Words:
    """What the words of a source mean: the language's own, but for those it defines itself."""

    language: str
    own: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def number(self, kinds: Sequence[str], *, pointer: bool) -> str:
        """A type's number; "" where it is none, or may be another in this source."""
        said = number_named(" ".join(kinds), self.language, pointer=pointer)
        for one in kinds:
            for meaning in self.own.get(one, ()):
                plain = number_named(one, self.language)
                if not plain or number_named(meaning, self.language) != plain:
                    return ""
        return said

    def keeps(self, words: Collection[str], of: frozenset[str]) -> bool:
        """Whether one of these stands there, and is the language's own."""
        return any(one in of and one not in self.own for one in words)


def signature_of(
    text: str, name: str, language: str, where: str, macros: Collection[str] = ()
) -> Signature | Unread:
    """What a source says of a kernel's parameters.

    Args:
        text: the source, with all that it includes.
        name: the kernel's.
        language: `cuda` or `opencl`.
        where: what the source is called, for people.
        macros: what is defined before it, to whatever.

    Raises:
        InvalidInput: nothing there has the kernel's name.
    """
    code = bare(text)
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
    words = Words(language, {**redefined(code), **dict.fromkeys(macros, frozenset(("",)))})
    found = {_read(one, words) for one in lists}
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
        if _MARK[language].search(_DIRECTIVE.sub("", before[begin:])):
            yield code[match.end() : end]


def _closing(code: str, at: int) -> int | None:
    """Where the parenthesis ends that was opened just before a place."""
    depth = 1
    for place in range(at, len(code)):
        depth += {"(": 1, ")": -1}.get(code[place], 0)
        if depth == 0:
            return place
    return None


def _read(listed: str, words: Words) -> Signature | Unread:
    if "#" in listed:
        return Unread("its parameters depend on macros")
    parts = _parts(listed)
    if [one.strip() for one in parts] in ([""], ["void"]):
        return Signature(())
    read = [_parameter(one, words) for one in parts]
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


def _parameter(text: str, words: Words) -> Parameter | None:
    declared = _declared(_TOKEN.findall(_ATTRIBUTE.sub(" ", text)))
    declarator, sized, _ = _cut(declared, "[")
    if not declarator or "(" in declared or not _is_word(declarator[-1]):
        return None
    name, rest = declarator[-1], declarator[:-1]
    base, _, after = _cut(rest, "*")
    ignored = _IGNORED[words.language]
    kinds = [one for one in base if _is_word(one) and one not in ignored]
    if not kinds or name in _BUILT_IN:  # a macro for all of it, say, or a type without a name
        return None
    levels = rest.count("*") + bool(sized)
    # What a macro behind the star is, nobody knows.
    simple = all(map(_is_word, base)) and all(one == "*" or one in ignored for one in after)
    return Parameter(
        name=name,
        number=words.number(kinds, pointer=levels > 0) if simple and levels < 2 else "",
        is_pointer=levels > 0,
        is_const=levels == 1 and words.keeps(base, _CONSTANT & ignored),
        is_local=bool(_LOCAL & ignored & set(rest)),
        said=" ".join(kinds) + (f" {'*' * levels}" if levels else ""),
    )


def _declared(tokens: Sequence[str]) -> list[str]:
    """A declaration without its default, and without what a template's name is given."""
    kept, depth = list[str](), 0
    for one in tokens:
        depth -= one == ">"
        if depth == 0 and one == "=":
            break
        if depth == 0:
            kept.append(one)
        depth += one == "<"
    return kept


def _cut(tokens: Sequence[str], at: str) -> tuple[list[str], list[str], list[str]]:
    """What stands before the first of a token, that, and what stands behind it."""
    place = tokens.index(at) if at in tokens else len(tokens)
    return list(tokens[:place]), list(tokens[place : place + 1]), list(tokens[place + 1 :])


def _is_word(token: str) -> bool:
    return token[0].isalpha() or token[0] == "_"


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
    vector = _VECTOR[language].fullmatch(plain) if pointer else None
    return known.get(vector[1], "") if vector else ""
