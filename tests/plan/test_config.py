from dataclasses import fields
from datetime import timedelta

import pytest

from vyre.errors import InvalidInput, UnsupportedFeature
from vyre.plan.config import (
    DispatchConfig,
    PersistentThreadMode,
    SpeculationMode,
    refuse_unsupported,
)

SET = {
    "profile": "fast",
    "ulp_budget": 0,
    "timeout": timedelta(seconds=2),
    "label": "saxpy",
    "max_output_bytes": 0,
    "workgroup_override": (256, 1, 1),
    "grid_override": (4, 1, 1),
    "fixpoint_iterations": 1,
    "speculation": SpeculationMode.DISABLE,
    "persistent_thread": PersistentThreadMode.AUTO,
    "cooperative": True,
    "dispatch_elements": 1,
    "dispatch_grid": (1, 2, 3),
}


def test_a_config_has_the_thirteen_fields_and_all_of_them_start_unset():
    assert [item.name for item in fields(DispatchConfig)] == list(SET)
    refuse_unsupported(DispatchConfig(), "any", frozenset())


@pytest.mark.parametrize("name", SET)
def test_a_field_that_is_set_and_not_honoured_is_refused(name: str):
    config = DispatchConfig(**{name: SET[name]})

    with pytest.raises(UnsupportedFeature) as caught:
        refuse_unsupported(config, "opencl", frozenset(SET) - {name})

    assert str(caught.value) == (
        f"backend 'opencl' does not honour {name}={SET[name]}\n"
        f"Fix: leave out {name}, or use another backend"
    )
    refuse_unsupported(config, "opencl", frozenset({name}))


def test_everything_that_would_be_ignored_is_named_at_once():
    config = DispatchConfig(label="saxpy", cooperative=True, ulp_budget=3)

    with pytest.raises(UnsupportedFeature) as caught:
        refuse_unsupported(config, "reference", frozenset({"label"}))

    assert str(caught.value) == (
        "backend 'reference' does not honour ulp_budget=3, cooperative=True\n"
        "Fix: leave out ulp_budget, cooperative, or use another backend"
    )


def test_a_backend_cannot_honour_what_is_no_field():
    with pytest.raises(InvalidInput) as caught:
        refuse_unsupported(DispatchConfig(), "mine", frozenset({"lable"}))

    assert str(caught.value) == (
        "backend 'mine' honours lable, which DispatchConfig does not have\n"
        f"Fix: use some of {', '.join(SET)}"
    )


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("fixpoint_iterations", 0, "from 1 to 4294967295"),
        ("fixpoint_iterations", 2**32, "from 1 to 4294967295"),
        ("ulp_budget", 256, "from 0 to 255"),
        ("ulp_budget", -1, "from 0 to 255"),
        ("max_output_bytes", -1, "of at least 0"),
        ("dispatch_elements", 0, "from 1 to 4294967295"),
    ],
)
def test_a_number_out_of_its_range_is_refused(name: str, value: int, wanted: str):
    with pytest.raises(InvalidInput) as caught:
        DispatchConfig(**{name: value})

    assert str(caught.value) == (
        f"{name} {value}\nFix: use a number {wanted}, or None to leave it open"
    )


@pytest.mark.parametrize("name", ["workgroup_override", "grid_override", "dispatch_grid"])
@pytest.mark.parametrize("value", [(64, 1), (64, 1, 1, 1), (-1, 1, 1), (2**32, 1, 1)])
def test_a_shape_that_is_not_three_32_bit_numbers_is_refused(name: str, value: tuple[int, ...]):
    with pytest.raises(InvalidInput) as caught:
        DispatchConfig(**{name: value})

    assert str(caught.value) == (
        f"{name} {value}\nFix: give three numbers up to 4294967295, such as (256, 1, 1)"
    )


def test_a_timeout_of_nothing_is_refused():
    with pytest.raises(InvalidInput) as caught:
        DispatchConfig(timeout=timedelta())

    assert str(caught.value) == ("timeout 0:00:00\nFix: use a timeout above 0, or None for none")


def test_an_override_of_the_grid_wins_over_a_stated_coverage():
    assert DispatchConfig().fixed_grid is None
    assert DispatchConfig(dispatch_grid=(2, 1, 1)).fixed_grid == (2, 1, 1)
    assert DispatchConfig(dispatch_grid=(2, 1, 1), grid_override=(3, 1, 1)).fixed_grid == (3, 1, 1)
