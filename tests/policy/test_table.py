"""The policies by name."""

import pytest

from vyre.errors import InvalidInput
from vyre.model import Code, Failed, Knobs, Schedule, Timed
from vyre.policy.base import Chooser
from vyre.policy.plain import Plain
from vyre.policy.resize import Resize
from vyre.policy.table import DEFAULT_POLICY, NAMES, Given, make, policy_name

WIDTHS = tuple(Schedule((n, 1, 1)) for n in (64, 128, 256))
OTHERS = (Schedule((64, 4, 1)), Schedule((128, 1, 1), Code(items=4)))
SPACE = (WIDTHS[2], *OTHERS, WIDTHS[0], WIDTHS[1])
KNOBS = tuple(Knobs.of({"BLOCK": n}) for n in (64, 128))


def given(space=SPACE, default=WIDTHS[1]) -> Given:
    return Given(space=space, default=default, size=1 << 20)


def test_the_default_is_the_first_of_five():
    assert NAMES == ("natural", "seed", "resize", "sweep", "fixed")
    assert NAMES[0] == DEFAULT_POLICY


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("space", "default"), [(SPACE, WIDTHS[1]), (KNOBS, KNOBS[1])])
def test_each_is_a_chooser_of_the_whole_space(name, space, default):
    chooser: Chooser = make(name, given(space, default))

    assert chooser.space == space
    assert chooser.choose(chooser.mask(space)).config in space
    assert chooser.incumbent(chooser.mask((default,))).config == default


@pytest.mark.parametrize("word", NAMES)
def test_a_name_is_read_whatever_its_case(word):
    assert policy_name(f" {word.upper()} ") == word


@pytest.mark.parametrize("word", ["", "fast", "natural gradient", None, 3])
def test_any_other_word_is_an_error_that_lists_the_names(word):
    with pytest.raises(InvalidInput) as caught:
        policy_name(word)

    assert str(caught.value) == (
        f"no policy {word!r}\nFix: use one of natural, seed, resize, sweep, fixed"
    )


@pytest.mark.parametrize("name", ["seed", "resize"])
def test_the_crates_policies_move_between_widths_alone(name):
    chooser = make(name, given())
    assert isinstance(chooser, Plain)
    policy = chooser.policy

    space = policy.widths if isinstance(policy, Resize) else policy.space
    assert space == WIDTHS


def test_the_seed_starts_from_its_estimates():
    chooser = make("seed", given())

    assert chooser.choose().config == WIDTHS[2]


def test_the_seed_knows_nothing_of_knobs_and_stays_with_what_it_timed():
    chooser = make("seed", given(KNOBS, KNOBS[1]))
    chooser = chooser.tell(Timed(KNOBS[0], 1e6))

    assert chooser.incumbent().config == KNOBS[0]


def test_resizing_leaves_knobs_at_their_default():
    chooser = make("resize", given(KNOBS, KNOBS[1]))
    for _ in range(20):
        chooser = chooser.tell(Timed(KNOBS[1], 1e6, 1e12))

    assert chooser.incumbent().config == KNOBS[1]
    assert chooser.tell(Failed(KNOBS[0], "no")).incumbent().config == KNOBS[1]
