"""Where a fast_math kernel fuses: by the text alone, checked against exact arithmetic."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

import vyre
from vyre import In, Out, f32, lang
from vyre.errors import InvalidInput
from vyre.ir.expr import Binary, BinaryOp, Fma
from vyre.ir.node import Let, Store
from vyre.ir.text import expr_text
from vyre.ir.walk import all_expressions, expressions, statements

Written = Callable[..., Callable[..., None]]
Run = Callable[..., None]
Translate = Callable[..., lang.Translation]

NAMES = ("a", "b", "c", "d")
FUNCTIONS = """
@vyre.function
def times(p, q):
    return p * q

@vyre.function
def same(p):
    return p

"""
HEAD = "    i = vyre.gid()\n" + "".join(
    f"    {name} = x[{position}, i]\n" for position, name in enumerate(NAMES)
)


def kernel_text(lines: str, dtype: str = "f32") -> str:
    return f"{FUNCTIONS}def kernel(x: In[{dtype}, 2], out: InOut[{dtype}]):\n{HEAD}{lines}"


def stored(written: Written, translate: Translate, text: str, dtype: str = "f32") -> str:
    """The stored expression of a fast_math kernel that stores `text`, as IR text."""
    source = kernel_text(f"    out[i] = {text}\n", dtype)
    program = translate(written(source), fast_math=True).program
    (store,) = (node for node in statements(program.entry) if isinstance(node, Store))
    return expr_text(store.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a*b + c*d", "fma(a, b, c * d)"),
        ("a*b - c*d", "fma(a, b, -(c * d))"),
        ("c - a*b", "fma(-a, b, c)"),
        ("c + a*b", "fma(a, b, c)"),
        ("a*b*c + d", "fma(a * b, c, d)"),
        ("a*b + c + d", "fma(a, b, c) + d"),
        ("a + b*c + d", "fma(b, c, a) + d"),
        ("a + (b*c + d)", "a + fma(b, c, d)"),
        ("(a*b) + c", "fma(a, b, c)"),
        ("-(a*b) + c", "fma(-a, b, c)"),
        ("-(-(a*b)) + c", "fma(a, b, c)"),
        ("+(a*b) + c", "fma(a, b, c)"),
        ("-a*b + c", "fma(-a, b, c)"),
        ("c - -(a*b)", "fma(a, b, c)"),
        ("c - -a*b", "fma(a, b, c)"),
        ("-(a*b) - c", "fma(-a, b, -c)"),
        ("a*b - -c", "fma(a, b, c)"),
        ("a*b - 2.0", "fma(a, b, -2.0)"),
        ("1.0 - 0.5*a", "fma(-0.5, a, 1.0)"),
        ("2*a + 1", "fma(2.0, a, 1.0)"),
        ("(a*b + c)*d + a", "fma(fma(a, b, c), d, a)"),
        ("a*(b*c + d)", "a * fma(b, c, d)"),
        ("(a + b*c)*(d - a*b)", "fma(b, c, a) * fma(-a, b, d)"),
        ("a/b*c + d", "fma(a / b, c, d)"),
    ],
)
def test_a_sum_fuses_with_the_outermost_sign_of_the_product_in_it(
    written: Written, translate: Translate, text: str, expected: str
):
    assert stored(written, translate, text) == expected
    assert stored(written, translate, text, "f64").replace("f64", "") == expected


@pytest.mark.parametrize(
    "text",
    [
        "a**2 + b",
        "times(a, b) + c",
        "same(a*b) + c",
        "f32(a*b) + c",
        "(a*b if c < d else d) + a",
        "(a*b if True else c) + d",
        "a*b / c + d",
        "vyre.max(a*b, c) + d",
        "2.0*0.1 + a",
        "a + b - c",
    ],
)
def test_what_is_not_written_as_a_product_does_not_fuse(
    written: Written, translate: Translate, text: str
):
    program = translate(written(kernel_text(f"    out[i] = {text}\n")), fast_math=True).program

    assert not any(isinstance(part, Fma) for part in all_expressions(program.entry))


def test_a_name_is_no_product(written: Written, translate: Translate):
    lines = "    t = a*b\n    u = t\n    out[i] = t + u\n"
    program = translate(written(kernel_text(lines)), fast_math=True).program

    assert not any(isinstance(part, Fma) for part in all_expressions(program.entry))


def test_a_function_fuses_what_it_writes_itself(written: Written, translate: Translate):
    source = (
        "@vyre.function\ndef line(p, q, r):\n    return p*q + r\n\n"
        "def kernel(x: In[f32], out: Out[f32]):\n    out[0] = line(x[0], x[1], x[2]*x[3])\n"
    )
    program = translate(written(source), fast_math=True).program

    assert sum(isinstance(part, Fma) for part in all_expressions(program.entry)) == 1
    assert sum(_is_product(part) for part in all_expressions(program.entry)) == 1


def test_augmented_assignments_fuse_as_well(written: Written, translate: Translate):
    lines = "    s = c\n    s += a*b\n    s -= a*d\n    out[i] = s\n    out[i] += b*d\n"
    program = translate(written(kernel_text(lines)), fast_math=True).program
    found = [expr_text(part) for part in all_expressions(program.entry) if isinstance(part, Fma)]

    assert found == ["fma(a, b, s)", "fma(-a, d, s)", "fma(b, d, out[i])"]


def test_whole_numbers_never_fuse(written: Written, translate: Translate):
    source = "def kernel(x: In[i32], out: Out[i32]):\n    out[0] = x[0]*x[1] + x[2]*3 - x[3]\n"
    program = translate(written(source), fast_math=True).program

    assert not any(isinstance(part, Fma) for part in all_expressions(program.entry))


def test_without_fast_math_nothing_fuses(written: Written, translate: Translate):
    program = translate(written(kernel_text("    out[i] = a*b + c*d\n"))).program

    assert not any(isinstance(part, Fma) for part in all_expressions(program.entry))


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_small_floats_are_computed_in_f32_and_fuse_there(
    written: Written, translate: Translate, dtype: str
):
    assert stored(written, translate, "a*b + c", dtype) == "fma(a, b, c)"


def test_a_variable_whose_type_is_found_later_fuses(written: Written, translate: Translate):
    lines = (
        "    s = 0\n    for k in range(4):\n        s = s*2 + 1\n        s += a*b\n    out[i] = s\n"
    )
    program = translate(written(kernel_text(lines, "f64")), fast_math=True).program
    found = [expr_text(part) for part in all_expressions(program.entry) if isinstance(part, Fma)]

    assert found == ["fma(s, 2.0f64, 1.0f64)", "fma(a, b, s)"]


def test_a_product_read_before_an_effect_fuses_with_what_follows(
    written: Written, translate: Translate
):
    source = (
        "def kernel(x: InOut[f32], n: InOut[u32], out: Out[f32]):\n"
        "    out[0] = x[0]*x[1] + f32(vyre.atomic_add(n, 0, 1))\n"
    )
    program = translate(written(source), fast_math=True).program
    lets = [node for node in statements(program.entry) if isinstance(node, Let)]

    assert sum(isinstance(part, Fma) for part in all_expressions(program.entry)) == 1
    # Both factors are read before the counter changes.
    assert [expr_text(let.value) for let in lets[:2]] == ["x[0u32]", "x[1u32]"]


# -- the rule over generated expressions, by a model of its own


@dataclass(frozen=True)
class Tree:
    """An expression: `op` over `parts`, or a leaf that holds a position or a number."""

    op: str
    parts: tuple["Tree", ...] = ()
    leaf: Any = None


def drawn(random: Random, depth: int) -> Tree:
    if depth == 0 or random.random() < 0.1:
        if random.random() < 0.15:
            return Tree("number", leaf=random.choice((0.1, 0.75, 2.0, 3.0, 1.7)))
        return Tree("element", leaf=random.randrange(len(NAMES)))
    op = random.choices(
        ["+", "-", "*", "neg", "pos", "call", "name", "if", "square"], [6, 6, 9, 2, 1, 1, 1, 1, 1]
    )[0]
    count = 2 if op in ("+", "-", "*", "if") else 1
    return Tree(op, tuple(drawn(random, depth - 1) for _ in range(count)))


def shown(tree: Tree, lines: list[str]) -> str:
    """Its Python text; what it binds to names goes to `lines`."""
    parts = [shown(part, lines) for part in tree.parts]
    match tree.op:
        case "number":
            return repr(tree.leaf)
        case "element":
            return NAMES[tree.leaf]
        case "neg":
            return f"(-{parts[0]})"
        case "pos":
            return f"(+{parts[0]})"
        case "call":
            return f"same({parts[0]})"
        case "square":
            return f"({parts[0]}) ** 2"
        case "if":
            return f"({parts[0]} if a < b else {parts[1]})"
        case "name":
            lines.append(f"    t{len(lines)} = {parts[0]}\n")
            return f"t{len(lines) - 1}"
        case op:
            return f"({parts[0]} {op} {parts[1]})"


def known(tree: Tree) -> float | None:
    """Its value where it is a number that Python computes while translating."""
    if tree.op == "number":
        return float(tree.leaf)
    parts = [known(part) for part in tree.parts]
    if tree.op in ("element", "name", "if") or None in parts:
        return None
    match tree.op, parts:
        case "neg", [p]:
            return -p
        case "square", [p]:
            return p**2
        case "+", [p, q]:
            return p + q
        case "-", [p, q]:
            return p - q
        case "*", [p, q]:
            return p * q
        case _:
            return parts[0]


class Model:
    """Evaluates trees over f32 or f64 with exact fractions, rounded where the rule rounds."""

    def __init__(self, kind: type[np.floating[Any]], elements: list[Any]) -> None:
        self.kind, self.elements = kind, elements

    def value(self, tree: Tree) -> Any:
        number = known(tree)
        if number is not None:
            return self.kind(number)
        if tree.op == "element":
            return self.elements[tree.leaf]
        match tree.op:
            case "neg":
                return -self.value(tree.parts[0])
            case "pos" | "call" | "name":
                return self.value(tree.parts[0])
            case "square":
                base = self.value(tree.parts[0])
                return base * base
            case "if":
                return self.value(tree.parts[0 if self.elements[0] < self.elements[1] else 1])
            case "*":
                return self.value(tree.parts[0]) * self.value(tree.parts[1])
        left, right = tree.parts
        minus = tree.op == "-"
        if (found := self.product(left)) is not None:
            other = self.value(right)
            return self.fused(*found, -other if minus else other)
        if (found := self.product(right)) is not None:
            return self.fused(-found[0] if minus else found[0], found[1], self.value(left))
        p, q = self.value(left), self.value(right)
        return p - q if minus else p + q

    def product(self, tree: Tree) -> tuple[Any, Any] | None:
        sign = 1
        while tree.op in ("neg", "pos"):
            sign, tree = (-sign if tree.op == "neg" else sign), tree.parts[0]
        if tree.op != "*" or known(tree) is not None:
            return None
        p, q = (self.value(part) for part in tree.parts)
        return self.kind(sign) * p, q

    def fused(self, p: Any, q: Any, r: Any) -> Any:
        product = Fraction(float(p)) * Fraction(float(q))
        total = product + Fraction(float(r))
        if total:
            return rounded(total, self.kind)
        return self.kind(0.0) if product else p * q + r


def rounded(exact: Fraction, kind: type[np.floating[Any]]) -> Any:
    """The float nearest to an exact number, ties to even."""
    info = np.finfo(kind)
    digits, least = info.nmant + 1, int(info.minexp) - info.nmant
    size = abs(exact)
    power = size.numerator.bit_length() - size.denominator.bit_length() - digits - 1
    while size >= Fraction(2) ** (power + digits):
        power += 1
    unit = Fraction(2) ** max(power, least)
    return kind(float(round(size / unit) * unit) * (1 if exact > 0 else -1))


def check(
    written: Written, run: Run, trees: list[Tree], kind: type[np.floating[Any]], seed: int
) -> None:
    dtype = "f32" if kind is np.float32 else "f64"
    x = np.random.default_rng(seed).uniform(-2, 2, (len(NAMES), 6)).astype(kind)
    for tree in trees:
        lines: list[str] = []
        text = shown(tree, lines)
        source = kernel_text("".join(lines) + f"    out[i] = {text}\n", dtype)
        out = np.zeros(6, kind)
        run(written(source), shape=6, options={"fast_math": True}, x=x, out=out)

        expected = np.array([Model(kind, list(column)).value(tree) for column in x.T], kind)
        assert out.tobytes() == expected.tobytes(), text


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(12))
def test_generated_expressions_fuse_by_the_rule_to_the_bit(
    written: Written, run: Run, kind: type[np.floating[Any]], seed: int
):
    random = Random(seed)

    check(written, run, [drawn(random, random.randint(2, 5)) for _ in range(12)], kind, seed)


def element(position: int) -> Tree:
    return Tree("element", leaf=position % len(NAMES))


def product_of(count: int) -> Tree:
    tree = element(0)
    for position in range(1, count):
        tree = Tree("*", (tree, element(position)))
    return tree


@pytest.mark.parametrize("levels", [38, 39, 40, 41, 79, 80, 81])
def test_a_product_fuses_at_every_depth_of_an_expression(written: Written, run: Run, levels: int):
    signs = Tree("*", (element(0), Tree("+", (element(1), element(2)))))
    right = Tree("*", (element(2), element(3)))
    for position in range(levels):
        signs = Tree("neg", (signs,))
        right = Tree("+", (element(position), Tree("*", (element(1), right))))
    trees = [
        Tree("+", (product_of(levels), element(0))),
        Tree("-", (element(1), product_of(levels))),
        Tree("+", (signs, element(2))),
        right,
    ]

    check(written, run, trees, np.float32, levels)


def test_the_generator_writes_all_that_the_rule_speaks_of():
    random = Random(0)
    seen = {op for _ in range(200) for op in _ops(drawn(random, 4))}

    assert seen == {
        *("+", "-", "*", "neg", "pos", "call", "name", "if", "square", "number", "element")
    }


def _ops(tree: Tree) -> list[str]:
    return [tree.op, *(op for part in tree.parts for op in _ops(part))]


def _is_product(expr: Any) -> bool:
    return isinstance(expr, Binary) and expr.op is BinaryOp.MUL


def test_expressions_of_a_product_hold_it_once(written: Written, translate: Translate):
    program = translate(written(kernel_text("    out[i] = a*b + c\n")), fast_math=True).program
    (store,) = (node for node in statements(program.entry) if isinstance(node, Store))

    assert not any(_is_product(part) for part in expressions(store.value))


@pytest.mark.parametrize("word", ["no", 1, None])
def test_fast_math_is_said_by_true_or_false(word):
    def twice(x: In[f32], out: Out[f32]):
        i = vyre.gid()
        out[i] = x[i] * 2.0

    with pytest.raises(InvalidInput) as caught:
        vyre.kernel(fast_math=word)(twice)

    assert str(caught.value) == f"fast_math= of twice is {word!r}\nFix: pass True or False"
