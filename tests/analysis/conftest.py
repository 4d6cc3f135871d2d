"""What the tests of the analysis share: launches, and programs over a few usual buffers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

import pytest

from vyre.analysis import Facts, analyse
from vyre.analysis.forms import Symbol
from vyre.ir import BufferDecl, DataType, Options, Program
from vyre.ir.node import Node
from vyre.ir.validate import check

BUFFERS = (
    BufferDecl.read_write("out", 0, DataType.U32),
    BufferDecl.read("x", 1, DataType.U32),
    BufferDecl.read_write("image", 2, DataType.F32).with_shape(0, 0),
    BufferDecl.read_write("sum", 3, DataType.F32),
    BufferDecl.read_write("fixed", 4, DataType.U32).with_count(8),
    BufferDecl.read("table", 5, DataType.F32).with_shape(3, 4),
    BufferDecl.uniform("n", 6, DataType.U32).with_count(1),
    BufferDecl.uniform("m", 7, DataType.I32).with_count(1),
    BufferDecl.uniform("a", 8, DataType.F32).with_count(1),
)


@dataclass(frozen=True)
class Launch:
    """The numbers of a launch: what is not given is 100 elements long."""

    extent: tuple[int, int, int]
    sizes: Mapping[str, int | tuple[int, ...]]

    def value(self, symbol: Symbol) -> int:
        match symbol.kind:
            case "extent":
                return self.extent[symbol.axis]
            case "dim":
                size = self.sizes[symbol.name]
                assert isinstance(size, tuple)
                return size[symbol.axis]
            case _:
                size = self.sizes.get(symbol.name, 100)
                return prod(size) if isinstance(size, tuple) else size


@pytest.fixture
def launch() -> Callable[..., Launch]:
    """A launch over an extent, with array sizes and scalars by name."""

    def make(x: int, y: int = 1, z: int = 1, /, **sizes: int | tuple[int, ...]) -> Launch:
        return Launch((x, y, z), sizes)

    return make


@pytest.fixture
def program() -> Callable[..., Program]:
    """A valid program of these statements over the usual buffers."""

    def make(*nodes: Node, extra: tuple[BufferDecl, ...] = (), stated: str = "") -> Program:
        options = Options(unique_writes=(stated,) if stated else ())
        made = Program.wrapped((*BUFFERS, *extra), (64, 1, 1), nodes, options)
        check(made)
        return made

    return make


@pytest.fixture
def facts(program: Callable[..., Program]) -> Callable[..., Facts]:
    """What is proved of a program of these statements."""
    return lambda *nodes, **more: analyse(program(*nodes, **more))
