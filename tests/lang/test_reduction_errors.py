"""What a reader is told of a reduction that is not one: each message whole, as it is printed."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vyre.errors import LanguageError

Written = Callable[..., Callable[..., None]]
Refusal = Callable[..., LanguageError]

HEAD = """\
@vyre.function
def bump(c, k):
    return vyre.atomic_add(c, k, 1)
@vyre.function
def put(c, k):
    c[k] = 1
    return 1
@vyre.function
def add(c, k):
    c[k] += 1
    return 1
@vyre.function
def wait(k):
    vyre.barrier()
    return k
def kernel(x: In[f32], b: In[u8], s: In[i16], y: In[f32, 2], z: In[f32, 3], q: In[f32, 4],
           n: In[i32], out: Out[f32], r: Out[u8], acc: InOut[u32], a: f32, m: u32, w: u64):
    i = vyre.gid()
"""
LINE = 1 + HEAD.count("\n")

EXAMPLE = "x[k] for k in range(len(x))"
OF_OPEN = "and comes to 32 or 64 bits"
IN_ANY_ORDER = "whose elements are computed in any order"
AS_A_LOOP = "write a for loop, or do it before or after this line"

MISUSES = {
    "a start of another type": (
        "out[i] = sum((x[k] for k in range(4)), m)",
        "sum((x[k] for k in range(4)), m)",
        "m is u32 and sum((x[k] for k in range(4)), m) is f32",
        "cast one side, for example f32(m)",
    ),
    "a start that is not by name": (
        "out[i] = math.prod((x[k] for k in range(4)), 2)",
        "2",
        "2 stands behind the elements of math.prod()",
        "write start=2",
    ),
    "two starts": (
        "out[i] = sum((x[k] for k in range(4)), a, start=2)",
        "2",
        "sum() has no further parameter 'start'",
        f"write sum({EXAMPLE})",
    ),
    "NumPy's axis": (
        "out[i] = np.sum((x[k] for k in range(4)), 0)",
        "0",
        "0 stands behind the elements of np.sum()",
        "remove it",
    ),
    "a default of another type": (
        "out[i] = min((x[k] for k in range(m)), default=m)",
        "m@2",
        "min((x[k] for k in range(m)), default=m) is f32 and m is u32",
        "cast one side, for example f32(m)",
    ),
    "a default of a place": (
        "j = vyre.argmin((x[k] for k in range(m)), default=7)",
        "7",
        "vyre.argmin() has no further parameter 'default'",
        f"write vyre.argmin({EXAMPLE})",
    ),
    "a key": (
        "out[i] = max((x[k] for k in range(4)), key=abs)",
        "abs",
        "max() compares its elements themselves, and takes no key",
        "write k = vyre.argmax(key(k) for k in range(n)), and use k",
    ),
    "a key of the least": (
        "out[i] = min((x[k] for k in range(4)), key=abs)",
        "abs",
        "min() compares its elements themselves, and takes no key",
        "write k = vyre.argmin(key(k) for k in range(n)), and use k",
    ),
    "a value behind the elements": (
        "out[i] = max((x[k] for k in range(4)), a)",
        "a",
        "a stands behind the elements of max()",
        "write max(a, max(...))",
    ),
    "a value behind elements that are bools": (
        "out[i] = any((x[k] > 0 for k in range(4)), a)",
        "a",
        "a stands behind the elements of any()",
        "remove it",
    ),
    "NumPy's parameters": (
        "out[i] = np.sum((x[k] for k in range(4)), axis=0)",
        "0",
        "np.sum() has no further parameter 'axis'",
        f"write np.sum({EXAMPLE})",
    ),
    "all of a dictionary": (
        "out[i] = sum((x[k] for k in range(4)), **y)",
        "y",
        "sum() has no further parameter '**'",
        f"write sum({EXAMPLE})",
    ),
    "two for clauses": (
        "out[i] = sum(y[j, k] for j in range(4) for k in range(3))",
        "k@2",
        "a second for in one sum()",
        "nest them: sum(sum(x[i, j] for j in range(n)) for i in range(m))",
    ),
    "two for clauses of a place": (
        "j = vyre.argmax(y[j, k] for j in range(4) for k in range(3))",
        "k@2",
        "a second for in one vyre.argmax()",
        "count in one: for p in range(m * n), with p // n and p % n for the two",
    ),
    "async for": (
        "out[i] = sum(x[k] async for k in range(4))",
        "k@2",
        "async for is not part of the kernel language",
        "write for k in range(...)",
    ),
    "a list comprehension": (
        "out[i] = sum([x[k] for k in range(4)])",
        "[x[k] for k in range(4)]",
        "sum() of a comprehension, which would be kept in memory",
        f"leave its brackets out: sum({EXAMPLE})",
    ),
    "a set comprehension": (
        "out[i] = max({x[k] for k in range(4)})",
        "{x[k] for k in range(4)}",
        "max() of a comprehension, which would be kept in memory",
        f"leave its brackets out: max({EXAMPLE})",
    ),
    "a tuple": (
        "out[i] = sum((x[0], x[1]))",
        "(x[0], x[1])",
        "sum() of a tuple",
        "write sum(v for v in (x[0], x[1])), or a + b of its values",
    ),
    "a list": (
        "out[i] = min([x[0], x[1]])",
        "[x[0], x[1]]",
        "min() of a list",
        "write min(v for v in [x[0], x[1]]), or min(a, b) of its values",
    ),
    "an array": (
        "out[i] = sum(x)",
        "x",
        "sum() of x, which is a whole array",
        f"say which elements: sum({EXAMPLE})",
    ),
    "an array of two axes": (
        "out[i] = max(y)",
        "y",
        "max() of y, which is a whole array",
        "say which elements: max(max(y[j, k] for k in range(y.shape[1])) for j in "
        "range(y.shape[0]))",
    ),
    "an array of three axes": (
        "j = vyre.argmin(z)",
        "z",
        "vyre.argmin() of z, which is a whole array",
        "say which elements: vyre.argmin(z[i, j, k] for k in range(z.shape[2]))",
    ),
    "an array of four axes": (
        "out[i] = max(q)",
        "q",
        "max() of q, which is a whole array",
        "say which elements: max(max(max(max(q[h, i, j, k] for k in range(q.shape[3])) for j in "
        "range(q.shape[2])) for i in range(q.shape[1])) for h in range(q.shape[0]))",
    ),
    "a method": (
        "out[i] = x.sum()",
        "x.sum()",
        "arrays have no methods in a kernel, such as 'sum'",
        f"say which elements: sum({EXAMPLE})",
    ),
    "a method that Python has no function for": (
        "j = y.argmin()",
        "y.argmin()",
        "arrays have no methods in a kernel, such as 'argmin'",
        "say which elements: vyre.argmin(y[j, k] for k in range(y.shape[1]))",
    ),
    "a method of two values": (
        "out[i] = x.max()",
        "x.max()",
        "arrays have no methods in a kernel, such as 'max'",
        f"say which elements: max({EXAMPLE})",
    ),
    "a slice": (
        "out[i] = sum(x[1:m])",
        "x[1:m]",
        "sum() of x[1:m], which is a part of an array",
        "say which elements: sum(x[k] for k in range(1, min(m, len(x))))",
    ),
    "a slice without ends": (
        "out[i] = sum(x[:])",
        "x[:]",
        "sum() of x[:], which is a part of an array",
        f"say which elements: sum({EXAMPLE})",
    ),
    "a row": (
        "out[i] = sum(y[i, :])",
        "y[i, :]",
        "sum() of y[i, :], which is a part of an array",
        "say which elements: sum(y[i, k] for k in range(y.shape[1]))",
    ),
    "a range": (
        "out[i] = sum(range(4))",
        "range(4)",
        "sum() takes a generator, and range(4) is not one",
        "write sum(k for k in range(4))",
    ),
    "one value": (
        "out[i] = sum(x[i])",
        "x[i]",
        "sum() takes a generator, and x[i] is not one",
        f"write sum({EXAMPLE})",
    ),
    "a starred value": (
        "out[i] = sum(*x)",
        "*x",
        "sum() takes a generator, and *x is not one",
        f"write sum({EXAMPLE})",
    ),
    "nothing": (
        "out[i] = sum()",
        "sum()",
        "sum() of nothing",
        f"write sum({EXAMPLE})",
    ),
    "a generator over an array": (
        "out[i] = sum(v for v in x)",
        "x",
        "a generator runs over range() or a tuple, and x is neither",
        "write for k in range(len(x)), and x[k]",
    ),
    "a generator over several arrays": (
        "out[i] = sum(v * u for v, u in zip(x, n))",
        "x",
        "a generator runs over range() or a tuple, and x is neither",
        "write for k in range(len(x)), and x[k]",
    ),
    "a generator over numbered elements": (
        "out[i] = sum(v for j, v in enumerate(x))",
        "x",
        "a generator runs over range() or a tuple, and x is neither",
        "write for k in range(len(x)), and x[k]",
    ),
    "a generator over a row": (
        "out[i] = sum(v for v in y[k, :])",
        "y[k, :]",
        "a generator runs over range() or a tuple, and y[k, :] is neither",
        "write for j in range(y.shape[1]), and y[k, j]",
    ),
    "a generator over an array of two axes": (
        "out[i] = sum(v for v in y)",
        "y",
        "a generator runs over range() or a tuple, and y is neither",
        "write for k in range(y.shape[1]), in one for j in range(y.shape[0]), and y[j, k]",
    ),
    "a generator over a number": (
        "out[i] = sum(v for v in m + 1)",
        "m + 1",
        "a generator runs over range() or a tuple, and m + 1 is neither",
        "write for k in range(m + 1)",
    ),
    "a generator over a set": (
        "out[i] = sum(v for v in {1.0, 2.0})",
        "{1.0, 2.0}",
        "a generator runs over range() or a tuple, and {1.0, 2.0} is neither",
        "make a tuple of it outside the kernel, VALUES = (...), and write for v in VALUES",
    ),
    "a generator over two tuples": (
        "out[i] = sum(v for v in (1.0, 2.0) * 3)",
        "(1.0, 2.0) * 3",
        "a generator runs over range() or a tuple, and (1.0, 2.0) * 3 is neither",
        "make a tuple of it outside the kernel, VALUES = (...), and write for v in VALUES",
    ),
    "a generator over a number of elements": (
        "out[i] = sum(x[k] for k in len(x))",
        "len(x)",
        "a generator runs over range() or a tuple, and len(x) is neither",
        "write for k in range(len(x))",
    ),
    "a generator over what is made of a tuple": (
        "out[i] = sum(v for v in sorted((1.0, 2.0)))",
        "sorted((1.0, 2.0))",
        "a generator runs over range() or a tuple, and sorted((1.0, 2.0)) is neither",
        "make a tuple of it outside the kernel, VALUES = (...), and write for v in VALUES",
    ),
    "a shape": (
        "m_ = math.prod(y.shape)",
        "y.shape",
        "math.prod() takes a generator, and y.shape is not one",
        "write math.prod(n for n in y.shape)",
    ),
    "all of a tuple of conditions": (
        "r[i] = u8(all((a > 0, a < 1)))",
        "(a > 0, a < 1)",
        "all() of a tuple",
        "write all(v for v in (a > 0, a < 1)), or a and b of its values",
    ),
    "any of a list of numbers": (
        "r[i] = u8(any([n[0], n[1]]))",
        "[n[0], n[1]]",
        "any() of a list",
        "write any(v != 0 for v in [n[0], n[1]]), or a or b of its values",
    ),
    "a key beside a default": (
        "out[i] = min((x[k] for k in range(4)), default=1, key=abs)",
        "abs",
        "min() compares its elements themselves, and takes no key",
        "write k = vyre.argmin(key(k) for k in range(n)), and use k",
    ),
    "a shifted number of a tuple for a float": (
        "out[i] = sum(a * (1 << v) for v in (2, 5, 3))",
        "1 << v",
        "a is f32 and 1 << v is i32",
        "cast one side, for example f32(1 << v)",
    ),
    "bits of a number of a tuple for a float": (
        "out[i] = sum(vyre.popcount(v) for v in (2, 5, 3))",
        "vyre.popcount(v)",
        "sum() is f32 and vyre.popcount(v) is i32",
        "cast one side, for example f32(vyre.popcount(v))",
    ),
    "a root of a shifted number": (
        "out[i] = sum(vyre.sqrt(~v) for v in (2, 5, 3))",
        "~v",
        "sqrt() takes a float, and ~v is i32",
        "cast it, for example f32(~v)",
    ),
    "a number of a tuple that no default holds": (
        "out[i] = sum(x[v] for v in (5000000000, 1))",
        "v",
        "v may be 5000000000, and is i32 by default",
        "cast it, for example i64(v)",
    ),
    "two names for a range": (
        "out[i] = sum(x[j] for j, v in range(4))",
        "j, v",
        "a generator counts with one name, and j, v is not one",
        "write for k in range(...), and compute the others from k",
    ),
    "two names for one number": (
        "out[i] = sum(a * v for j, v in (1, 2))",
        "(1, 2)",
        "(1, 2) is one value for 2 names",
        "write as many values as names: a, b = x, y",
    ),
    "one name for two numbers": (
        "out[i] = sum(a * v for v in ((1, 2), (3, 4)))",
        "v@2",
        "v is one name for 2 values",
        "write a name for each value: a, b = x, y",
    ),
    "an element for the numbers of a tuple": (
        "out[i] = sum(x[0] for acc[0], j in ((1, 2), (3, 4)))",
        "acc[0]",
        "acc[0] is not a name that a generator can give values to",
        "write for v in ... or for a, b in ...",
    ),
    "a starred name": (
        "out[i] = sum(a * j for j, *v in ((1, 2), (3, 4)))",
        "*v",
        "*v is not a name that a generator can give values to",
        "write for v in ... or for a, b in ...",
    ),
    "rounds of several forms": (
        "out[i] = sum(a for v in (1, (2, 3)))",
        "(1, (2, 3))",
        "(1, (2, 3)) holds one value in one place and 2 values in another",
        "give each round as many values",
    ),
    "bools among numbers": (
        "out[i] = sum(a for v in (1, True))",
        "(1, True)",
        "(1, True) mixes bools and numbers",
        "write 0 and 1, or True and False, throughout",
    ),
    "values of several types": (
        "out[i] = sum(v for v in (x[0], m))",
        "m",
        "x[0] is f32 and m is u32",
        "cast one side, for example f32(m)",
    ),
    "a number that the other side does not have": (
        "out[i] = max(x[i + d] for d in (-1, 0, 1))",
        "d",
        "i is u32 and d is i32",
        "cast one side, for example i32(i)",
    ),
    "a place among values": (
        "j = vyre.argmin(abs(v - a) for v in (1.0, 2.0))",
        "(1.0, 2.0)",
        "vyre.argmin() gives the k of for k in range(), and this runs over other values",
        "name the values outside the kernel, VALUES = (...), and write for k in "
        "range(len(VALUES)), with VALUES[k] for the value",
    ),
    "an element of an array": (
        "out[i] = sum(x[0] for acc[0] in range(3))",
        "acc[0]",
        "a generator counts with one name, and acc[0] is not one",
        "write for k in range(...), and compute the others from k",
    ),
    "a walrus": (
        "out[i] = sum((q := x[k]) * q for k in range(4))",
        "q := x[k]",
        "an assignment inside sum() is not part of the kernel language",
        "compute the element in a function under @vyre.function, and call that",
    ),
    "an atomic": (
        "m_ = sum(vyre.atomic_add(acc, k, 1) for k in range(4))",
        "vyre.atomic_add(acc, k, 1)",
        f"vyre.atomic_add() inside sum(), {IN_ANY_ORDER}",
        AS_A_LOOP,
    ),
    "an atomic in a condition": (
        "out[i] = max(x[k] for k in range(4) if vyre.atomic_add(acc, k, 1) > 0)",
        "vyre.atomic_add(acc, k, 1)",
        f"vyre.atomic_add() inside max(), {IN_ANY_ORDER}",
        AS_A_LOOP,
    ),
    "narrow elements": (
        "m_ = sum(b[k] for k in range(4))",
        "b[k]",
        "sum() takes numbers of 32 or 64 bits, and b[k] is u8",
        "cast it, for example u32(b[k])",
    ),
    "narrow signed elements": (
        "m_ = vyre.argmin(s[k] for k in range(4))",
        "s[k]",
        "vyre.argmin() takes numbers of 32 or 64 bits, and s[k] is i16",
        "cast it, for example i32(s[k])",
    ),
    "a count that would be narrow": (
        "r[i] = sum(1 for k in range(m))",
        "sum(1 for k in range(m))",
        f"sum() would be u8 as r[i] is, {OF_OPEN}",
        "write u8(sum(1 for k in range(m))) to keep the low 8 bits",
    ),
    "a count that meets a narrow number": (
        "m_ = s[i] + sum(1 for k in range(m))",
        "sum(1 for k in range(m))",
        f"sum() would be i16 as s[i] is, {OF_OPEN}",
        "write i32(s[i])",
    ),
    "a product of bools": (
        "m_ = vyre.prod(x[k] > 0 for k in range(4))",
        "x[k] > 0",
        "vyre.prod() takes a number, and x[k] > 0 is bool",
        "cast it, for example i32(x[k] > 0)",
    ),
    "any of numbers": (
        "out[i] = 1.0 if any(x[k] for k in range(4)) else 0.0",
        "x[k]",
        "x[k] is f32, and a condition is true or false",
        "compare it, for example x[k] != 0",
    ),
    "a condition that is a number": (
        "out[i] = sum(x[k] for k in range(4) if n[k])",
        "n[k]",
        "n[k] is i32, and a condition is true or false",
        "compare it, for example n[k] != 0",
    ),
    "a count for a float": (
        "out[i] = sum(x[k] > 0 for k in range(4))",
        "sum(x[k] > 0 for k in range(4))",
        "out[i] is f32 and sum(x[k] > 0 for k in range(4)) is u32",
        "cast one side, for example f32(sum(x[k] > 0 for k in range(4)))",
    ),
    "whole numbers for a float": (
        "out[i] = sum(j for j in range(4))",
        "j",
        "sum() is f32 and j is i32",
        "cast one side, for example f32(j)",
    ),
    "mixed elements": (
        "out[i] = sum(x[k] + n[k] for k in range(3))",
        "n[k]",
        "x[k] is f32 and n[k] is i32",
        "cast one side, for example f32(n[k])",
    ),
    "a step of 0": (
        "out[i] = sum(x[k] for k in range(0, 4, 0))",
        "0@2",
        "the step 0 is not a constant other than 0",
        "write a number, or count with while",
    ),
    "bounds that are floats": (
        "out[i] = sum(x[k] for k in range(a))",
        "a",
        "range() takes a whole number, and a is f32",
        "cast it, for example i32(a)",
    ),
    "a variable after its generator": (
        "out[i] = sum(x[k] for k in range(4)) + k",
        "k@3",
        "no name 'k' here",
        "give 'k' a value before this line, or make it a parameter",
    ),
    "too many rounds": (
        "out[i] = sum(f32(w + k) for k in range(2**33))",
        "range(2**33)",
        "8,589,934,592 rounds of sum(); 4,294,967,295 allowed",
        "split the range",
    ),
    "a bound that no default holds": (
        "out[i] = sum(a for k in range(5000000000))",
        "5000000000",
        "5000000000 does not fit i32, which k is by default",
        "cast it, for example i64(5000000000)",
    ),
    "an element that no default holds": (
        "m_ = sum(5000000000 for k in range(3))",
        "5000000000",
        "5000000000 does not fit i32, which sum() is by default",
        "cast it, for example i64(5000000000)",
    ),
    "a bound that wraps": (
        "out[i] = sum(x[k] for k in range(i - 2))",
        "i - 2",
        "i - 2 wraps around below 0, as it is u32, and range() takes it for a large number",
        "compute it in a signed type, for example i32(i) - 2, or write vyre.wrap_sub(i, 2) if it "
        "is meant to wrap",
    ),
    "a start that wraps": (
        "out[i] = sum(x[k] for k in range(i - 2, i + 3))",
        "i - 2",
        "i - 2 wraps around below 0, as it is u32, and range() takes it for a large number",
        "compute it in a signed type, for example i32(i) - 2, or write vyre.wrap_sub(i, 2) if it "
        "is meant to wrap",
    ),
    "an element that wraps": (
        "out[i] = sum(f32(k - 1) for k in range(m))",
        "f32(k - 1)",
        "k - 1 wraps around below 0, as it is u32, and f32() takes it for a large number",
        "compute it in a signed type, for example i32(k) - 1, or write vyre.wrap_sub(k, 1) if it "
        "is meant to wrap",
    ),
    "a value that is not used": (
        "sum(x[k] for k in range(4))",
        "sum(x[k] for k in range(4))",
        "the value of sum(x[k] for k in range(4)) is not used",
        "assign it to a name or an element, or remove the line",
    ),
    "a generator of its own": (
        "m_ = (x[k] for k in range(3))",
        "(x[k] for k in range(3))",
        "a generator outside a reduction is not part of the kernel language",
        "write sum() of it, or min, max, any, all, vyre.prod, vyre.argmin or vyre.argmax",
    ),
    "NumPy's least": (
        "out[i] = np.min(x[k] for k in range(3))",
        "np.min(x[k] for k in range(3))",
        "np.min() hands NaN on, and min() ignores it",
        "write min(...)",
    ),
    "NumPy's place": (
        "m_ = np.argmax(x[k] for k in range(3))",
        "np.argmax(x[k] for k in range(3))",
        "np.argmax() hands NaN on, and vyre.argmax() ignores it",
        "write vyre.argmax(...)",
    ),
    "a name that hides an array": (
        "out[i] = sum(x[k] for x in range(4))",
        "x[k]",
        "x is a number, not an array",
        "index an array parameter",
    ),
}


@pytest.fixture
def told(written: Written, refusal: Refusal) -> Callable[[str], str]:
    def told(line: str) -> str:
        kernel = written(f"{HEAD}    {line}\n", math=math, np=np)
        return str(refusal(kernel, workgroup=64))

    return told


@pytest.mark.parametrize("misuse", MISUSES)
def test_a_misuse_is_named_with_a_way_out(told: Callable[[str], str], misuse: str):
    line, at, problem, fix = MISUSES[misuse]
    part, _, turn = at.partition("@")

    assert told(line) == (
        f"<cell 0>:{LINE}: {problem}\n"
        f"    {line}\n"
        f"    {' ' * _column(line, part, int(turn or 1))}{'^' * len(part)}\n"
        f"Fix: {fix}"
    )


def _column(line: str, part: str, turn: int) -> int:
    """Where a part stands on its own behind the first bracket, for the so-manieth time."""
    column = -1 if line.startswith(part) else line.index(" ")
    for _ in range(turn):
        column = line.index(part, column + 1)
        while part.isalnum() and _is_inside_a_word(line, part, column):
            column = line.index(part, column + 1)
    return column


def _is_inside_a_word(line: str, part: str, column: int) -> bool:
    around = f" {line} "[column], f" {line} "[column + len(part) + 1]
    return any(one.isalnum() or one in "_." for one in around)


@pytest.mark.parametrize("call", ["sum", "max", "any", "all", "vyre.argmin"])
@pytest.mark.parametrize(
    "part",
    ["x", "x[:]", "x[1:]", "x[:3]", "x[:99]", "x[m:5]", "x[-3:]", "x[:-2]", "x[-99:-1]", "x[::2]",
     "x[1:5:3]", "x[::-1]", "b", "b[1:]", "s[:4]", "y[i]", "y[i, :]", "y[:, i]", "y[k - 1, 1:]",
     "y[i, ::-1]", "y[i + m, :2]", "y", "z[i]", "z[i, m]", "z[:, i, m]", "z[i, :, -2:]", "q[0]",
     "q[0, i, :, m]", "q[i, m, 0]", "q", "ROW", "ROW[1:]", "ROWS", "ROWS[i]", "ROWS[1]",
     "GRID", "GRID[i]", "GRID[:, 2]", "t", "t[1:]", "r2[1]", "r2[:, 1]", "r2"],
)  # fmt: skip  # as many on a line as fit
def test_the_way_out_of_a_part_is_what_python_makes_of_it(
    run: Callable[..., None], written: Written, refusal: Refusal, call: str, part: str
):
    head = (
        "def kernel(x: In[f32], b: In[u8], s: In[i16], y: In[f32, 2], z: In[f32, 3],\n"
        "           q: In[f32, 4], out: Out[f64], m: u32):\n"
        "    i, k = u32(0), u32(1)\n"
        "    t = vyre.local(f32, 4)\n"
        "    r2 = vyre.local(i32, (2, 3))\n"
        "    for n in range(6):\n"
        "        t[n] = f32(n) - 2\n"
        "        r2[n // 3, n % 3] = n * n - 4\n"
    )
    tables = {"ROW": (4, 0, 7), "ROWS": ((1, 2, 3), (-4, 5, 0)), "GRID": np.eye(4, dtype="i4")}
    told = str(refusal(written(f"{head}    out[0] = f64({call}({part}))\n", **tables)))
    way, whole = told.partition("Fix: say which elements: ")[2], _part(part, tables)
    out = np.zeros(1)
    if call != "vyre.argmin":
        run(written(f"{head}    out[0] = f64({way})\n", **tables), out=out, m=1, **_ARRAYS)
        assert out[0] == {"sum": np.sum, "max": np.max, "any": np.any, "all": np.all}[call](whole)
    elif whole.ndim == 1:  # of several axes the others are its reader's to name
        run(written(f"{head}    out[0] = f64({way})\n", **tables), out=out, m=1, **_ARRAYS)
        assert out[0] in range(6)


_ARRAYS = {
    "x": np.float32([3, -1, 4, -1.5, 5, 9]),
    "b": np.uint8([3, 200, 100]),
    "s": np.int16([-3, 300, 7, 0, 5]),
    **{
        name: np.random.default_rng(rank).integers(-9, 9, (5, 3, 4, 2)[:rank]).astype(np.float32)
        for name, rank in (("y", 2), ("z", 3), ("q", 4))
    },
}


def _part(part: str, tables: dict[str, object]) -> np.ndarray[Any, Any]:
    names = {
        **_ARRAYS,
        **{name: np.array(table) for name, table in tables.items()},
        "t": np.arange(4) - 2,
        "r2": np.array([n * n - 4 for n in range(6)]).reshape(2, 3),
        "i": 0,
        "k": 1,
        "m": 1,
    }
    return eval(part, names)  # type: ignore[no-any-return]  # noqa: S307  # the test's own text


@pytest.mark.parametrize(
    ("call", "number", "line", "part", "what"),
    [
        ("bump(acc, k)", 3, "return vyre.atomic_add(c, k, 1)", 7, "vyre.atomic_add()"),
        ("put(acc, k)", 6, "c[k] = 1", 0, "a store"),
        ("add(acc, k)", 10, "c[k] += 1", 0, "a store"),
        ("wait(k)", 14, "vyre.barrier()", 0, "vyre.barrier()"),
    ],
)
def test_an_effect_of_a_function_is_named_where_it_is(
    told: Callable[[str], str], call: str, number: int, line: str, part: int, what: str
):
    width = 4 if what == "a store" and "+" not in line else len(line) - part

    assert told(f"m_ = sum({call} for k in range(4))") == (
        f"<cell 0>:{number}: {what} inside sum(), {IN_ANY_ORDER}\n"
        f"    {line}\n"
        f"    {' ' * part}{'^' * width}\n"
        f"    called from <cell 0>:{LINE}\n"
        f"Fix: {AS_A_LOOP}"
    )


def test_a_part_that_is_long_is_not_repeated(told: Callable[[str], str]):
    long = "x[k] * x[k] + x[k] * x[k] + x[k] * x[k] + x[k]"

    assert told(f"r[i] = sum(1 for k in range(len(x)) if {long} > 0)").endswith(
        "Fix: write u8(...) to keep the low 8 bits"
    )
    assert told(f"out[i] = max((x[k] for k in range(4)), {long.replace('k', '0')})").endswith(
        "Fix: write max(..., max(...))"
    )
    assert told("out[i] = sum(range(m * m * m * m * m * m * m * m * m * m * m))").endswith(
        "Fix: write sum(k for k in range(...))"
    )
    assert told(
        "m_ = sum(b[k + k + k + k + k + k + k + k + k + k + k] for k in range(9))"
    ).endswith("Fix: cast it, for example u32(...)")
