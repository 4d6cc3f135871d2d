"""What kernels say: print and assert, as programs and as they are refused."""

from collections.abc import Callable

import pytest

from vyre import ir, lang
from vyre.errors import LanguageError
from vyre.ir.text import statement_text
from vyre.ir.walk import statements

Written = Callable[..., Callable[..., None]]

HEAD = """\
def kernel(x: In[f32], n: In[i32], out: Out[f32], m: u32, flag: bool_):
    i = vyre.gid()
"""
NAMES = {"TEXT": "text", "NUMBER": 7, "other": print}


@pytest.fixture
def made(written: Written) -> Callable[..., list[str]]:
    """The statements of a kernel whose lines from the third on are the given ones."""

    def made(lines: str) -> list[str]:
        body = "".join(f"    {line}\n" for line in lines.splitlines())
        program = lang.translate(written(HEAD + body, **NAMES)).program
        ir.check(program)
        assert ir.from_wire(program.to_wire()) == program.canonical()
        return [statement_text(node) for node in statements(program.entry)][2:]

    return made


@pytest.fixture
def told(made: Callable[..., list[str]]) -> Callable[..., str]:
    """The message for such lines."""

    def told(lines: str) -> str:
        with pytest.raises(LanguageError) as caught:
            made(lines)
        return str(caught.value)

    return told


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("print()", r'print "\n"'),
        ("print('a', 'b')", r'print "a b\n"'),
        ("print(x[i])", r'print "{x[i]}\n"'),
        ("print('at', i, n[i], sep=', ', end='.')", r'print "at, {i}, {n[i]}."'),
        ("print(i, sep=None, end=None)", r'print "{i}\n"'),
        ("print(f'{x[i]:.3f} of {i=} {TEXT:>6} {NUMBER:03d}')", None),
        ("print(f'{x[i]!r}{i!s}')", r'print "{x[i]}{i}\n"'),
        ("print(f'{u8(m):c}')", r'print "{u8(m[0u32]):c}\n"'),
        ("print(TEXT, NUMBER, 1.5, True)", r'print "text 7 1.5 True\n"'),
        ("print(flag, i < 3)", r'print "{flag[0u32]} {i < 3u32}\n"'),
        ("other(m)", r'print "{m[0u32]}\n"'),
    ],
)
def test_a_print_is_one_statement(made: Callable[..., list[str]], line: str, text: object):
    expected = r'print "{x[i]:.3f} of i={i}   text 007\n"' if text is None else text

    assert made(line) == [expected]


def test_values_of_a_print_take_their_types_as_everywhere(made: Callable[..., list[str]]):
    assert made("s = 0\nfor k in range(3):\n    s += k\nprint(s)\nout[i] = x[i]")[-2:] == [
        r'print "{s}\n"',
        "out[i] = x[i]",
    ]


def test_prints_and_asserts_of_functions_stand_where_they_are_called(
    written: Written,
):
    inner = lang.function(
        written("def inner(v):\n    assert v > 0, 'low'\n    print(v)\n    return v\n", "inner")
    )
    kernel = written(HEAD + "    out[i] = inner(x[i]) if flag else 0.0\n", inner=inner)
    program = lang.translate(kernel).program

    texts = [statement_text(node) for node in statements(program.entry)]

    assert [text for text in texts if text.startswith(("print", "trap"))] == [
        "trap 'low' at 0u32",
        r'print "{v}\n"',
    ]


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("assert x[i] > 0", ["if not (x[i] > 0.0):", "trap '' at 0u32"]),
        ("assert flag, TEXT", ["if not flag[0u32]:", "trap 'text' at 0u32"]),
        ("assert flag, f'as {TEXT}'", ["if not flag[0u32]:", "trap 'as text' at 0u32"]),
        ("assert NUMBER == 7, 'known'", []),
        ("assert False, 'never here'", ["trap 'never here' at 0u32"]),
        (
            "assert flag\nassert i < 3",
            ["if not flag[0u32]:", "trap '' at 0u32", "if not (i < 3u32):", "trap '' at 1u32"],
        ),
    ],
)
def test_an_assertion_is_a_trap_under_its_condition(
    made: Callable[..., list[str]], line: str, texts: list[str]
):
    assert made(line) == texts


def test_an_assertion_counts_as_a_proof(made: Callable[..., list[str]], told: Callable[..., str]):
    made("assert i >= 2\nout[i] = f32(i - 2)")

    assert "i - 2 wraps around below 0" in told("out[i] = f32(i - 2)")


REFUSED = {
    "file=": (
        "print(i, file=out)",
        "file= in print(), which takes values, sep= and end= in a kernel",
        "leave it out; lines go to sys.stdout when the call has run",
    ),
    "flush=": (
        "print(i, flush=True)",
        "flush= in print(), which takes values, sep= and end= in a kernel",
        "leave it out; lines go to sys.stdout when the call has run",
    ),
    "**": (
        "print(i, **out)",
        "** in print(), which takes values, sep= and end= in a kernel",
        "leave it out; lines go to sys.stdout when the call has run",
    ),
    "a separator that is a number": (
        "print(i, sep=m)",
        "sep= of print() is m, which is not a constant text",
        'write sep=", " or such',
    ),
    "an end that is made": (
        "print(i, end=f'{i}')",
        "end= of print() is f'{i}', which is not a constant text",
        'write end=", " or such',
    ),
    "a value of a print": (
        "out[i] = print(i)",
        "print() has no value",
        "write print(...) on a line of its own",
    ),
    "a whole array": ("print(x)", "'x' is a whole array", "index it: x[i]"),
    "an old format": (
        "print('%d of %f' % (i, x[i]))",
        "'%d of %f' % (i, x[i]) is a text that a kernel does not make",
        'write an f-string, for example print(f"{x:.3f} at {i}")',
    ),
    "a format of a named text": (
        "print(TEXT % i)",
        "TEXT % i is a text that a kernel does not make",
        'write an f-string, for example print(f"{x:.3f} at {i}")',
    ),
    "a method of a text": (
        "print('at {}'.format(i))",
        "'at {}'.format(i) is a text that a kernel does not make",
        'write an f-string, for example print(f"{x:.3f} at {i}")',
    ),
    "texts put together": (
        "print('at ' + str(i))",
        "'at ' + str(i) is a text that a kernel does not make",
        'write an f-string, for example print(f"{x:.3f} at {i}")',
    ),
    "a text behind a value": (
        "print(str(i) + ' of')",
        "str(i) + ' of' is a text that a kernel does not make",
        'write an f-string, for example print(f"{x:.3f} at {i}")',
    ),
    "a value as a text": (
        "print(str(i))",
        "str(i) is a text that a kernel does not make",
        'write an f-string, for example print(f"{x:.3f} at {i}")',
    ),
    "one of two texts": (
        "print('low' if x[i] < 0 else 'high')",
        "'low' if x[i] < 0 else 'high' is a text that a kernel does not make",
        "write if and else, with a print in each",
    ),
    "several at once": (
        "print(*x)",
        "a starred value is not part of the kernel language",
        "write each value out",
    ),
    "an assertion of a number": (
        "assert i",
        "i is u32, and a condition is true or false",
        "compare it, for example i != 0",
    ),
    "an assertion with values in its text": (
        "assert flag, f'{i} is wrong'",
        "the text of an assertion is f'{i} is wrong', which is not a constant text",
        "write a plain text, and print the values in an if before it",
    ),
    "an assertion whose text is a number": (
        "assert flag, m",
        "the text of an assertion is m, which is not a constant text",
        "write a plain text, and print the values in an if before it",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_mistake_is_named_with_its_line_and_a_way_out(told: Callable[..., str], case: str):
    line, problem, fix = REFUSED[case]

    message = told(line)

    assert message.startswith(f"<cell 0>:3: {problem}\n    {line}\n    ")
    assert message.endswith(f"^\nFix: {fix}")


@pytest.mark.parametrize(
    ("line", "problem", "fix"),
    [
        (
            "print(f'{x[i]:d}')",
            "x[i] is f32, which format 'd' does not show: "
            "Unknown format code 'd' for object of type 'float'",
            "use a format of Python's for such numbers, for example {x:.3f} or {n:4d}",
        ),
        (
            "print(f'{TEXT:d}')",
            "TEXT is str, which format 'd' does not show: "
            "Unknown format code 'd' for object of type 'str'",
            "use a format of Python's for such numbers, for example {x:.3f} or {n:4d}",
        ),
        (
            "print(f'{i:{m}}')",
            "a format with values in it is not part of the kernel language",
            "write the format out, for example {x:.3f}",
        ),
        ("print(f'{i!a}')", "!a is for texts, and this is a number", "leave it out"),
        (
            "print(f'{m:>3c}')",
            "m is u32, which format '>3c' does not show: not every u32 is a letter, as every u8 is",
            "use a format of Python's for such numbers, for example {x:.3f} or {n:4d}",
        ),
        ("print(f'of {x.shape}')", "x.shape is a tuple", "take one axis: x.shape[0]"),
        (
            "print(f'{x[i] + n[i]}')",
            "x[i] is f32 and n[i] is i32",
            "cast one side, for example f32(n[i])",
        ),
        (
            "print(f'{i:>4} {max(i - 1, 0)}')",
            "i - 1 wraps around below 0, as it is u32, and max() takes it for a large number",
            "write vyre.sat_sub(i, 1), which stops at 0",
        ),
    ],
)
def test_a_mistake_in_an_f_string_is_named_too(
    told: Callable[..., str], line: str, problem: str, fix: str
):
    """Before 3.12 Python does not say where values stand in it: all of it is underlined then."""
    message = told(line)

    assert message.startswith(f"<cell 0>:3: {problem}\n    {line}\n    ")
    assert message.endswith(f"^\nFix: {fix}")


def test_names_of_an_author_may_be_anything(made: Callable[..., list[str]]):
    assert made("log = x[i]\nfailed = i\nprint(log, failed)\nassert log > 0")[2:] == [
        r'print "{log} {failed}\n"',
        "if not (log > 0.0):",
        "trap '' at 0u32",
    ]


def test_elements_of_reductions_say_nothing(written: Written):
    talks = lang.function(written("def talks(v):\n    print(v)\n    return v\n", "talks"))
    line = "out[i] = sum(talks(x[k]) for k in range(3))"
    kernel = written(f"{HEAD}    {line}\n", talks=talks)

    with pytest.raises(LanguageError) as caught:
        lang.translate(kernel)

    assert str(caught.value) == (
        "<cell 0>:2: print() inside sum(), whose elements are computed in any order\n"
        "    print(v)\n"
        "    ^^^^^^^^\n"
        "    called from <cell 1>:3\n"
        "Fix: write a for loop, or do it before or after this line"
    )
