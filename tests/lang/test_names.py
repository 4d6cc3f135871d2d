"""Names mean what they do in Python, whatever the translator calls things itself."""

import ast
import builtins
import keyword
import random
import unicodedata
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from vyre import lang
from vyre.backend import reference
from vyre.errors import LanguageError
from vyre.ir.structure import structural_hash
from vyre.ir.validate import check
from vyre.lang.intrinsics import INTRINSICS

Written = Callable[..., Callable[..., None]]

# Each makes the translator bind names of its own: parts, results, values from before an effect …
KERNELS = {
    "parts": """
def kernel(x: In[f32], y: In[u32], z: InOut[f32], a: f32):
    i = vyre.gid()
    s = x[i] + x[i + 1] * x[i + 2] + (x[i] + (x[i] + (x[i] + (x[i] + (x[i] + a)))))
    t, u = s * 2, s + 1
    t, u = u, t
    z[i] = t if y[i] > 2 else u ** 4
""",
    "branches": """
def kernel(x: In[f32], y: In[u32], z: InOut[f32], a: f32):
    i = vyre.gid()
    if x[i] > a:
        s = x[i]
    else:
        s = a
    t = 0
    for k in range(2, 9, 3):
        u = s * x[i + k]
        t += u
    while t > 100:
        t = t / 2
        if t < a:
            break
    z[i] = t
""",
    "effects": """
def kernel(x: In[f32], y: InOut[u32], z: InOut[f32], a: f32):
    i = vyre.gid()
    s = y[0] + vyre.atomic_add(y, 0, 1)
    t = 0 < y[1] + 1 < 9 and vyre.atomic_max(y, 1, s) > 2
    z[i] += f32(s) + z[i] * a
    u = v = x[i]
    if t:
        z[i] = u + v
""",
    "functions": """
@vyre.function
def g(v, w):
    t = v * w
    if t > 2:
        if w > 1:
            return t
        t = t + 1
    return t - v

@vyre.function
def h(v):
    t = v + 1
    t = g(t, v)
    return t

def kernel(x: In[f32], y: In[u32], z: InOut[f32], a: f32):
    i = vyre.gid()
    t = g(x[i], a)
    v = h(t) + g(v=t, w=x[i])
    z[i] = v
""",
    "workgroups": """
def kernel(x: In[f32], y: In[u32], z: InOut[f32], a: f32):
    tile = vyre.shared(f32, 8)
    i = vyre.gid()
    lane = vyre.local_id()
    tile[lane] = x[i] * a
    vyre.barrier()
    s = 0
    for k in range(8):
        s += tile[k]
    z[i] = s
""",
}

OURS = """
value at before part middle test chosen old_value start stop returned base square return_ result me
self cls n out x y z k i gid In Out InOut vyre lang f32 u32 i64 bool_ kernel function shared barrier
node buffer index shape count words lane lanes extent let store load region root main entry var
x_2 value_2 s_2 t_2 part_2 part_02 part_ _2 g h g_2 h_2 tile tile_2 while_ else_ True_ none
"""
PYTHONS = """
min max abs len range round pow float int bool print str list type id input sum object match case
"""
STRANGE = """
_ __ ___ _x __x __x__ __name__ __class__ __doc__ __builtins__ x1 X ñ π Δx größe 变量 ｆ ﬁ ℌ 𝐱 ª
"""  # noqa: RUF001  # as strange as Python lets them be
FUNCTIONS = ("g", "h")
HOSTILE = list(dict.fromkeys([*f"{OURS} {PYTHONS} {STRANGE}".split(), *INTRINSICS]))


class Renamed(ast.NodeTransformer):
    """Gives variables, parameters and functions of a text other names."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        # The types beside parameters are read where the function is defined, not inside it.
        return ast.arg(self.names.get(node.arg, node.arg), node.annotation)

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        return ast.keyword(self.names.get(str(node.arg), str(node.arg)), self.visit(node.value))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        decorators = node.decorator_list
        found = self.generic_visit(node)
        assert isinstance(found, ast.FunctionDef)
        found.decorator_list = decorators
        if found.name != "kernel":
            found.name = self.names.get(found.name, found.name)
        return found


def names_of(source: str) -> list[str]:
    """The names that a text gives itself."""
    found = dict.fromkeys(
        name
        for node in ast.walk(ast.parse(source))
        for name in (
            [node.arg]
            if isinstance(node, ast.arg)
            else [node.id]
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            else [node.name]
            if isinstance(node, ast.FunctionDef)
            else []
        )
    )
    return [name for name in found if name != "kernel"]


def taken_from_outside(source: str) -> set[str]:
    """The names that a text uses and does not give itself."""
    used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    return used - set(names_of(source)) | {"kernel"}


def ran(found: lang.Translation) -> list[bytes]:
    """What a kernel makes of the same numbers; parameters in order, so that names do not count."""
    chance = np.random.default_rng(3)
    arrays = [
        *(chance.uniform(0, 4, 16).astype(np.float32), chance.integers(0, 5, 16).astype(np.uint32)),
        *(np.zeros(16, np.float32), np.array([1.5], np.float32)),
    ]
    names = [param.name for param in found.params]
    reference.run(found.program, dict(zip(names, arrays, strict=True)), (16, 1, 1))
    return [array.tobytes() for array in arrays]


def meaning(written: Written, source: str) -> tuple[object, ...]:
    """What a kernel computes, without its names."""
    found = lang.translate(written(source), workgroup=8)
    check(found.program)
    return structural_hash(found.program), ran(found)


def renamed(source: str, names: Mapping[str, str]) -> str:
    return ast.unparse(ast.fix_missing_locations(Renamed(names).visit(ast.parse(source)))) + "\n"


@pytest.mark.parametrize("turn", range(2))
@pytest.mark.parametrize("kernel", KERNELS)
def test_one_name_may_be_any_other(written: Written, kernel: str, turn: int):
    mine, outside = names_of(KERNELS[kernel]), taken_from_outside(KERNELS[kernel])
    others = [name for name in HOSTILE if unicodedata.normalize("NFKC", name) not in mine]
    plain = meaning(written, KERNELS[kernel])

    for place, other in enumerate(others):
        name = mine[(place + turn) % len(mine)]
        if other in outside and name in FUNCTIONS:
            continue  # it would be hidden from the file itself
        try:
            found = meaning(written, renamed(KERNELS[kernel], {name: other}))
        except LanguageError:
            # What the kernel hides of what is around it is gone, as in Python.
            assert other in outside, (name, other)
        else:
            assert found == plain, (name, other)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kernel", KERNELS)
def test_all_names_may_be_others_at_once(written: Written, kernel: str, seed: int):
    names, outside = names_of(KERNELS[kernel]), taken_from_outside(KERNELS[kernel])
    free = {unicodedata.normalize("NFKC", name): name for name in HOSTILE if name not in outside}

    chosen = random.Random(seed).sample(list(free.values()), len(names))

    source = renamed(KERNELS[kernel], dict(zip(names, chosen, strict=True)))
    assert meaning(written, source) == meaning(written, KERNELS[kernel]), source


def test_the_names_are_as_hostile_as_they_can_be():
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in HOSTILE)
    assert set(PYTHONS.split()) - {"match", "case"} <= set(dir(builtins))
