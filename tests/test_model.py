import json
import math
from math import inf, isfinite, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vyre.errors import InvalidInput, VyreError
from vyre.model import (
    COUNTS,
    FLAGS,
    MOST_KNOBS,
    MOST_LETTERS,
    PARTS,
    SIZES,
    UNSAID,
    Code,
    DeviceInfo,
    DeviceKind,
    Knobs,
    Limits,
    Measurement,
    Order,
    Schedule,
    Timed,
    Workload,
    config_of,
    config_order,
)
from vyre.testing.configs import ODD, odd_ones, schedules

OLDEST = ("items", "vector", "unroll", "order", "checked")
LIMITS = Limits(max_threads=1024, max_block=(1024, 1024, 64), max_grid=(1, 1, 1))


def device(**changed: object) -> DeviceInfo:
    facts = {
        "backend": "opencl",
        "model": "m",
        "driver": "1",
        "compiler": "c",
        "kind": DeviceKind.CPU,
        "limits": LIMITS,
    }
    return DeviceInfo(**(facts | changed))


def workload(**changed: object) -> Workload:
    facts = {
        "fingerprint": b"\1" * 32,
        "buckets": (20, 3),
        "traits": ("aligned",),
        "device": "d",
        "toolchain": "t",
    }
    return Workload(**(facts | changed))


def test_a_workload_key_changes_with_every_field():
    keys = {
        workload().key(),
        workload(fingerprint=b"\2" * 32).key(),
        workload(buckets=(20, 4)).key(),
        workload(buckets=(203,)).key(),
        workload(traits=()).key(),
        workload(device="e").key(),
        workload(toolchain="u").key(),
    }

    assert len(keys) == 7


def test_a_device_identity_holds_what_changes_timings_and_nothing_else():
    assert device().identity == device(driver="2").identity
    assert device().identity != device(model="n").identity
    assert device().identity != device(traits={"threads": "2"}).identity
    assert device().toolchain != device(driver="2").toolchain


def test_a_schedule_has_three_positive_sizes():
    with pytest.raises(InvalidInput) as caught:
        Schedule((0, 1, 1))

    assert str(caught.value) == (
        "workgroup (0, 1, 1) of a schedule\n"
        "Fix: give three sizes of at least 1, such as (256, 1, 1)"
    )
    with pytest.raises(InvalidInput):
        Code(items=0)


@pytest.mark.parametrize("workgroup", [64, (64,), [64, 1, 1], (64.0, 1, 1)])
def test_a_workgroup_is_a_tuple_of_three_whole_numbers(workgroup):
    with pytest.raises(InvalidInput) as caught:
        Schedule(workgroup)

    assert str(caught.value) == (
        f"workgroup {workgroup} of a schedule\n"
        "Fix: give three sizes of at least 1, such as (256, 1, 1)"
    )


def test_a_code_takes_whole_numbers_and_a_known_order():
    with pytest.raises(InvalidInput) as caught:
        Code(items=2.5)
    assert str(caught.value) == (
        "a code of items 2.5, vector 1, unroll 1, rows 1, lines 1, planes 1, lanes 1, shares 1, "
        "abreast 1\nFix: give whole numbers of at least 1"
    )
    with pytest.raises(InvalidInput) as caught:
        Code(order="zigzag")
    assert str(caught.value) == "no order 'zigzag'\nFix: use one of strided, blocked"


@pytest.mark.parametrize("name", ["lines", "planes"])
@pytest.mark.parametrize("size", [0, -1, 1.0, True, "2", None])
def test_an_invocation_takes_at_least_one_line_and_plane(name: str, size: object):
    with pytest.raises(InvalidInput) as caught:
        Code(**{name: size})

    assert f"{name} {size!r}" in caught.value.problem
    assert caught.value.fix == "give whole numbers of at least 1"


@pytest.mark.parametrize("name", ["depth", "loaders", "keeps"])
@pytest.mark.parametrize("count", [-1, 1.0, True, "2", None])
def test_what_may_be_nothing_is_counted_from_0(name: str, count: object):
    counts = {"depth": 0, "loaders": 0, "keeps": 0, name: count}

    with pytest.raises(InvalidInput) as caught:
        Code(**counts)

    assert str(caught.value) == (
        f"a code of depth {counts['depth']!r}, loaders {counts['loaders']!r},"
        f" keeps {counts['keeps']!r}\nFix: give whole numbers of at least 0"
    )


def test_loaders_have_memory_to_fill():
    with pytest.raises(InvalidInput) as caught:
        Code(loaders=2)

    assert str(caught.value) == (
        "loaders 2 of a code that fills no workgroup memory\n"
        "Fix: give a depth of at least 1 as well"
    )
    assert Code(loaders=2, depth=1).loaders == 2


class TestGroups:
    """The workgroup that a code's memory is laid out for."""

    def test_a_code_with_depth_is_laid_out_for_its_workgroup(self):
        staged, plain = (Schedule((32, 8, 1), Code(depth=depth)) for depth in (16, 0))

        assert (staged.code.group, plain.code.group) == ((32, 8, 1), None)
        assert staged == Schedule((32, 8, 1), staged.code)
        assert staged.build != Schedule((8, 32, 1), Code(depth=16)).build
        assert plain.build == Schedule((8, 32, 1)).build

    @pytest.mark.parametrize("depth", [0, 16])
    def test_a_code_for_another_workgroup_is_refused(self, depth: int):
        code = Code(depth=depth, group=(8, 8, 1))

        with pytest.raises(InvalidInput) as caught:
            Schedule((32, 8, 1), code)

        assert str(caught.value) == (
            "workgroup (32, 8, 1) of a code for (8, 8, 1)\n"
            "Fix: use (8, 8, 1), or a code of no group"
        )

    def test_it_is_not_kept(self):
        schedule = Schedule((32, 8, 1), Code(depth=16))

        assert "group" not in schedule.value()
        assert Schedule.of(schedule.value()).code.group == (32, 8, 1)
        with pytest.raises(InvalidInput):
            Schedule.of({**schedule.value(), "group": [32, 8, 1]})


def test_what_is_launched_and_covered_for_a_workgroup():
    code = Code(items=4, lines=3, planes=2, depth=8, loaders=2)
    schedule = Schedule((32, 4, 2), code)

    assert schedule.block == (32, 4, 6)
    assert schedule.tile == (128, 12, 4)
    assert schedule.code.items_by_axis == (4, 3, 2)


class TestParts:
    """A part that one of these forgot would make two schedules the same."""

    def test_each_has_an_odd_value_in_the_tests(self):
        assert ODD.keys() == PARTS.keys()
        assert all(ODD[name] != usual for name, usual in PARTS.items())

    def test_each_is_a_size_a_count_a_flag_or_the_order(self):
        assert sorted((*SIZES, *COUNTS, *FLAGS, "order")) == sorted(PARTS)

    def test_no_two_that_differ_in_one_are_the_same(self):
        one, usual = odd_ones(), Schedule((64, 2, 1))
        every = [usual, *one]

        assert len(set(every)) == len(every)
        assert len({json.dumps(schedule.value()) for schedule in every}) == len(every)
        assert len({schedule.place() for schedule in every}) == len(every)
        assert len({config_order(schedule) for schedule in every}) == len(every)
        assert usual.value() == {"workgroup": [64, 2, 1], **{n: PARTS[n] for n in OLDEST}}

    def test_only_what_follows_from_the_kernel_is_not_said(self):
        every = [one for one in odd_ones() if all(getattr(one.code, n) == PARTS[n] for n in UNSAID)]

        assert len({one.text for one in every}) == len(every) == len(PARTS) - len(UNSAID)
        assert Schedule((64, 1, 1), Code(checked=False, sized=True)).text == "64"

    @pytest.mark.parametrize(
        ("schedule", "text"),
        [
            (Schedule((32, 8, 1), Code(items=4, lines=4)), "32x8, 4 items strided, 4 lines"),
            (Schedule((8, 8, 4), Code(planes=2)), "8x8x4, 2 planes"),
            (Schedule((32, 8, 1), Code(depth=16, unroll=4)), "32x8, depth 16, unroll 4"),
            (Schedule((16, 1, 1), Code(depth=8, loaders=2)), "16, depth 8, loaders 2"),
            (Schedule((1, 1, 1)), "1"),
            (Schedule((1, 8, 1)), "1x8"),
            (Schedule((64, 1, 4)), "64x1x4"),
            (
                Schedule((64, 2, 1), Code(**ODD)),
                "64x2, 2 items blocked, vectors of 2, 2 rows, staged, 2 lines, 2 planes, depth 2,"
                " loaders 2, fitted, streamed, unroll 2, teams of 2, across rows, 2 shares,"
                " 2 kept, 2 abreast",
            ),
        ],
    )
    def test_they_are_said_in_a_few_words(self, schedule: Schedule, text: str):
        assert schedule.text == text

    def test_a_doubling_of_a_size_is_a_step(self):
        """Of what only changes how memory is filled, half a one."""
        usual = Schedule((64, 2, 1)).place()

        def steps(**parts: int) -> float:
            return math.dist(Schedule((64, 2, 1), Code(**parts)).place(), usual)

        assert [steps(lines=4), steps(planes=2)] == [2.0, 1.0]
        assert [steps(depth=1), steps(depth=15)] == [0.5, 2.0]
        assert steps(depth=1, loaders=1) == math.hypot(0.5, 0.5)


def test_an_order_may_be_given_by_its_word():
    assert Code(order="blocked").order is Order.BLOCKED


def test_the_default_width_is_64_on_a_cpu_and_256_on_a_gpu():
    assert (DeviceKind.CPU.default_width, DeviceKind.GPU.default_width) == (64, 256)


@pytest.mark.parametrize("elapsed_ns", [-1.0, inf, nan])
def test_a_measurement_is_a_finite_time(elapsed_ns: float):
    with pytest.raises(InvalidInput) as caught:
        measured(outcome=Timed(Schedule((1, 1, 1)), elapsed_ns))

    assert str(caught.value) == (
        f"a measurement of {elapsed_ns} ns\n"
        "Fix: give a finite time of at least 0, or a Failed outcome"
    )


@pytest.mark.parametrize("field", ["sequence", "size", "at_ns"])
def test_the_numbers_of_a_measurement_fit_63_bits(field: str):
    with pytest.raises(InvalidInput) as caught:
        measured(**{field: 1 << 63})

    assert "a measurement with sequence" in caught.value.problem
    assert caught.value.fix == "give numbers from 0 to 2**63 - 1"


def measured(**changes: object) -> Measurement:
    fields = {"writer": "w", "sequence": 1, "workload": workload(), "size": 1, "at_ns": 1}
    fields["outcome"] = Timed(Schedule((1, 1, 1)), 5.0)
    return Measurement(**(fields | changes))  # type: ignore[arg-type]


def test_an_error_survives_a_process_boundary():
    error = InvalidInput("what", "do that")

    rebuilt = type(error)(*error.args)

    assert isinstance(rebuilt, VyreError)
    assert str(rebuilt) == str(error) == "what\nFix: do that"


words = st.text(st.characters(codec="utf-8"), max_size=8)
integers = st.integers(-(2**63) + 1, 2**63 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
knobs = st.dictionaries(words, st.booleans() | integers | floats | words, max_size=6).map(Knobs.of)


class TestConfigs:
    """Two sorts, and what both promise."""

    @given(schedules() | knobs)
    def test_a_value_gives_the_config_back(self, config):
        back = config_of(json.loads(json.dumps(config.value())))

        assert back == config
        assert hash(back) == hash(config)
        assert back.text == config.text
        assert back.place() == config.place()
        assert config_order(back) == config_order(config)

    @given(st.lists(schedules() | knobs, max_size=5))
    def test_their_order_is_total(self, configs):
        """Of 1, 1.0 and True, too."""
        ordered, backwards = list(configs), configs[::-1]
        ordered.sort(key=config_order)
        backwards.sort(key=config_order)

        assert ordered == backwards

    @given(st.lists(schedules(), min_size=2, max_size=2))
    def test_schedules_have_places_of_one_length(self, two):
        assert len(two[0].place()) == len(two[1].place())
        assert (two[0] == two[1]) <= (two[0].place() == two[1].place())

    @given(
        st.dictionaries(
            words, st.sampled_from([integers | floats, st.booleans(), words]), min_size=1
        ).flatmap(lambda kinds: st.tuples(*[st.fixed_dictionaries(kinds)] * 2))
    )
    def test_knobs_of_one_space_have_finite_places_of_one_length(self, two):
        one, other = map(Knobs.of, two)

        assert len(one.place()) == len(other.place())
        assert all(map(isfinite, one.place()))

    def test_doublings_are_steps_of_one(self):
        at = [Knobs.of({"BLOCK": n}).place()[0] for n in (64, 128, 256)]

        assert at == [6.0, 7.0, 8.0]

    def test_places_go_on_below_one(self):
        at = [Knobs.of({"n": n}).place()[0] for n in (-1000, -1, -0.5, 0, 1)]

        assert at == sorted(at)

    def test_words_lie_near_each_other_and_apart(self):
        one, other = (Knobs.of({"layout": word}).place() for word in ("rows", "columns"))

        assert one != other
        assert max(abs(a - b) for a, b in zip(one, other, strict=True)) <= 0.6


class TestScheduleValues:
    def test_what_is_missing_has_its_default(self):
        assert Schedule.of({"workgroup": [64, 1, 1]}) == Schedule((64, 1, 1))
        assert config_of({"workgroup": (64, 1, 1), "items": 4}) == Schedule(
            (64, 1, 1), Code(items=4)
        )

    def test_rows_are_kept_where_there_are_several(self):
        """One row is what a version that knows of none has, so that it can read it."""
        one, four = (Schedule((64, 4, 1), Code(vector=16, rows=rows)) for rows in (1, 4))

        assert "rows" not in one.value()
        assert [Schedule.of(schedule.value()) for schedule in (one, four)] == [one, four]

    def test_a_field_of_another_version_is_refused(self):
        with pytest.raises(InvalidInput) as caught:
            Schedule.of({"workgroup": [64, 1, 1], "warps": 4, "stages": 2})

        assert str(caught.value) == (
            "a schedule with 'stages', 'warps'\nFix: upgrade vyre: another version has written it"
        )

    @pytest.mark.parametrize(
        ("value", "problem"),
        [
            ({}, "workgroup None of a schedule"),
            ({"workgroup": 64}, "workgroup 64 of a schedule"),
            ({"workgroup": "abc"}, "workgroup 'abc' of a schedule"),
            ({"workgroup": [64, 1, 1], "checked": 1}, "checked 1 of a schedule"),
            ({"workgroup": [64, 1, 1], "staged": 1}, "staged 1 of a schedule"),
            (
                {"fitted": None, "streamed": "x"},
                "workgroup None, fitted None, streamed 'x' of a schedule",
            ),
        ],
    )
    def test_what_a_field_cannot_hold_is_refused(self, value, problem):
        with pytest.raises(InvalidInput) as caught:
            Schedule.of(value)

        assert str(caught.value) == f"{problem}\nFix: give three sizes, and true or false"

    @pytest.mark.parametrize(
        "value",
        [
            {"workgroup": [64, 1]},
            {"workgroup": [64, 1, True]},
            {"workgroup": [64, 1, [1]]},
            {"workgroup": [64, 1, 1], "items": "4"},
            {"workgroup": [64, 1, 1], "items": None},
            {"workgroup": [64, 1, 1], "order": ["strided"]},
            {"workgroup": [64, 1, 1], "order": {}},
            {"workgroup": [64, 1, 1], 7: 7},
            {"workgroup": [64, 1, 1], "knobs": {}},
        ],
    )
    def test_hostile_values_are_refused_and_nothing_else_happens(self, value):
        with pytest.raises(InvalidInput):
            config_of(value)


class TestKnobs:
    def test_they_are_read_by_their_names(self):
        config = Knobs.of({"BLOCK": 256, "fast": True, "layout": "rows"})

        assert (config["BLOCK"], config["fast"], config["layout"]) == (256, True, "rows")
        assert config.text == "BLOCK=256, fast=True, layout=rows"
        assert config.build == config
        with pytest.raises(KeyError):
            config["WARPS"]

    def test_without_any_it_runs_as_it_is(self):
        assert Knobs(()).text == "as it is"
        assert Knobs(()).place() == ()
        assert config_of(Knobs(()).value()) == Knobs(())

    def test_one_and_true_are_two_settings(self):
        assert len({Knobs.of({"n": one}) for one in (1, 1.0, True, "1")}) == 4
        assert Knobs.of({"n": 1}) != Schedule((1, 1, 1))

    @pytest.mark.parametrize(
        ("settings", "shown"),
        [
            ((("BLOCK", None),), "('BLOCK', None)"),
            ((("BLOCK", nan),), "('BLOCK', nan)"),
            ((("BLOCK", inf),), "('BLOCK', inf)"),
            ((("BLOCK", 1 << 63),), "('BLOCK', 9223372036854775808)"),
            ((("BLOCK", [1]),), "('BLOCK', [1])"),
            (((1, 1),), "(1, 1)"),
            ((("\ud800", 1),), "('\\ud800', 1)"),
            ((("BLOCK", "\ud800"),), "('BLOCK', '\\ud800')"),
            (("BLOCK",), "'BLOCK'"),
            ([("BLOCK", 1)], "[('BLOCK', 1)]"),
            (None, "None"),
        ],
    )
    def test_what_is_no_pair_of_name_and_setting_is_refused(self, settings, shown):
        with pytest.raises(InvalidInput) as caught:
            Knobs(settings)

        assert str(caught.value) == (
            f"{shown} among knobs\n"
            "Fix: give pairs of a name and a plain number of 64 bits, a text, or true or false"
        )

    def test_a_name_is_given_once(self):
        with pytest.raises(InvalidInput) as caught:
            Knobs((("BLOCK", 1), ("BLOCK", 2)))

        assert str(caught.value) == (
            "knobs that name one twice: BLOCK=1, BLOCK=2\nFix: give each name once"
        )

    @pytest.mark.parametrize(
        ("settings", "problem"),
        [
            ({str(n): n for n in range(MOST_KNOBS + 1)}, "65 knobs of 120 letters"),
            ({"a": "x" * MOST_LETTERS}, "1 knobs of 1025 letters"),
        ],
    )
    def test_there_is_an_end_to_them(self, settings, problem):
        with pytest.raises(InvalidInput) as caught:
            Knobs.of(settings)

        assert str(caught.value) == (f"{problem}\nFix: give at most 64 of 1024 letters together")

    @pytest.mark.parametrize("value", [None, 7, "knobs", [], [("knobs", {})]])
    def test_what_is_no_value_is_refused(self, value):
        with pytest.raises(InvalidInput) as caught:
            config_of(value)

        assert str(caught.value) == f"a config of {value!r}\nFix: give what its value() gave"

    @pytest.mark.parametrize(
        "value", [{"knobs": []}, {"knobs": None}, {"knobs": {}, "workgroup": [1, 1, 1]}]
    )
    def test_what_is_no_value_of_knobs_is_refused(self, value):
        with pytest.raises(InvalidInput) as caught:
            config_of(value)

        assert str(caught.value) == f"knobs of {value!r}\nFix: give what their value() gave"

    @given(
        st.recursive(st.none() | floats | words, lambda v: st.lists(v) | st.dictionaries(words, v))
    )
    def test_whatever_a_stranger_wrote_is_a_config_or_refused(self, value):
        for one in (
            value,
            {"knobs": value},
            {"workgroup": value},
            {"workgroup": [1, 1, 1], "order": value},
        ):
            try:
                config = config_of(one)
            except InvalidInput:
                continue
            assert config_of(config.value()) == config


@pytest.mark.parametrize("code", [None, "items=4", 4])
def test_a_schedule_has_a_code(code):
    with pytest.raises(InvalidInput) as caught:
        Schedule((64, 1, 1), code)

    assert str(caught.value) == (
        f"code {code!r} of a schedule\nFix: give a vyre.Code, or leave it out"
    )
