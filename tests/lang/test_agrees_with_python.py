"""The law of the language: a kernel computes what Python computes from the same text."""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

LIMIT = 1000  # values stay this small, so that Python's integers and the kernel's agree
NAMES = ("a", "b", "c", "d")
FUNCTIONS = """
@vyre.function
def nearer(p, q):
    if p == q:
        return 0
    if abs(p) < abs(q):
        p = p - 1
        return p
    elif p > 100:
        for step in range(3):
            p -= step
    else:
        q += 1
    return min(p, q)

@vyre.function
def twice(p):
    return 2 * nearer(p, 3)

"""


class Writer:
    """Writes kernels at random: well-formed Python whose variables always have a value."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lines: list[str] = []
        self.loops = 0
        self.generators = 0

    def kernel(self) -> str:
        self.lines = [FUNCTIONS + "def kernel(x: In[i64], out: InOut[i64]):"]
        known = ["a", "b"]
        self.line(1, "a = x[0]")
        self.line(1, f"b = {self.random.randint(-5, 5)}")
        self.block(1, known, depth=0, in_loop=False)
        for position, name in enumerate(known):
            self.line(1, f"out[{position}] = {name}")
        return "\n".join(self.lines) + "\n"

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def atom(self, known: list[str]) -> str:
        kind = self.random.random()
        if kind < 0.6:
            return self.random.choice(known)
        if kind < 0.8:
            return f"x[{self.random.randint(0, 3)}]"
        return str(self.random.randint(-9, 9))

    def expression(self, known: list[str], depth: int = 0) -> str:
        choice = self.random.randrange(13)
        if depth > 1 or choice < 2:
            return self.atom(known)
        left, right = self.expression(known, depth + 1), self.expression(known, depth + 1)
        match choice:
            case 2:
                return f"({left} // {self.random.choice((2, 3, -3, 7))})"
            case 3:
                return f"({left} % {self.random.choice((2, 5, -4))})"
            case 4:
                return f"({left} if {self.condition(known, depth + 1)} else {right})"
            case 5:
                return f"{self.random.choice(('min', 'max'))}({left}, {right})"
            case 6:
                return f"-abs({left})"
            case 9:
                return f"nearer({left}, {right})"
            case 10:
                return f"twice({left})"
            case 11:
                return self.reduction(known, depth + 1)
            case 12:
                least, most = self.random.choice(("min", "max")), self.random.randint(-2, 4)
                inner, over = self.generator(known, f"range(-3, {most}, 2)")
                return f"{least}({self.expression(inner, depth + 1)} for {over})"
            case 7:
                return f"(({left}) % 10) ** {self.random.randint(0, 4)}"
            case _:
                return f"({left} {self.random.choice('+-*')} {right})"

    def generator(self, known: list[str], over: str) -> tuple[list[str], str]:
        """The names that an element sees, and what counts; a name may hide one around it."""
        self.generators += 1
        name = self.random.choice((f"g{self.generators}", f"g{self.generators}", "a", "k1", "x_"))
        return [*(one for one in known if one != name), name], f"{name} in {over}"

    def reduction(self, known: list[str], depth: int) -> str:
        start, stop = self.random.randint(-4, 4), self.random.randint(-4, 40)
        first = self.random.choice((str(start), f"{self.random.choice(known)} % 5 - {abs(start)}"))
        last = self.random.choice((str(stop), f"{self.random.choice(known)} % 70 - {abs(stop)}"))
        step = self.random.choice((1, 1, 2, 3, -1, -2))
        inner, over = self.generator(known, f"range({first}, {last}, {step})")
        tests = [f" if {self.condition(inner, 2)}" for _ in range(self.random.randint(0, 2))]
        return f"sum({self.expression(inner, depth)} for {over}{''.join(tests)})"

    def condition(self, known: list[str], depth: int = 0) -> str:
        if depth < 2 and self.random.random() < 0.15:
            inner, over = self.generator(known, f"range({self.random.randint(-1, 40)})")
            word = self.random.choice(("any", "all"))
            return f"{word}({self.condition(inner, 2)} for {over})"
        left, right = self.expression(known, depth + 1), self.expression(known, depth + 1)
        sign = self.random.choice(("<", "<=", "==", "!=", ">", ">="))
        test = f"{left} {sign} {right}"
        match self.random.randrange(5):
            case 0 if depth < 2:
                word = self.random.choice(("and", "or"))
                return f"({test} {word} {self.condition(known, depth + 1)})"
            case 1:
                return f"(not {test})"
            case 2:
                return f"({self.expression(known, depth + 1)} < {test})"
            case _:
                return f"({test})"

    def assign(self, indent: int, known: list[str], name: str) -> None:
        self.line(indent, f"{name} = ({self.expression(known)}) % {LIMIT} - {LIMIT // 2}")
        if name not in known:
            known.append(name)

    def block(self, indent: int, known: list[str], depth: int, in_loop: bool) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(indent, known, depth, in_loop)

    def statement(self, indent: int, known: list[str], depth: int, in_loop: bool) -> None:
        choice = self.random.randrange(8) if depth < 3 else 0
        match choice:
            case 2:
                first, second = self.random.sample(["a", "b"], 2)
                self.line(indent, f"{first}, {second} = {second}, ({first} + {second}) % {LIMIT}")
            case 3 | 4:
                self.branches(indent, known, depth, in_loop)
            case 5:
                self.counted(indent, known, depth)
            case 6:
                self.waiting(indent, known, depth)
            case 7:
                name = self.random.choice(["a", "b"])
                self.line(indent, f"{name} += {self.atom(known)}")
                self.line(indent, f"{name} %= {LIMIT}")
            case _:
                self.assign(indent, known, self.random.choice(NAMES))

    def branches(self, indent: int, known: list[str], depth: int, in_loop: bool) -> None:
        ends = []
        words = ["if"] + ["elif"] * self.random.randint(0, 1) + ["else"] * self.random.randint(0, 1)
        for word in words:
            test = "" if word == "else" else f" {self.condition(known)}"
            self.line(indent, f"{word}{test}:")
            inner = list(known)
            self.block(indent + 1, inner, depth + 1, in_loop)
            leaves = in_loop and self.random.random() < 0.3
            if leaves:
                self.line(indent + 1, self.random.choice(("break", "continue")))
            else:
                ends.append(inner)
        if words[-1] == "else" and ends:
            known += [n for n in NAMES if n not in known and all(n in end for end in ends)]

    def counted(self, indent: int, known: list[str], depth: int) -> None:
        self.loops += 1
        name = f"k{self.loops}"
        step = self.random.choice((1, 1, 2, 3, -1, -2))
        start, stop = self.random.randint(-4, 4), self.random.randint(-4, 6)
        first = self.random.choice((str(start), f"a % 5 - {abs(start)}"))
        last = self.random.choice((str(stop), f"b % 7 - {abs(stop)}"))
        self.line(indent, f"for {name} in range({first}, {last}, {step}):")
        inner = [*known, name]
        if self.random.random() < 0.3:
            self.line(indent + 1, f"{name} = {name} * 2 + 1")
        self.block(indent + 1, inner, depth + 1, in_loop=True)

    def waiting(self, indent: int, known: list[str], depth: int) -> None:
        self.loops += 1
        name = f"w{self.loops}"
        self.line(indent, f"{name} = 0")
        test = self.random.choice(
            (f"{name} < 5", "True", f"{name} < 5 and {self.condition(known)}")
        )
        self.line(indent, f"while {test}:")
        self.line(indent + 1, f"{name} += 1")
        self.line(indent + 1, f"if {name} > 6:")
        self.line(indent + 2, "break")
        self.block(indent + 1, [*known, name], depth + 1, in_loop=True)


@pytest.mark.parametrize("seed", range(150))
def test_a_kernel_computes_what_python_computes(
    seed: int, written: Callable[..., Callable[..., None]], run: Callable[..., None]
):
    kernel = written(Writer(seed).kernel())
    random = Random(seed)
    for _ in range(3):
        x = [random.randint(-20, 20) for _ in range(4)]
        expected = [0] * 8
        kernel(x, expected)
        out = np.zeros(8, np.int64)

        run(kernel, x=np.array(x), out=out)

        assert out.tolist() == expected
