"""Where a kernel's source is found, and errors that point into it."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import decode_source
from io import StringIO
from pathlib import Path
from textwrap import dedent
from types import CodeType, FunctionType, MethodType

from vyre.errors import LanguageError
from vyre.ir.expr import Expr
from vyre.ir.node import Node


@dataclass(frozen=True, slots=True)
class Location:
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A function as written: its tree, with the line numbers of its file, and its lines."""

    fn: FunctionType
    file: str
    first_line: int
    lines: tuple[str, ...]
    encoded: tuple[bytes, ...]
    tree: ast.FunctionDef
    annotations: dict[str, object] = field(default_factory=dict)  # those looked up so far
    spelled: dict[ast.expr, str] = field(default_factory=dict)  # of which Python gives no place

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def location(self) -> Location:
        return Location(self.file, self.tree.lineno)

    def error(
        self, node: Pointed, problem: str, fix: str, called_from: Location | None = None
    ) -> LanguageError:
        """An error that shows the line of `node` and underlines it."""
        return LanguageError(self.pointed(node, problem, called_from), fix)

    def pointed(self, node: Pointed, problem: str, called_from: Location | None = None) -> str:
        """A problem at `node`, whose line is shown and underlined."""
        line = self.lines[node.lineno - self.first_line].rstrip("\r\n")
        start = _column(line, node.col_offset)
        same_line = node.end_lineno == node.lineno and node.end_col_offset is not None
        end = _column(line, node.end_col_offset or 0) if same_line else len(line)
        indent = len(line) - len(line.lstrip())
        caret = " " * (start - indent) + "^" * max(end - start, 1)
        text = f"{self.file}:{node.lineno}: {problem}\n    {line[indent:]}\n    {caret}"
        if called_from is not None:
            text += f"\n    called from {called_from}"
        return text

    def text(self, node: ast.expr) -> str:
        """What the author wrote for `node`, or a short stand-in where that is long."""
        if (spelled := self.spelled.get(node)) is not None:
            return spelled if len(spelled) <= _LONGEST_TEXT else "this"
        start, end = node.col_offset, node.end_col_offset or 0
        # Columns count bytes, of which a character has four at most. Long parts stay unread.
        if node.end_lineno != node.lineno or end - start > 4 * _LONGEST_TEXT:
            return "this"
        whole = self.encoded[node.lineno - self.first_line][start:end].decode()
        return whole if len(whole) <= _LONGEST_TEXT else "this"


_LONGEST_TEXT = 40

Pointed = ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement or an expression of a program is written."""

    item: Expr | Node
    source: Source
    node: Pointed
    called_from: Location | None

    @property
    def line(self) -> int:
        return self.node.lineno

    def error(self, problem: str, fix: str) -> LanguageError:
        return LanguageError(self.pointed(problem), fix)

    def pointed(self, problem: str) -> str:
        """A problem here, with the line and what to look at in it."""
        return self.source.pointed(self.node, problem, self.called_from)


@dataclass(frozen=True, slots=True)
class Places:
    """Where the parts of a program are written, as far as they are written anywhere."""

    by_id: Mapping[int, Place] = field(default_factory=dict)

    def of(self, item: Expr | Node) -> Place | None:
        return self.by_id.get(id(item))


def _column(line: str, utf8_offset: int) -> int:
    return len(line.encode()[:utf8_offset].decode())


def find_source(fn: object, what: str = "kernel") -> Source:
    """The source of `fn`.

    Raises:
        LanguageError: `fn` is not a plain function, or its source cannot be had.
    """
    fn = _plain_function(fn, what)
    file = fn.__code__.co_filename
    missing = LanguageError(
        f"the source of {what} {fn.__name__!r} ({file}) is not available",
        "write it in a file or a notebook cell, or put its text into linecache.cache"
        if file != _STANDARD_INPUT
        else "save it to a file and run that, or type it in a notebook, in python -c or, from "
        "Python 3.13 on, in the interactive interpreter",
    )
    try:
        lines, first_line = _lines_of(fn.__code__)
    except (OSError, TypeError):
        raise missing from None
    # An indented function is parsed inside a block of its own: taking the indentation away would
    # break strings that span lines, and move the columns that messages point at.
    shift = 1 if lines[0][:1].isspace() else 0
    try:
        module = ast.parse("if True:\n" * shift + "".join(lines))
    except SyntaxError:
        raise missing from None
    except (RecursionError, MemoryError):
        raise LanguageError(
            f"the source of {what} {fn.__name__!r} ({file}:{first_line}) nests too deep to be read",
            "split its longest expression over several assignments",
        ) from None
    outer = module.body[0]
    tree = outer.body[0] if isinstance(outer, ast.If) else outer
    ast.increment_lineno(module, first_line - 1 - shift)
    if not isinstance(tree, ast.FunctionDef) or not _is_the_tree_of(fn, tree):
        raise LanguageError(
            f"the source of {what} {fn.__name__!r} ({file}:{first_line}) has changed since it was "
            "loaded",
            "load the module again",
        )
    encoded = tuple(line.encode() for line in lines)
    return Source(fn, file, first_line, tuple(lines), encoded, tree)


_STRING, _STANDARD_INPUT = "<string>", "<stdin>"
"""What Python calls the file of a text that it was handed, and of what it reads as it comes."""


def _lines_of(code: CodeType) -> tuple[list[str], int]:
    """The lines of a function and the number of its first one.

    Raises:
        OSError: they cannot be had.
        TypeError: they cannot be had.
    """
    # Any text passed to exec may have these names: what compiles to the same is the one.
    if code.co_filename == _STRING:
        texts = _texts_of_the_command_line()
    elif code.co_filename == _STANDARD_INPUT:
        texts = _text_of_standard_input()
    else:
        return inspect.getsourcelines(code)
    for text in texts:
        if _compiles_to(text, code):
            lines = StringIO(text, newline=None).readlines()  # those that Python counts
            return inspect.getblock(lines[code.co_firstlineno - 1 :]), code.co_firstlineno
    raise OSError("no text that Python was handed compiles to it")


def _texts_of_the_command_line() -> Iterator[str]:
    known = linecache.cache.get(_STRING)
    if known is not None and len(known) > 2:
        yield "".join(known[2])
    for argument in sys.orig_argv[1:]:
        yield from (argument, dedent(argument), argument.removeprefix("-c"))


def _text_of_standard_input() -> Iterator[str]:
    """The file that is standard input, read without moving the place that Python reads at.

    Opened by this name, Linux gives a file a place of its own. What a pipe or a terminal gave is
    gone; elsewhere there is no such name.
    """
    file = Path("/proc/self/fd/0")
    try:
        if file.is_file():
            yield decode_source(file.read_bytes())
    except (OSError, SyntaxError, UnicodeError):
        return


def _compiles_to(text: str, code: CodeType) -> bool:
    """Whether a function of a text is the one at hand, instruction for instruction."""
    if code.co_name not in text:
        return False
    try:
        stack = [compile(text, _STRING, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    while stack:
        found = stack.pop()
        if _told_apart(found) == _told_apart(code):
            return True
        stack += [part for part in found.co_consts if isinstance(part, CodeType)]
    return False


def _told_apart(code: CodeType) -> tuple[object, ...]:
    """What of a compiled function another text would have differently."""
    constants = tuple(
        _told_apart(part) if isinstance(part, CodeType) else (type(part), repr(part))
        for part in code.co_consts
    )
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    lines = tuple(code.co_lines())
    return code.co_qualname, code.co_firstlineno, code.co_code, constants, names, lines


def _plain_function(fn: object, what: str) -> FunctionType:
    if isinstance(fn, MethodType):
        raise LanguageError(
            f"{fn.__qualname__} is a method, and a {what} is a plain function",
            f"move it out of the class, or make it a staticmethod above @vyre.{what}",
        )
    if not isinstance(fn, FunctionType):
        kind = "a built-in function" if inspect.isbuiltin(fn) else f"a {type(fn).__name__}"
        name = getattr(fn, "__name__", fn)
        raise LanguageError(
            f"{name!r} is {kind}, and a {what} is a function written in Python",
            f"put @vyre.{what} above a def",
        )
    if fn.__name__ == "<lambda>":
        raise LanguageError(
            f"a lambda ({fn.__code__.co_filename}:{fn.__code__.co_firstlineno}) cannot be a {what}",
            f"write it as a def under @vyre.{what}",
        )
    if inspect.iscoroutinefunction(fn) or inspect.isasyncgenfunction(fn):
        raise LanguageError(
            f"{fn.__name__!r} is an async def, and a {what} runs on the device",
            "write def instead of async def",
        )
    return fn


def _is_the_tree_of(fn: FunctionType, tree: ast.FunctionDef) -> bool:
    """Whether names and lines agree; inspect reads the file as it is now, not as it was loaded."""
    args = tree.args
    written = tuple(a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs))
    code = fn.__code__
    loaded = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return tree.name == code.co_name and _demangled(loaded) == _demangled(written)


def _demangled(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.rpartition("__")[2] or name for name in names)
