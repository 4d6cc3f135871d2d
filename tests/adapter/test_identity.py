"""What a function is as a text: what may change its times shows there, and nothing else."""

import functools
import linecache
import sys
import types
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.adapter.identity import text_of

_numbers = count()


def function_of(source, name="f", module="of_a_user", **around):
    """A function from source, as if it stood in a file of a module of somebody's."""
    where = f"<source {next(_numbers)}>"
    linecache.cache[where] = (len(source), None, source.splitlines(keepends=True), where)
    space = {"__name__": module, **around}
    exec(compile(source, where, "exec"), space)  # noqa: S102  # our own text
    return space[name]


SOURCE = "def f(x, k=2):\n    return x * k + N\n"
PLAIN = st.recursive(
    st.integers() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5) | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(PLAIN, PLAIN)
def test_plain_values_around_a_function_are_part_of_it(one, other):
    texts = [text_of(function_of(SOURCE, N=value)) for value in (one, other)]

    assert (texts[0] == texts[1]) == (repr(one) == repr(other))


def test_the_same_function_of_another_process_is_the_same():
    assert text_of(function_of(SOURCE, N=1)) == text_of(function_of(SOURCE, N=1))


@pytest.mark.parametrize(
    "source",
    [SOURCE.replace("+", "-"), SOURCE.replace("k=2", "k=3"), SOURCE.replace("k=2", "*, k=2")],
)
def test_another_body_or_default_is_another_function(source):
    assert text_of(function_of(source, N=1)) != text_of(function_of(SOURCE, N=1))


def test_where_it_stands_and_what_stands_above_it_is_not_part_of_it():
    below = function_of(f"import math\n\n@lambda f: f\n{SOURCE}", N=1)

    assert text_of(below) == text_of(function_of(SOURCE, N=1))


def test_a_set_has_no_order():
    one, other = (function_of(SOURCE, N=frozenset(n)) for n in (["a", "b", "c"], ["c", "b", "a"]))

    assert text_of(one) == text_of(other)
    assert "N = {'a', 'b', 'c',}" in text_of(one)


def test_what_has_no_source_is_known_by_its_code():
    def made(source):
        space = {"__name__": "of_a_user", "N": 1}
        exec(source, space)  # noqa: S102  # our own text
        return space["f"]

    nested = SOURCE.replace("N", "(lambda: N + 7)()")

    assert text_of(made(SOURCE)) == text_of(made(SOURCE))
    assert text_of(made(nested)) != text_of(made(nested.replace("7", "8")))
    assert "N = 1" in text_of(made(nested))


def test_functions_of_one_line_are_told_apart():
    def double(number):
        one, other = (lambda x: x + 1), (lambda x: x + 2)
        return one if number == 1 else other

    assert text_of(double(1)) == text_of(double(1))
    assert text_of(double(1)) != text_of(double(2))


def test_functions_that_it_calls_are_part_of_it_and_those_they_call():
    def caller(inner):
        deeper = function_of(f"def g():\n    return {inner}\n", "g")
        middle = function_of("def h():\n    return g()\n", "h", g=deeper)
        return function_of("def f():\n    return h()\n", h=middle)

    assert text_of(caller(1)) == text_of(caller(1))
    assert text_of(caller(1)) != text_of(caller(2))


def test_functions_that_call_each_other_end():
    one = function_of("def f(n):\n    return g(n)\n")
    other = function_of("def g(n):\n    return f(n)\n", "g", f=one)
    one.__globals__["g"] = other

    assert text_of(one).count("def f") == 1


def test_a_chain_of_calls_is_followed_so_far_and_no_further():
    chain = function_of("def f():\n    return 0\n")
    for _ in range(20):
        chain = function_of("def f():\n    return g()\n", g=chain)

    assert text_of(chain).count("def f") == 8


def test_what_a_closure_holds_is_part_of_it():
    def made(held, *, is_set=True):
        def f():
            return value

        if is_set:
            value = held
        return f

    assert text_of(made(1)) == text_of(made(1))
    assert text_of(made(1)) != text_of(made(2))
    assert "value =" not in text_of(made(1, is_set=False))


def test_plain_values_count_however_deep_they_are():
    def nested(number):
        value = [number]
        for _ in range(20):
            value = {"in": (value,)}
        return text_of(function_of(SOURCE, N=value))

    assert nested(1) == nested(1) != nested(2)


def test_what_holds_itself_is_no_part_of_it():
    value = [1]
    value.append(value)

    assert "N =" not in text_of(function_of(SOURCE, N=value))


def test_what_is_no_plain_value_is_no_part_of_it():
    one, other = (function_of(SOURCE, N=np.zeros(n)) for n in (2, 3))

    assert text_of(one) == text_of(other)


def test_a_default_that_is_no_plain_value_counts_by_its_type():
    one = function_of("def f(x=N, y=(1, {2: N})):\n    return x\n", N=object())

    assert text_of(one).splitlines()[-1] == "(object, (1, {2: object})) None"


@pytest.fixture
def library(monkeypatch):
    """A library of others, with a version."""
    module = types.ModuleType("of_others")
    module.__version__ = "1.0"
    monkeypatch.setitem(sys.modules, "of_others", module)
    return module


def test_of_a_library_its_version_is_part_and_its_source_is_not(library):
    library.run = function_of("def run():\n    return 1\n", "run", module="of_others.inside")
    by_module = function_of("def f():\n    return of_others.run()\n", of_others=library)
    by_name = function_of("def f():\n    return run()\n", run=library.run)
    before = text_of(by_module), text_of(by_name)
    assert before[0].splitlines()[-1] == "of_others = of_others 1.0"
    assert before[1].splitlines()[-2:] == ["run:", "of_others.inside.run 1.0"]

    library.__version__ = "1.1"

    assert text_of(by_module) == before[0].replace("1.0", "1.1")
    assert text_of(by_name) == before[1].replace("1.0", "1.1")


@pytest.mark.usefixtures("library")
def test_a_library_of_ones_own_is_followed_whatever_its_version():
    def caller(number):
        inner = function_of(f"def g():\n    return {number}\n", "g", module="of_others.g")
        return function_of("def f():\n    return g()\n", module="of_others.f", g=inner)

    assert "of_others.f.f 1.0" in text_of(caller(1))
    assert text_of(caller(1)) != text_of(caller(2))


def test_a_module_without_a_version_is_known_by_its_name(library):
    library.__version__ = None

    assert text_of(function_of("def f():\n    return m\n", m=library)).endswith("m = of_others")


def test_a_function_without_source_of_its_own_is_known_by_its_name_and_version():
    assert text_of(np.dot).endswith(f"numpy.dot {np.__version__}")
    assert text_of(len) == "builtins.len"


def test_arguments_that_are_fixed_are_part_of_it():
    function = function_of(SOURCE, N=1)
    one, other = functools.partial(function, k=1), functools.partial(function, k=2)

    assert text_of(one) != text_of(other)
    assert text_of(one).startswith("partial () {'k': 1}\nof_a_user.f\n")


def test_a_wrapper_is_part_of_it_and_so_is_what_it_wraps():
    def wrapped(inner, outer):
        function = function_of(SOURCE, N=inner)
        wrapper = function_of(
            f"def f(*args):\n    return function(*args) + {outer}\n", function=function
        )
        return functools.wraps(function)(wrapper)

    texts = {text_of(wrapped(inner, outer)) for inner in (1, 2) for outer in (1, 2)}

    assert len(texts) == 4


def test_a_method_and_an_object_that_is_called_are_known_by_their_code():
    source = "class f:\n    def run(self):\n        return {0}\n    __call__ = run\n"
    one, other = (function_of(source.format(n))() for n in (1, 2))

    assert text_of(one) != text_of(other)
    assert text_of(one.run) != text_of(other.run)
    assert text_of(one.run) == text_of(type(one)().run)


HUGE = 10**5000
LARGE = list(range(100_000))


def test_numbers_too_long_for_decimals_and_lists_of_many_are_part_of_it():
    def modulo(x):
        return x % HUGE + LARGE[x]

    before = text_of(modulo)
    assert hex(HUGE) in before
    assert f"LARGE = list of {len(LARGE)} " in before
    LARGE[-1] += 1
    try:
        assert text_of(modulo) != before
    finally:
        LARGE[-1] -= 1
    assert text_of(modulo) == before
    assert text_of(lambda x: x % (1 << 20_000)) != text_of(lambda x: x % (1 << 20_001))


def test_a_default_that_holds_itself_comes_to_an_end():
    loop = []
    loop.append(loop)

    def held(x=loop):
        return x

    assert "([itself])" in text_of(held)
    assert text_of(functools.partial(held, loop)).startswith("partial ([itself])")
