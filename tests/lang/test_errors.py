"""What a reader is told: each message whole, as it is printed."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from vyre import lang
from vyre.errors import LanguageError
from vyre.ir import DataType

Written = Callable[..., Callable[..., None]]
Refusal = Callable[..., LanguageError]

HEAD = """\
def kernel(x: In[f32], n: In[i32], out: Out[f32], acc: InOut[u32], a: f32, m: u32):
    i = vyre.gid()
"""


def plain(v: float) -> float:
    return v


@pytest.fixture
def told(written: Written, refusal: Refusal) -> Callable[..., str]:
    """The message for a kernel whose lines from the third on are the given ones."""

    def told(lines: str, **options: object) -> str:
        body = "".join(f"    {line}\n" for line in lines.splitlines())
        names = {
            "math": math,
            "np": np,
            "ARRAY": np.zeros(3),
            "plain": plain,
            "TEXT": "a",
            "NONE": 0,
            "SETTINGS": {"steps": 3},
        }
        return str(refusal(written(HEAD + body, **names), **options))

    return told


def test_a_wrong_type_names_both_sides(told: Callable[..., str]):
    assert told("out[i] = x[i] + n[i]") == (
        "<cell 0>:3: x[i] is f32 and n[i] is i32\n"
        "    out[i] = x[i] + n[i]\n"
        "                    ^^^^\n"
        "Fix: cast one side, for example f32(n[i])"
    )


def test_an_undeclared_name_gets_a_suggestion(told: Callable[..., str]):
    assert told("total = x[i]\nout[i] = totl") == (
        "<cell 0>:4: no name 'totl' here\n"
        "    out[i] = totl\n"
        "             ^^^^\n"
        "Fix: write 'total', or give 'totl' a value before this line, or make it a parameter"
    )


def test_a_missing_annotation_is_asked_for(written: Written, refusal: Refusal):
    kernel = written("def kernel(x, out: Out[f32]):\n    out[0] = x[0]\n")

    assert str(refusal(kernel)) == (
        "<cell 0>:1: parameter 'x' has no type\n"
        "    def kernel(x, out: Out[f32]):\n"
        "               ^\n"
        "Fix: write x: In[f32], x: Out[f32] or x: f32"
    )


def test_an_unsupported_feature_is_named(told: Callable[..., str]):
    assert told("out[i] = sorted(x)") == (
        "<cell 0>:3: sorted() is a built-in that has no meaning in a kernel\n"
        "    out[i] = sorted(x)\n"
        "             ^^^^^^^^^\n"
        "Fix: use a function of vyre, or one under @vyre.function"
    )


def test_a_returned_value_is_pointed_to_an_out(told: Callable[..., str]):
    assert told("return x[i] * 2") == (
        "<cell 0>:3: a kernel returns no value\n"
        "    return x[i] * 2\n"
        "    ^^^^^^^^^^^^^^^\n"
        "Fix: store it in an Out parameter, for example out[i] = ..."
    )


def test_an_error_in_a_function_says_who_called_it(written: Written, refusal: Refusal):
    kernel = written(
        "@vyre.function\n"
        "def add(p, q):\n"
        "    return p + q\n"
        "def kernel(x: In[f32], n: In[i32], out: Out[f32]):\n"
        "    out[0] = add(x[0], n[0])\n"
    )

    assert str(refusal(kernel)) == (
        "<cell 0>:3: p is f32 and q is i32\n"
        "    return p + q\n"
        "               ^\n"
        "    called from <cell 0>:5\n"
        "Fix: cast one side, for example f32(q)"
    )


def test_the_caret_counts_characters_not_bytes(told: Callable[..., str]):
    assert told("größe = x[i]; out[i] = größe + m") == (
        "<cell 0>:3: größe is f32 and m is u32\n"
        "    größe = x[i]; out[i] = größe + m\n"
        "                                   ^\n"
        "Fix: cast one side, for example f32(m)"
    )


@pytest.mark.parametrize(
    ("lines", "problem", "fix"),
    [
        # Types
        ("out[i] = n[i]", "out[i] is f32 and n[i] is i32", "cast one side, for example f32(n[i])"),
        ("b = m + a", "m is u32 and a is f32", "cast one side, for example f32(m)"),
        ("i += a", "i is u32 and a is f32", "cast one side, for example u32(a)"),
        (
            "b = m + 1.5",
            "m is u32, which has no value 1.5",
            "use a whole number from 0 to 4294967295, or cast, for example f32(m)",
        ),
        (
            "b = u8(m) + 300",
            "u8(m) is u8, which has no value 300",
            "use a whole number from 0 to 255, or cast, for example i64(u8(m))",
        ),
        (
            "acc[0] = -1",
            "acc[0] is u32, which has no value -1",
            "use a whole number from 0 to 4294967295",
        ),
        (
            "b = a + 16777217",
            "a is f32, which has no value 16777217",
            "write f32(16777217) to have it rounded",
        ),
        (
            "b = a + 10**400",
            f"a is f32, which has no value {10**400}",
            "write f32(10**400) to have it rounded",
        ),
        ("b = a > 0\nb = 1", "b is bool and 1 is i32", "compare it, for example 1 != 0"),
        (
            "for k in range(4):\n    out[i] = k * 0.5",
            "0.5 is f32 and k is i32",
            "cast one side, for example f32(k)",
        ),
        (
            "s = 0\ns += x[i]\nout[i] = s + m",
            "s is f32 and m is u32",
            "cast one side, for example f32(m)",
        ),
        ("out[i]: f32 = 1", "only a name takes a type", "write out[i] = ..."),
        (
            "a.real += 1",
            "this changes neither a name nor an element",
            "write out[i] += x",
        ),
        (
            "if a > 0:\n    t = 1\nelse:\n    out[i] = t\n    t = 2\nout[i] = t",
            "'t' has no value yet",
            "give t a value before this line",
        ),
        (
            f"b = {' + '.join(['a'] * 900)}",
            "this expression is too long",
            "split it over several assignments",
        ),
        ("b = (a + 1)(2)", "a + 1 is a number, not a function", "call a function"),
        ("b = a * 1e300", "a is f32, which has no value 1e+300", "use a number that f32 has"),
        (
            "b = 3000000000",
            "3000000000 does not fit i32, which b is by default",
            "give it a type, for example b: u32 = 3000000000",
        ),
        ("b = a\nb = m", "b is f32 and m is u32", "cast one side, for example f32(m)"),
        (
            "b = 1\nb = a > 0",
            "b is i32 and a > 0 is bool",
            "cast one side, for example i32(a > 0)",
        ),
        (
            "for k in range(4):\n    out[i] = k * x[i]",
            "x[i] is f32 and k is i32",
            "cast one side, for example f32(k)",
        ),
        (
            "out[i] = f32(vyre.log10(m))",
            "log10() takes a float, and m is u32",
            "cast it, for example f32(m)",
        ),
        (
            "out[i] = vyre.hypot(x[i], n[i])",
            "hypot() takes a float, and n[i] is i32",
            "cast it, for example f32(n[i])",
        ),
        (
            "b = vyre.bitcast(x[i], u64)",
            "bitcast() to u64, and x[i] is f32: not as many bits",
            "name a type of 32 bits, or cast it first",
        ),
        (
            "b = vyre.bitcast(1.5, u16)",
            "bitcast() to u16, and 1.5 is f32: not as many bits",
            "name a type of 32 bits, or cast it first",
        ),
        (
            "most = 1.5\nwhile most < 3:\n    most += 1\nb = vyre.bitcast(most, u64)",
            "bitcast() to u64, and most is f32: not as many bits",
            "name a type of 32 bits, or cast it first",
        ),
        (
            "b = vyre.bitcast(300, u8)",
            "what bitcast() to u8 takes is u8, which has no value 300",
            "use a whole number from 0 to 255",
        ),
        (
            "b = vyre.bitcast(x[i] > 1, u32)",
            "bitcast() takes a number, and x[i] > 1 is bool",
            "cast it, for example i32(x[i] > 1)",
        ),
        *(
            (
                f"b = vyre.bitcast(x[i], {word})",
                f"bitcast() to {word}, which is not a type that shows its bits",
                "name an integer type, f32 or f64, for example vyre.bitcast(x[i], u32)",
            )
            for word in ("f16", "bool_", "32", "m")
        ),
        (
            "for k in range(4):\n    out[i] = vyre.sqrt(k)",
            "sqrt() takes a float, and k is i32",
            "cast it, for example f32(k)",
        ),
        (
            "b = m / 2",
            "/ divides floats, and m is u32",
            "use // for whole numbers, or cast to a float, for example f32(m)",
        ),
        (
            "b = m ** 5",
            "** with this exponent takes floats, and m is u32",
            "multiply, or cast to a float, for example f32(m)",
        ),
        ("b = ~a", "~ takes a whole number, and a is f32", "cast it, for example i32(a)"),
        ("b = a << 1", "<< takes a whole number, and a is f32", "cast it, for example i32(a)"),
        ("b = (a > 0) + 1", "+ of a > 0, which is bool", "cast it, for example i32(a > 0)"),
        ("b = -(a > 0)", "- of a > 0, which is bool", "use not, or cast it, for example i32(...)"),
        (
            "b = (a > 0) < (m > 0)",
            "< takes a number, and a > 0 is bool",
            "cast it, for example i32(a > 0)",
        ),
        (
            "if m:\n    pass",
            "m is u32, and a condition is true or false",
            "compare it, for example m != 0",
        ),
        (
            "b = a > 0 and m",
            "m is u32, and a condition is true or false",
            "compare it, for example m != 0",
        ),
        ("b: float = 1", "float is not a type of variables", "write b: f32 = ..."),
        ("b: f16 = 1", "f16 is not a type of variables", "write b: f32 = ..."),
        ("b: f32", "'b' gets a type and no value", "write b: f32 = 0"),
        ("b = float(i)", "float() converts on the host, not in a kernel", "write f32(i)"),
        ("b = int(a)", "int() converts on the host, not in a kernel", "write i32(a)"),
        ("b = bool(a)", "bool() converts on the host, not in a kernel", "write bool_(a)"),
        ("b = np.uint8(a)", "np.uint8() converts on the host, not in a kernel", "write u8(a)"),
        *(
            (f"b = {text}", f"{name}() converts on the host, not in a kernel", f"write {meant}")
            for text, name, meant in (
                ("float('inf')", "float", "math.inf"),
                ('a * float("-Infinity")', "float", "-math.inf"),
                ("float('nan')", "float", "math.nan"),
                ("np.float64('1e3')", "np.float64", "1000.0"),
            )
        ),
        ("b = f32('inf')", "a string is not part of the kernel language", "write math.inf"),
        (
            "b = f32('red')",
            "a string is not part of the kernel language",
            "compute with numbers; make text of them on the host",
        ),
        # Names
        (
            "out[i] = w\nw = 2",
            "'w' has no value yet",
            "give w a value before this line",
        ),
        (
            "if a > 0:\n    t = 1\nout[i] = t",
            "'t' may have no value here: not every path through the if of line 3 assigns it",
            "give t a value before that if, or in its else",
        ),
        (
            "for k in range(4):\n    t = k\nout[i] = t",
            "'t' may have no value here: it is first assigned inside the loop of line 3",
            "give t a value before that loop",
        ),
        (
            "for k in range(4):\n    pass\nout[i] = k",
            "'k' counts the loop of line 3 and has no value after it",
            "copy k in the loop into a variable that has a value before it",
        ),
        (
            "k = 1\nfor k in range(3):\n    pass",
            "'k' has a value already, and the loop would replace it",
            "use another name for the loop's variable",
        ),
        (
            "x = 3",
            "'x' is an array, and this would replace it",
            "write x[i] = ..., or use another name",
        ),
        ("b = x", "'x' is a whole array", "index it: x[i]"),
        ("b = math.pie", "math has no 'pie'", "write math.pi"),
        ("b = np.sqr(a)", "np has no 'sqr'", "write np.sqrt"),
        ("b = vyre.sqr(a)", "vyre has no 'sqr'", "write vyre.sqrt"),
        ("b = vyre.inf", "vyre has no 'inf'", "write math.inf"),
        ("b = vyre.zebra(a)", "vyre has no 'zebra'", "use a name that vyre has"),
        ("b = u8.maximum", "u8 has no 'maximum'", "use a name that u8 has"),
        *(
            (
                f"b = {word}",
                f"no name {word!r} here",
                f"write {meant}, or give {word!r} a value before this line, or make it a parameter",
            )
            for word, meant in (
                ("sqrt", "vyre.sqrt"),
                ("sqr", "vyre.sqrt"),
                ("argmax", "vyre.argmax"),
                ("inf", "math.inf"),
                ("ARAY", "'ARRAY'"),
            )
        ),
        ("b = numpy.sqrt(a)", "no name 'numpy' here", "write import numpy at the top of the file"),
        (
            "b = zebra",
            "no name 'zebra' here",
            "give 'zebra' a value before this line, or make it a parameter",
        ),
        (
            "b = ARRAY",
            "ARRAY is a whole array outside the kernel",
            "index it: ARRAY[k], or pass it as ARRAY: In[f32]",
        ),
        (
            "b = SETTINGS['steps']",
            "SETTINGS is a dict, and a kernel computes with numbers",
            "take what it needs of it out around the kernel, n = SETTINGS[...], and use n",
        ),
        ("b = math", "math is a module", "use a number or a function of it"),
        ("b = f32", "f32 is a type, not a value", "call it: f32(x)"),
        ("b = vyre.gid", "vyre.gid is a function, not a value", "call it: vyre.gid(...)"),
        (
            "b = plain(a)",
            "plain() is a Python function, which a kernel cannot call",
            "put @vyre.function above def plain",
        ),
        (
            "b = None",
            "None is not a number, and a kernel computes with numbers",
            "use a number, or pass an array as a parameter",
        ),
        ("b = a(1)", "a is a number, not a function", "call a function"),
        ("b = m[0]", "m is a number, not an array", "index an array parameter"),
        ("m[0] = 1", "m is not an array", "store to an array parameter"),
        (
            "b = a.real",
            "a is a number, and numbers have no attributes here",
            "use a function such as vyre.abs(x)",
        ),
        ("a.real = 1", "a.real is not a name or an element", "write out[i] = ..."),
        # Arrays
        (
            "x[i] = 1",
            "'x' is an In, which is read and never written",
            "declare it x: InOut[f32], or write to an Out",
        ),
        (
            "b = out[i]",
            "'out' is an Out, which is written and never read",
            "declare it result: InOut[f32]",
        ),
        (
            "out[i] += 1",
            "'out' is an Out, which is written and never read",
            "declare it result: InOut[f32]",
        ),
        ("b = x[-1]", "index -1 of 'x' is negative", "count from the start: len(x) - 1"),
        ("b = x[i, 0]", "'x' has 1 axis and is indexed with 2", "write x[i]"),
        ("b = x[a]", "the index a is f32", "index with a whole number, for example u32(...)"),
        ("b = x.T", "an array has no 'T' in a kernel", "use its shape, ndim or size, or index it"),
        ("b = x.shape", "x.shape is a tuple", "take one axis: x.shape[0]"),
        ("b = x.shape[1]", "axis 1 of 'x', which has 1 axis", "use axis 0"),
        ("b = x.shape[i]", "the axis of a shape is not a constant", "write x.shape[0]"),
        ("b = len(a)", "len() of a, which is not an array", "use it on an array"),
        ("b = len(x[i])", "len() of x[i], which is not an array", "use it on an array"),
        ("b = len(x.shape)", "len() of x.shape, which is not an array", "write x.ndim"),
        (
            "t = vyre.local(f32, (3, 4))\nb = len(t[0])",
            "len() of t[0], which is not an array",
            "write t.shape[1]",
        ),
        (
            "b = x.copy()",
            "arrays have no methods in a kernel, such as 'copy'",
            "write what one element does, with a loop where several are needed",
        ),
        # Loops and calls
        (
            "for k in x:\n    pass",
            "a loop runs over range() or a tuple, and x is neither",
            "write for k in range(len(x)), and x[k]",
        ),
        (
            "for part in acc[2:]:\n    pass",
            "a loop runs over range() or a tuple, and acc[2:] is neither",
            "write for k in range(2, len(acc)), and acc[k]",
        ),
        (
            "for k in np.arange(2, m):\n    pass",
            "a loop runs over range() or a tuple, and np.arange(2, m) is neither",
            "write for k in range(2, m)",
        ),
        (
            "for k in list(range(m)):\n    pass",
            "a loop runs over range() or a tuple, and list(range(m)) is neither",
            "write for k in range(m)",
        ),
        *(
            (
                f"for k in {over}:\n    pass",
                f"a loop runs over range() or a tuple, and {over} is neither",
                "make a tuple of it outside the kernel, VALUES = (...), and write for v in VALUES",
            )
            for over in ("'abc'", "range(3) + range(4)", "sorted(TEXT)", "{1, 2}")
        ),
        (
            "for k in m:\n    pass",
            "a loop runs over range() or a tuple, and m is neither",
            "write for k in range(m)",
        ),
        (
            "for v in ARRAY[1:]:\n    pass",
            "a loop runs over range() or a tuple, and ARRAY[1:] is neither",
            "write for k in range(1, len(ARRAY)), and ARRAY[k]",
        ),
        (
            "for k in range(0, 4, m):\n    pass",
            "the step m is not a constant other than 0",
            "write a number, or count with while",
        ),
        (
            "for k in range(0, 4, 0):\n    pass",
            "the step 0 is not a constant other than 0",
            "write a number, or count with while",
        ),
        (
            "for k in range(0, 4, NONE):\n    pass",
            "the step NONE, which is 0, is not a constant other than 0",
            "write a number, or count with while",
        ),
        (
            "for k in range(a):\n    pass",
            "range() takes a whole number, and a is f32",
            "cast it, for example i32(a)",
        ),
        (
            "for k in range():\n    pass",
            "range() takes 1 to 3 numbers",
            "write range(stop) or range(start, stop, step)",
        ),
        (
            "for p, q in range(3):\n    pass",
            "a loop counts with one name",
            "write for k in range(...):",
        ),
        (
            "for k in range(u8(m), u8(200), 300):\n    pass",
            "the step 300 does not fit u8",
            "cast the bounds to a wider type",
        ),
        ("b = range(3)", "range() is for loops", "write for k in range(...):"),
        ("b = vyre.exp(m)", "exp() takes a float, and m is u32", "cast it, for example f32(m)"),
        (
            "b = vyre.popcount(a)",
            "popcount() takes a whole number, and a is f32",
            "cast it, for example i32(a)",
        ),
        (
            "b = vyre.clamp(a, 0)",
            "vyre.clamp(x, lo, hi) takes 3 arguments, 2 given",
            "write vyre.clamp(x, lo, hi)",
        ),
        (
            "b = vyre.clamp(a, 0, top=1)",
            "vyre.clamp() has no further parameter 'top'",
            "write vyre.clamp(x, lo, hi)",
        ),
        ("b = min(a)", "min(a, b) takes 2 arguments, 1 given", "write min(a, b)"),
        (
            "b = np.minimum(a, 1)",
            "np.minimum() hands NaN on, and min() ignores it",
            "write min(...)",
        ),
        ("b = vyre.gid(3)", "the axis of vyre.gid() is not 0, 1 or 2", "write vyre.gid(0)"),
        ("b = 1 // 0", "1 // 0 has no value", "change one of the two constants"),
        ("b = 2 ** 5000", "2 ** 5000 has no value", "change one of the two constants"),
        ("b = (-8) ** 0.5", "-8 ** 0.5 is a complex number", "use a base from 0"),
        ("b = math.log(-1)", "math.log(-1) has no value", "change the constant"),
        (
            "math.exp(a)",
            "the value of math.exp(a) is not used",
            "assign it to a name or an element, or remove the line",
        ),
        (
            "a + 1",
            "the value of a + 1 is not used",
            "assign it to a name or an element, or remove the line",
        ),
        ("a, b = 1", "1 is one value for 2 names", "write as many values as names: a, b = x, y"),
        ("a, b = 1, 2, 3", "3 values for 2 names", "write one for each"),
        (
            "*b, c = 1, 2",
            "*b takes no fixed number of values",
            "name each value",
        ),
        # Atomics
        (
            "vyre.atomic_add(x, 0, 1)",
            "vyre.atomic_add() changes 'x', which is an In",
            "declare it x: InOut[f32]",
        ),
        (
            "vyre.atomic_add(out, 0, 1)",
            "'out' is an Out, which is written and never read",
            "declare it result: InOut[f32]",
        ),
        (
            "vyre.atomic_add(acc, 0, 1.5)",
            "an element of acc is u32, which has no value 1.5",
            "use a whole number from 0 to 4294967295",
        ),
        (
            "vyre.atomic_add(m, 0, 1)",
            "m is not an array",
            "write vyre.atomic_add(array, index, value)",
        ),
        # Workgroups
        (
            "vyre.barrier()",
            "vyre.barrier() depends on the workgroup, and the kernel does not fix one",
            "give it one, for example @vyre.kernel(workgroup=256)",
        ),
        (
            "b = vyre.local_id()",
            "vyre.local_id() depends on the workgroup, and the kernel does not fix one",
            "give it one, for example @vyre.kernel(workgroup=256)",
        ),
        (
            "tile = vyre.shared(f32, 4)",
            "vyre.shared() depends on the workgroup, and the kernel does not fix one",
            "give it one, for example @vyre.kernel(workgroup=256)",
        ),
        # Features
        *(
            (line, f"{what} is not part of the kernel language", fix)
            for line, what, fix in [
                ("b = [1]", "a list", "use vyre.local(dtype, count), or an array parameter"),
                ("b = (1, 2)", "a tuple", "use one name for each value"),
                ("b = {}", "a dict", "use an array parameter"),
                ("b = {1}", "a set", "use an array parameter"),
                (
                    "b = 'text'",
                    "a string",
                    "compute with numbers; make text of them on the host",
                ),
                ("b = TEXT", "a string", "compute with numbers; make text of them on the host"),
                (
                    "b = f'{i}'",
                    "an f-string",
                    "give it to print(), or make text of numbers on the host",
                ),
                ("b = lambda: 1", "a lambda", "write it as a def under @vyre.function"),
                ("b = [k for k in x]", "a comprehension", "write a for loop over range()"),
                (
                    "b = (k for k in x)",
                    "a generator outside a reduction",
                    "write sum() of it, or min, max, any, all, vyre.prod, vyre.argmin or "
                    "vyre.argmax",
                ),
                (
                    "b = (c := 1)",
                    "an assignment inside an expression",
                    "assign on a line of its own",
                ),
                ("b = x[1:2]", "a slice", "loop over range() and use one index at a time"),
                ("b = i is None", "is", "compare with =="),
                ("b = i in x", "in", "compare each value with =="),
                ("b = i in (1, 4)", "in", "write any(i == v for v in (1, 4))"),
                ("b = i not in (1, 4)", "in", "write all(i != v for v in (1, 4))"),
                ("b = a @ a", "@", "write sum(a[k] * b[k] for k in range(n))"),
                ("yield a", "yield", "store results in an Out array"),
                (
                    "try:\n    pass\nfinally:\n    pass",
                    "try",
                    "test for the case with if; nothing raises in a kernel",
                ),
                ("with a:\n    pass", "with", "do it around the call of the kernel"),
                ("import math", "import", "import at the top of the file"),
                ("from math import pi", "import", "import at the top of the file"),
                (
                    "def f():\n    pass",
                    "a def inside a kernel",
                    "write it outside, under @vyre.function",
                ),
                ("class C:\n    pass", "a class", "write it outside the kernel"),
                ("del i", "del", "remove it; names end with the kernel"),
                (
                    "global q",
                    "global",
                    "store in an Out array; a kernel cannot change Python's variables",
                ),
                (
                    "raise E",
                    "raise",
                    "write assert condition, 'what is wrong', or store a flag in an Out array",
                ),
                ("match i:\n    case 1:\n        pass", "match", "write if, elif and else"),
                (
                    "while a > 0:\n    pass\nelse:\n    pass",
                    "else after a loop",
                    "set a variable before break and test it after the loop",
                ),
            ]
        ),
    ],
)
def test_a_mistake_is_named_with_a_way_out(
    lines: str, problem: str, fix: str, told: Callable[..., str]
):
    first, *_, last = told(lines).splitlines()

    assert first.partition(": ")[2] == problem
    assert last == f"Fix: {fix}"


@pytest.mark.parametrize(
    ("lines", "problem", "fix"),
    [
        (
            "if a > 0:\n    tile = vyre.shared(f32, 4)",
            "vyre.shared() is not the whole of a top-level assignment",
            "write tile = vyre.shared(f32, 256) at the top level of the kernel",
        ),
        (
            "b = vyre.shared(f32, 4) + 1",
            "vyre.shared() is not the whole of a top-level assignment",
            "write tile = vyre.shared(f32, 256) at the top level of the kernel",
        ),
        (
            "tile = vyre.shared(f32, m)",
            "the count m is not a constant whole number from 1",
            "write a number, a name from outside the kernel, or vyre.workgroup_size()",
        ),
        (
            "tile = vyre.shared(bool_, 4)",
            "bool_ is not an element type of workgroup memory",
            "write vyre.shared(f32, 256)",
        ),
        (
            "i = vyre.shared(f32, 4)",
            "'i' has a value already",
            "use another name for the memory",
        ),
        (
            "tile = vyre.shared(f32, 4)\ntile[4] = 1",
            "index 4 of 'tile' is out of bounds; it has 4",
            "use an index from 0 to 3",
        ),
        (
            "tile = vyre.shared(u8, 4)\nvyre.atomic_add(tile, 0, 1)",
            "vyre.atomic_add() on u8 elements of 'tile'",
            "use 32- or 64-bit whole numbers; f32 and f64 can add, min, max and exchange",
        ),
        (
            "b = vyre.barrier()",
            "vyre.barrier() has no value",
            "write vyre.barrier() on a line of its own",
        ),
    ],
)
def test_workgroup_memory_is_declared_once_at_the_top(
    lines: str, problem: str, fix: str, told: Callable[..., str]
):
    first, *_, last = told(lines, workgroup=64).splitlines()

    assert first.partition(": ")[2] == problem
    assert last == f"Fix: {fix}"


@pytest.mark.parametrize(
    ("parameter", "problem", "fix"),
    [
        (
            "a: float",
            "float is not a type of kernels",
            "write a: f32 for a scalar, a: In[f32] for an array",
        ),
        (
            "a: int",
            "int is not a type of kernels",
            "write a: i32 for a scalar, a: In[f32] for an array",
        ),
        ("a: f16", "scalar 'a' is f16, which is for arrays", "write a: f32"),
        ("a: In", "In of 'a' has no element type", "write In[f32]"),
        ("a: In[float]", "float is not an element type", "write In[f32]"),
        ("a: Out[bool]", "bool is not an element type", "write Out[u8]"),
        ("a: In[bool_]", "array 'a' holds bool_", "write In[u8]; NumPy bools bind to it"),
        (
            "a: In[f32, -1]",
            "In[f32, -1] is not 1 to 4 axes of fewer than 4294967295 elements",
            "write In[f32], In[f32, 2] or In[f32, (3, 3)]",
        ),
        (
            "a: In[f32, (1, 2, 3, 4, 5)]",
            "In[f32, (1, 2, 3, 4, 5)] is not 1 to 4 axes of fewer than 4294967295 elements",
            "write In[f32], In[f32, 2] or In[f32, (3, 3)]",
        ),
        ("a: VEC", "scalar 'a' is vec<f32, 4>", "write a: f32 or another number type"),
        ("a: In[VEC]", "array 'a' holds vec<f32, 4>", "write In[f32]"),
        (
            "a: InOut[u32, 256]",
            "InOut[u32, 256] has 256 axes; an array has 1 to 4, and a fixed size is a tuple",
            "write InOut[u32, (256,)]",
        ),
        (
            "a: In[f32, 5]",
            "In[f32, 5] has 5 axes; an array has 1 to 4, and a fixed size is a tuple",
            "write In[f32, (5,)]",
        ),
        (
            "a: In[f32, 'nearest']",
            '"nearest" says nothing about loads beyond an edge; known: "zero", "clamp", "wrap", '
            '"broadcast"',
            'write In[f32, "clamp"], or leave it out',
        ),
        (
            "a: Out[f32, 2, 'clamp']",
            '"clamp" is about loads, and an Out is never read',
            "write Out[f32]; what is stored beyond its edge is dropped",
        ),
        (
            "a: InOut[f32, 'broadcast']",
            '"broadcast" reads one element in many places, and an InOut is written',
            "write InOut[f32], or In where it is only read",
        ),
        ("*a: In[f32]", "*a takes any number of arguments", "name each parameter"),
        ("**a: f32", "**a takes any number of arguments", "name each parameter"),
        (
            "a: f32 = None",
            "the default of 'a' is None, which is no number",
            "give it a number, or none, and pass it in the call",
        ),
        (
            "a: u8 = 300",
            "the default 300 of 'a' is no value of u8",
            "write a whole number from 0 to 255",
        ),
        (
            "a: u32 = 1.5",
            "the default 1.5 of 'a' is no value of u32",
            "write a whole number from 0 to 4294967295, or declare it a: f32",
        ),
        (
            "a: f32 = 1e39",
            "the default 1e+39 of 'a' is no value of f32",
            "write a number that f32 has, or declare it a: f64",
        ),
        (
            "a: f32 = 16777217",
            "the default 16777217 of 'a' is no value of f32",
            "write a number that f32 has, or declare it a: f64",
        ),
        (
            "a: bool_ = 1",
            "the default 1 of 'a' is not a bool",
            "write True or False",
        ),
        (
            "a: i32 = True",
            "the default True of 'a' is a bool, and its type is i32",
            "write 1, or declare it a: bool_",
        ),
        (
            "a: In[f32] = 0",
            "'a' is an array, and only numbers have a default",
            "leave the default out, and pass the array in the call",
        ),
        (
            "a: In[f32] = None",
            "'a' is an array, and only numbers have a default",
            "leave the default out, and pass the array in the call",
        ),
        (
            "a: Out[f32] = None",
            "'a' is an array, and only numbers have a default",
            "leave the default out: a call makes the outputs that it is not given",
        ),
        (
            "a: 'Nowhere'",
            "the type of 'a' is not known here: name 'Nowhere' is not defined",
            "import or define it before the function",
        ),
    ],
)
def test_a_parameter_that_declares_nothing_is_refused(
    parameter: str, problem: str, fix: str, written: Written, refusal: Refusal
):
    kernel = written(f"def kernel({parameter}):\n    pass\n", VEC=DataType.vec(DataType.F32, 4))

    first, *_, last = str(refusal(kernel)).splitlines()

    assert first == f"<cell 0>:1: {problem}"
    assert last == f"Fix: {fix}"


@pytest.mark.parametrize(
    ("function", "call", "problem", "fix"),
    [
        (
            "def f(p):\n    return f(p)",
            "f(x[0])",
            "'f' calls itself, and a kernel has no stack",
            "write it as a loop",
        ),
        (
            "def f(p):\n    for k in range(3):\n        return p",
            "f(x[0])",
            "not every path through 'f' ends in a return",
            "end it with a return",
        ),
        (
            "def f(p):\n    with p:\n        return p\n    return p",
            "f(x[0])",
            "with is not part of the kernel language",
            "do it around the call of the kernel",
        ),
        (
            "def f(p):\n    if p > 0:\n        return p, p\n    return p",
            "f(x[0])",
            "'f' returns one value here and 2 values on another path",
            "return as many values on every path",
        ),
        (
            "def f(p):\n    if p > 0:\n        return p",
            "f(x[0])",
            "not every path through 'f' ends in a return",
            "end it with a return",
        ),
        (
            "def f(p):\n    if p > 0:\n        return\n    return p",
            "f(x[0])",
            "'f' returns a value on one path and none on this",
            "return a value on every path, or on none",
        ),
        (
            "def f(p):\n    pass",
            "f(x[0])",
            "f() has no value",
            "write the call on a line of its own",
        ),
        (
            "def f(p: u32):\n    return p",
            "f(x[0])",
            "p of f is u32 and x[0] is f32",
            "cast one side, for example u32(x[0])",
        ),
        (
            "def f(p: In[u32]):\n    return p[0]",
            "f(x)",
            "p of f is an array of u32, and x is an array of f32",
            "pass what the function declares, or leave its parameter without a type",
        ),
        (
            "def f(p: In[f32]):\n    return p[0]",
            "f(x[0])",
            "p of f is an array, and x[0] is f32",
            "pass an array by its name",
        ),
        (
            "def f(p: float):\n    return p",
            "f(x[0])",
            "'p' has a type that is none of kernels",
            "write f32 or In[f32]",
        ),
        (
            "def f(p):\n    p = 1\n    return p",
            "f(x)",
            "p of f is an array and is assigned to",
            "use another name",
        ),
        (
            "def f(p: f32):\n    return p",
            "f(x)",
            "p of f is f32, and x is an array of f32",
            "pass what the function declares, or leave its parameter without a type",
        ),
        (
            "def f(p, q):\n    return p",
            "f(x[0])",
            "f(p, q) takes 2 arguments, 1 given",
            "write f(p, q)",
        ),
    ],
)
def test_a_function_that_cannot_stand_in_place_is_refused(  # one row of a table
    function: str, call: str, problem: str, fix: str, written: Written, refusal: Refusal
):
    kernel = written(
        f"@vyre.function\n{function}\ndef kernel(x: In[f32], out: Out[f32]):\n    out[0] = {call}\n"
    )

    first, *_, last = str(refusal(kernel)).splitlines()

    assert first.partition(": ")[2] == problem
    assert last == f"Fix: {fix}"


def test_only_functions_written_in_python_are_marked():
    with pytest.raises(LanguageError) as caught:
        lang.function(len)

    assert str(caught.value) == (
        "<built-in function len> is not a function written in Python\n"
        "Fix: put @vyre.function above a def"
    )


@pytest.mark.parametrize(
    ("header", "body", "fix"),
    [
        # The cast that is offered can be carried out, and keeps numbers below 0 and above 255.
        ("x: In[i32], out: Out[i32]", "out[i] = x[i] + i", "i32(i)"),
        ("x: In[i32], out: Out[i32]", "out[i] = i + x[i]", "i32(i)"),
        ("x: In[u8], out: Out[u8]", "out[i] = u8(x[i] == i)", "u32(x[i])"),
        ("x: In[u64], out: Out[u64]", "out[i] = x[i] + i", "u64(i)"),
        ("x: In[f64], out: Out[f64], n: u32", "out[i] = x[i] / n", "f64(n)"),
        ("x: In[f64], out: Out[f64], n: u32", "out[i] = n / x[i]", "f64(n)"),
        ("x: In[f32], out: Out[f32], n: u32", "out[i] = x[i] / n", "f32(n)"),
        ("x: In[u32], out: Out[f32], n: u32", "out[i] = n / x[i]", "f32(n)"),
    ],
)
def test_a_cast_that_is_offered_loses_no_numbers(
    header: str, body: str, fix: str, written: Written, refusal: Refusal
):
    kernel = written(f"def kernel({header}):\n    i = vyre.gid()\n    {body}\n")

    assert str(refusal(kernel)).splitlines()[-1].endswith(f", for example {fix}")


@pytest.mark.parametrize(
    ("header", "body", "fix"),
    [
        ("out: Out[f32, 2]", "out[i, 0] += 1", "declare it result: InOut[f32, 2]"),
        ("y: Out[u32, (256,)]", "y[i] += 1", "declare it y: InOut[u32, (256,)]"),
        (
            "y: Out[u32, (3, 4)]",
            "vyre.atomic_add(y, (i, 0), 1)",
            "declare it y: InOut[u32, (3, 4)]",
        ),
        (
            'y: In[f32, 3, "clamp"]',
            "y[i, 0, 0] = 1",
            'declare it y: InOut[f32, 3, "clamp"], or write to an Out',
        ),
    ],
)
def test_an_array_that_should_be_read_and_written_is_declared_whole(
    header: str, body: str, fix: str, written: Written, refusal: Refusal
):
    kernel = written(f"def kernel({header}):\n    i = vyre.gid()\n    {body}\n")

    assert str(refusal(kernel)).splitlines()[-1] == f"Fix: {fix}"


def test_functions_of_numpy_are_called_so(written: Written, refusal: Refusal):
    header = "import numpy as np\ndef kernel(x: In[f32], out: Out[f32]):\n"
    kernel = written(header + "    out[0] = np.mean(x)\n")

    problem = "np.mean() is a function of NumPy that has no meaning in a kernel"

    assert str(refusal(kernel)).splitlines()[0].partition(": ")[2] == problem
