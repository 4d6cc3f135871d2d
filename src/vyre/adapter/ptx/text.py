"""Text of PTX -> a kernel of it. What is not known to be read rightly is not read at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from vyre.adapter.ptx.values import (
    Address,
    Entry,
    Nowhere,
    Number,
    Operand,
    Register,
    Several,
    Special,
    Step,
    Symbol,
    Target,
    Unclear,
    Unread,
)

_MOST_LETTERS, _MOST_STEPS = 8_000_000, 100_000

_TOKEN = re.compile(
    r"""(?:\s | //[^\n]* | /\*.*?\*/)*+
    (?: (?P<string>"[^"\n]*")
    | (?P<number>(?:0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?
        |\d+\.\d+(?:[eE][+-]?\d+)?|\d+U?)(?![\w$]))
    | (?P<word>[%.]?[A-Za-z_$][\w$]*(?:(?:\.|::)[\w$]+)*)
    | (?P<sign>[{}()\[\],;:@!<>+\-=|])
    | (?P<end>\Z) )""",
    re.ASCII | re.DOTALL | re.VERBOSE,
)
_REGISTER = re.compile(r"%(?:p|rs|r|rd|rq|f|fd|h|hh)\d+|%SPL?|%temp\w*|[A-Za-z_$][\w$]*", re.ASCII)
"""Names that a register may have, among which are none of the device's own."""

_RANGED = re.compile(r"(.*?[^\d])(0|[1-9]\d{0,8})", re.ASCII)
_TYPES = {f".{letter}{bits}": bits // 8 for letter in "bus" for bits in (8, 16, 32, 64)} | {
    ".f16": 2,
    ".f32": 4,
    ".f64": 8,
    ".b128": 16,
}
_OF_REGISTERS = {*_TYPES, ".pred", ".f16x2", ".bf16", ".bf16x2"}
_LINKING = (".visible", ".weak", ".extern", ".common")
_BOUNDS = (".maxntid", ".minnctapersm", ".maxnreg")
_PRAGMAS = ('"nounroll"',)


class _Stop(Exception):
    """Something that is not read."""


def read(text: str, name: str) -> Entry | Unread:
    """The kernel of that name in a module of PTX.

    >>> read('.version 9.0 .target sm_90 .address_size 64 .entry f () { ret; }', "f").steps
    (Step(opcode='ret', kinds=(), operands=(), guard=None),)
    >>> read('.version 9.0', "f")
    Unread(reason='there is no kernel of that name in its PTX')
    """
    if len(text) > _MOST_LETTERS:
        return Unread(f"its PTX has {len(text):,} letters")
    try:
        return _Module(_tokens(text), name).read()
    except _Stop as stop:
        return Unread(str(stop))


def _tokens(text: str) -> list[str]:
    """Its words and signs; directives that are written together come apart."""
    found: list[str] = []
    at = 0
    while True:
        match = _TOKEN.match(text, at)
        if match is None:
            line = text.count("\n", 0, at) + 1
            raise _Stop(f"its PTX cannot be read after line {line}")
        kind, at = match.lastgroup, match.end()
        if kind == "end":
            return found
        piece = match[str(kind)]
        if piece.startswith("."):
            found += [f".{one}" for one in piece[1:].split(".")]
        else:
            found.append(piece)


def _is_word(piece: str) -> bool:
    return piece[:1].isalpha() or piece[:1] in ("_", "$", "%")


def _whole(piece: str) -> int:
    """A number of bytes, of registers, or the like; one that begins with 0 has eight digits."""
    if not piece.isdecimal() or len(piece) > 12 or (piece[0] == "0" and piece != "0"):
        raise _Stop(f"its PTX has {piece} where a number should be")
    return int(piece)


@dataclass(slots=True)
class _Tokens:
    """Tokens, and how far they are read."""

    all: list[str]
    at: int = 0

    @property
    def next(self) -> str:
        """The next one; nothing at the end."""
        return self.all[self.at] if self.at < len(self.all) else ""

    def take(self) -> str:
        """The next one, which is read."""
        if self.at >= len(self.all):
            raise _Stop("its PTX ends in the middle")
        self.at += 1
        return self.all[self.at - 1]

    def expect(self, piece: str) -> None:
        """Read one that has to come."""
        if self.take() != piece:
            raise _Stop(f"its PTX has {self.all[self.at - 1]} where {piece} should be")

    def number(self) -> int:
        """Read a whole number."""
        return _whole(self.take())

    def word(self) -> str:
        """Read a name."""
        piece = self.take()
        if not _is_word(piece):
            raise _Stop(f"its PTX has {piece} where a name should be")
        return piece

    def until(self, end: str) -> list[str]:
        """Read all before a sign, and that."""
        began = self.at
        while self.take() != end:
            pass
        return self.all[began : self.at - 1]

    def skip(self, opening: str, closing: str) -> None:
        """Read all between two signs, of which there may be others between."""
        self.expect(opening)
        depth = 1
        while depth:
            piece = self.take()
            depth += (piece == opening) - (piece == closing)


class _Module:
    """Reads what stands outside of kernels, and one kernel."""

    def __init__(self, tokens: list[str], name: str) -> None:
        self._tokens, self._name = _Tokens(tokens), name
        self._spaces: dict[str, str] = {}
        self._found: tuple[int, dict[str, int]] | None = None  # where its body begins, parameters

    def read(self) -> Entry:
        tokens = self._tokens
        while tokens.next:
            self._statement()
        if self._found is None:
            raise _Stop("there is no kernel of that name in its PTX")
        tokens.at, sizes = self._found
        body = _Body(tokens, {**self._spaces, **dict.fromkeys(sizes, "param")})
        if not self._spaces.keys().isdisjoint(sizes):
            raise _Stop("its PTX has a variable that is called as a parameter")
        body.read()
        return Entry(
            name=self._name,
            steps=tuple(body.steps),
            labels=body.labels,
            spaces=body.spaces,
            sizes=sizes,
        )

    def _statement(self) -> None:
        tokens = self._tokens
        piece = tokens.take()
        extern = False
        while piece in _LINKING:
            extern = extern or piece == ".extern"
            piece = tokens.take()
        if piece == ".version":
            tokens.take()
        elif piece == ".target":
            tokens.word()
            while tokens.next == ",":
                tokens.take()
                tokens.word()
        elif piece == ".address_size":
            if tokens.number() != 64:
                raise _Stop("its PTX is not for addresses of 64 bits")
        elif piece == ".file":
            tokens.number()
            tokens.take()
            while tokens.next == ",":
                tokens.take()
                tokens.number()
        elif piece == ".section":
            while tokens.next != "{":
                tokens.take()
            tokens.skip("{", "}")
        elif piece in (".global", ".const", ".shared"):
            self._variable("extern" if extern else piece[1:])
        elif piece == ".func":
            while tokens.next not in ("{", ";"):
                tokens.take()
            self._skip_body()
        elif piece == ".entry":
            self._entry()
        else:
            raise _Stop(f"its PTX has {piece} outside of kernels")

    def _skip_body(self) -> None:
        if self._tokens.next == ";":
            self._tokens.take()
        else:
            self._tokens.skip("{", "}")

    def _variable(self, space: str) -> None:
        """A variable outside of kernels."""
        declared = self._tokens.until(";")
        name, _ = _declared(declared)
        if name in self._spaces:
            raise _Stop(f"its PTX has two variables called {name}")
        self._spaces[name] = space

    def _entry(self) -> None:
        tokens = self._tokens
        name = tokens.word()
        if name != self._name:
            while tokens.next not in ("{", ";"):
                tokens.take()
            self._skip_body()
            return
        sizes = self._parameters() if tokens.next == "(" else {}
        while tokens.next not in ("{", ";"):
            directive = tokens.take()
            if directive not in _BOUNDS:
                raise _Stop(f"its PTX has {directive}")
            tokens.number()
            while tokens.next == ",":
                tokens.take()
                tokens.number()
        if tokens.next == "{":
            if self._found is not None:
                raise _Stop("there are two kernels of that name in its PTX")
            self._found = tokens.at, sizes
        self._skip_body()

    def _parameters(self) -> dict[str, int]:
        """Their names, and how many bytes each has."""
        tokens = self._tokens
        tokens.expect("(")
        sizes: dict[str, int] = {}
        for given in _split(tokens.until(")")):
            if given[0] != ".param":
                raise _Stop("its PTX has a parameter that cannot be read")
            name, size = _declared(given[1:])
            if name in sizes:
                raise _Stop(f"its PTX has two parameters called {name}")
            sizes[name] = size
        return sizes


def _declared(tokens: Sequence[str]) -> tuple[str, int]:
    """The name of a variable and its bytes, by what stands between its space and its end."""
    at = size = 0
    while at < len(tokens) and tokens[at].startswith("."):
        if tokens[at] in (".align", ".ptr"):
            at += tokens[at] == ".align"
        elif tokens[at] in _TYPES and not size:
            size = _TYPES[tokens[at]]
        elif tokens[at] not in (".global", ".const"):  # what a pointer is to
            raise _Stop(f"its PTX has {tokens[at]} at a variable")
        at += 1
    if at >= len(tokens) or not _is_word(tokens[at]) or not size:
        raise _Stop("its PTX has a variable that cannot be read")
    name, sizes = tokens[at], []
    at += 1
    while tokens[at : at + 1] == ["["]:
        if tokens[at + 1 : at + 2] == ["]"]:  # as much as a launch says
            sizes.append(0)
            at += 2
            continue
        if tokens[at + 2 : at + 3] != ["]"]:
            raise _Stop("its PTX has a variable that cannot be read")
        sizes.append(_whole(tokens[at + 1]))
        at += 3
    if at < len(tokens) and tokens[at] != "=":
        raise _Stop("its PTX has a variable that cannot be read")
    return name, size * prod(sizes)


def _split(tokens: Sequence[str]) -> list[list[str]]:
    """What stands between commas, those in brackets and braces apart."""
    if not tokens:
        return []
    parts: list[list[str]] = [[]]
    depth = 0
    for piece in tokens:
        depth += (piece in ("[", "{", "(")) - (piece in ("]", "}", ")"))
        if piece == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(piece)
    if not all(parts):
        raise _Stop("its PTX has an operand that is not there")
    return parts


@dataclass(slots=True)
class _Scope:
    """Registers that are declared between two braces."""

    number: int
    names: set[str] = field(default_factory=set)
    ranges: dict[str, int] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        if name in self.names:
            return True
        ranged = _RANGED.fullmatch(name)
        return ranged is not None and int(ranged[2]) < self.ranges.get(ranged[1], 0)


class _Body:
    """Reads what stands inside of a kernel."""

    def __init__(self, tokens: _Tokens, spaces: dict[str, str]) -> None:
        self._tokens, self.spaces = tokens, spaces
        self.steps: list[Step] = []
        self.labels: dict[str, int] = {}
        self._scopes: list[_Scope] = []
        self._begun = 0
        self._named: set[str] = set()  # all registers by their names in the text

    def read(self) -> None:
        tokens = self._tokens
        self._open()
        while self._scopes:
            piece = tokens.next
            if piece == "{":
                self._open()
            elif piece == "}":
                tokens.take()
                self._scopes.pop()
            elif piece.startswith("."):
                self._directive(tokens.take())
            elif _is_word(piece) and tokens.all[tokens.at + 1 : tokens.at + 2] == [":"]:
                self._label(tokens.take())
                tokens.take()
            else:
                self._step()
        for name in self.labels:
            if name in self._named or name in self.spaces:
                raise _Stop(f"its PTX has a label and something else called {name}")

    def _open(self) -> None:
        self._tokens.expect("{")
        self._scopes.append(_Scope(self._begun))
        self._begun += 1

    def _label(self, name: str) -> None:
        if name in self.labels or name.startswith("%"):
            raise _Stop(f"its PTX has a label {name} that cannot be told apart")
        self.labels[name] = len(self.steps)

    def _directive(self, directive: str) -> None:
        tokens = self._tokens
        if directive == ".reg":
            self._registers(tokens.until(";"))
        elif directive == ".local":
            name, _ = _declared(tokens.until(";"))
            if name in self.spaces:
                raise _Stop(f"its PTX has two variables called {name}")
            self.spaces[name] = "local"
        elif directive == ".pragma":
            if tokens.take() not in _PRAGMAS:
                raise _Stop("its PTX has a pragma that is not known")
            tokens.expect(";")
        elif directive == ".loc":
            self._location()
        elif directive == ".param":
            raise _Stop("it calls a function that is not part of it")
        else:
            raise _Stop(f"its PTX has {directive}")

    def _location(self) -> None:
        """A line of a source, of which nothing depends."""
        tokens = self._tokens
        for _ in range(3):
            tokens.number()
        while tokens.next == ",":
            tokens.take()
            if tokens.word() == "inlined_at":
                for _ in range(3):
                    tokens.number()
                continue
            tokens.word()
            if tokens.next == "+":
                tokens.take()
                tokens.number()

    def _registers(self, declared: Sequence[str]) -> None:
        if declared[:1] and declared[0] not in _OF_REGISTERS:
            raise _Stop(f"its PTX has a register of type {declared[0]}")
        for one in _split(declared[1:]):
            name, scope = one[0], self._scopes[-1]
            if one[1:2] == ["<"] and one[3:] == [">"]:
                self._check_name(name, f"{name}0")
                if len(self._scopes) > 1 or name in scope.ranges:
                    raise _Stop(f"its PTX has two things called {name}")
                scope.ranges[name] = _whole(one[2])
            elif len(one) == 1:
                self._check_name(name, name)
                if any(two.has(name) for two in self._scopes):
                    raise _Stop(f"its PTX has two things called {name}")
                scope.names.add(name)
                self._named.add(name)
            else:
                raise _Stop("its PTX has a register that cannot be read")

    def _check_name(self, name: str, example: str) -> None:
        """That a register, such as this example, is nothing else's."""
        if _REGISTER.fullmatch(example) is None or example == "WARP_SZ":
            raise _Stop(f"its PTX has a register called {name}")

    def _register(self, name: str) -> Register | None:
        """The one that a name stands for here."""
        found = [one for one in self._scopes if one.has(name)]
        if not found:
            return None
        if len(found) > 1 or name in self.spaces:
            raise _Stop(f"its PTX has two things called {name}")
        number = found[0].number
        return Register(f"{name}@{number}" if number else name)

    def _step(self) -> None:
        tokens = self._tokens
        guard = None
        if tokens.next == "@":
            tokens.take()
            if tokens.next == "!":
                tokens.take()
            guard = self._register(tokens.word())
            if guard is None:
                raise _Stop("its PTX has a condition that cannot be read")
        opcode, *kinds = tokens.word().split(".")
        operands = tuple(map(self._operand, _split(tokens.until(";"))))
        self.steps.append(Step(opcode, tuple(kinds), operands, guard))
        if len(self.steps) > _MOST_STEPS:
            raise _Stop(f"its PTX has more than {_MOST_STEPS:,} steps")

    def _operand(self, tokens: list[str]) -> Operand:
        plain = self._plain(tokens)
        if plain is not None:
            return plain
        if tokens == ["_"]:
            return Nowhere()
        if len(tokens) == 1 and _is_word(tokens[0]):
            name = tokens[0]
            return Special(name) if name.startswith("%") else Target(name)
        if tokens[0] == "[" and tokens[-1] == "]":
            return self._address(tokens[1:-1])
        parts: list[Register | Number | Nowhere | None] = []
        if tokens[0] == "{" and tokens[-1] == "}":
            parts = [self._part(one) for one in _split(tokens[1:-1])]
        elif len(tokens) == 3 and tokens[1] == "|":
            parts = [self._part(tokens[:1]), self._part(tokens[2:])]
        whole = tuple(one for one in parts if one is not None)
        if parts and len(whole) == len(parts):
            return Several(whole)
        return Unclear(" ".join(tokens[:8]))

    def _plain(self, tokens: list[str]) -> Register | Number | Symbol | None:
        """A register, a constant or a variable's address."""
        rest = tokens[1:] if tokens[0] in ("-", "!") else tokens
        if len(rest) != 1:
            return None
        if rest[0][0].isdecimal():
            return Number("".join(tokens)) if tokens[0] != "!" else None
        if not _is_word(rest[0]) or tokens[0] == "-":
            return None
        register = self._register(rest[0])
        if register is not None:
            return register
        return Symbol(rest[0]) if rest[0] in self.spaces and rest is tokens else None

    def _part(self, tokens: list[str]) -> Register | Number | Nowhere | None:
        """One of several side by side."""
        plain = self._plain(tokens)
        if isinstance(plain, (Register, Number)):
            return plain
        return Nowhere() if tokens == ["_"] else None

    def _address(self, tokens: list[str]) -> Operand:
        """`[base]`, `[base+4]`, `[base+-4]`."""
        base = self._plain(tokens[:1]) if tokens else None
        if isinstance(base, (Register, Symbol)):
            if len(tokens) == 1:
                return Address(base)
            sign, number = tokens[1:-1], tokens[-1]
            if sign in (["+"], ["-"], ["+", "-"]):
                return Address(base, _whole(number) * (-1 if "-" in sign else 1))
        return Unclear(" ".join(("[", *tokens[:8], "]")))
