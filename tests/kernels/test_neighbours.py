"""Neighbours within a radius, against NumPy on every point."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vyre
from vyre import InvalidInput, UnsupportedFeature, Way
from vyre.kernels.distances import nearby
from vyre.kernels.neighbours import PointSet


def expected(points, query, radius):
    """The kernel's own arithmetic: f32, summed axis by axis."""
    total = np.zeros(len(points), np.float32)
    for axis in range(points.shape[1]):
        d = points[:, axis] - query[axis]
        total += d * d
    near = np.flatnonzero(total <= np.float32(radius * radius))
    return near, total[near]


@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.floats(0, 8),
    st.floats(0.1, 3),
    st.sampled_from([*Way, None]),
    st.sampled_from(["reference", "cpu", "opencl"]),
)
@settings(max_examples=80)
def test_every_way_finds_exactly_the_points_that_numpy_finds(seed, axes, radius, far, way, name):
    try:
        device = vyre.open(name)
    except UnsupportedFeature:
        return
    random = np.random.default_rng(seed)
    points = random.standard_normal((200, axes), dtype=np.float32)
    query = (far * random.standard_normal(axes)).astype(np.float32)

    found = PointSet(points, device=device).within(query, radius, way=way)

    indices, squared = expected(points, query, radius)
    assert np.array_equal(found.indices, indices)
    assert np.array_equal(found.squared, squared)


@given(st.integers(0, 10**6), st.floats(1e-30, 1e18))
@settings(max_examples=60)
def test_the_coarse_test_never_says_no_wrongly_whatever_the_scale(seed, scale):
    random = np.random.default_rng(seed)
    points = (scale * random.uniform(-1, 1, (50, 4))).astype(np.float32)
    query = (scale * random.uniform(-2, 2, 4)).astype(np.float32)
    radius = float(scale * random.uniform(0, 2))

    found = PointSet(points).within(query, radius)

    assert np.array_equal(found.indices, expected(points, query, radius)[0])


def test_a_point_at_the_query_itself_is_near_at_radius_0():
    points = PointSet([[1.0, 2.0], [1.0, 2.5]])

    found = points.within([1.0, 2.0], 0.0)

    assert (found.indices.tolist(), found.squared.tolist()) == ([0], [0.0])


def test_no_points_have_no_neighbours():
    assert PointSet(np.zeros((0, 3))).within([0, 0, 0], 1.0).indices.tolist() == []


def test_points_that_are_all_0_are_found():
    assert PointSet(np.zeros((3, 2))).within([0, 0], 1.0).indices.tolist() == [0, 1, 2]


def test_the_prefilter_passes_its_own_check():
    random = np.random.default_rng(0)
    points = random.standard_normal((500, 8), dtype=np.float32)
    coarse = np.clip(np.rint(points * 30), -127, 127).astype(np.int8)

    near, _ = nearby(
        coarse, coarse[0], points, points[0], most=9 * 900, squared_radius=4.0, check=True
    )

    assert near[0] == 1


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (
            [1.0, 2.0],
            "points of shape (2,)\nFix: give an array of finite numbers, a row for each point",
        ),
        (
            [[1.0, float("nan")]],
            "points of shape (1, 2), some of them not finite\n"
            "Fix: give an array of finite numbers, a row for each point",
        ),
    ],
)
def test_points_that_are_none_are_refused(points, message):
    with pytest.raises(InvalidInput) as error:
        PointSet(points)

    assert str(error.value) == message


def test_a_query_of_other_axes_is_refused():
    with pytest.raises(InvalidInput) as error:
        PointSet([[1.0, 2.0]]).within([1.0], 1.0)

    assert str(error.value) == "query [1.]\nFix: give 2 finite numbers"


def test_a_radius_below_0_is_refused():
    with pytest.raises(InvalidInput) as error:
        PointSet([[1.0, 2.0]]).within([1.0, 2.0], -1.0)

    assert str(error.value) == "a radius of -1.0\nFix: give a finite number of at least 0"
