"""The inverse square root, against an eigen-decomposition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vyre
from vyre.errors import InvalidInput
from vyre.substrate import fixed, inverse_root, product_on
from vyre.substrate.root import CLOSE, CONDITION, host_product, rounds_for


def covariance(values, seed):
    """A symmetric matrix of these eigenvalues in random directions."""
    n = len(values)
    turn, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))
    return (turn * np.array(values)) @ turn.T


def by_eigenvalues(matrix, shift=0.0):
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors / np.sqrt(values + shift)) @ vectors.T


@given(
    st.lists(st.floats(1e-5, 1.0), min_size=1, max_size=24),
    st.integers(0, 1 << 30),
    st.sampled_from([1e-9, 1.0, 1e6]),
)
def test_it_is_what_an_eigen_decomposition_gives(values, seed, unit):
    values[0] = 1.0
    matrix = covariance(values, seed) * unit

    found = inverse_root(matrix)

    exact = by_eigenvalues(matrix)
    assert not found.regularised
    assert np.abs(found.root - exact).max() <= 1e-7 * np.abs(exact).max()


def test_the_rounds_are_known_beforehand_whatever_the_matrix():
    assert [len(rounds_for(10.0**power)) for power in (1, 2, 4, 6, 8)] == [6, 7, 10, 12, 14]
    assert inverse_root(np.eye(3)).rounds == inverse_root(covariance([1, 1e-5], 0)).rounds == 12


@given(st.floats(1.0, 1e12), st.floats(0.0, 1.0))
def test_the_bound_holds_for_every_eigenvalue_in_the_interval(condition, place):
    """On numbers, the iteration is what happens to each eigenvalue."""
    value = condition**-place
    singular = value**0.5
    for scale in rounds_for(condition):
        singular = scale * singular * (3 - (scale * singular) ** 2) / 2

    assert abs(1 - singular) < 1e-12


@pytest.mark.parametrize("least", [0.0, 1e-9, -1e-12])
def test_a_nearly_singular_matrix_is_regularised_and_says_so(least):
    matrix = covariance([1.0, 0.5, least], 3)

    found = inverse_root(matrix)

    exact = by_eigenvalues(matrix, found.shift)
    assert found.regularised
    assert 0 < found.shift <= 2 / CONDITION
    assert found.residual <= CLOSE
    assert np.abs(found.root - exact).max() <= 1e-6 * np.abs(exact).max()


def test_a_negative_eigenvalue_is_refused():
    with pytest.raises(InvalidInput) as error:
        inverse_root([[1.0, 2.0], [2.0, 1.0]])

    assert error.value.problem.startswith("a matrix with a negative eigenvalue: after 12 rounds ")
    assert error.value.fix == "give a covariance or Fisher matrix, which has none"


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        ([[1.0, 2.0]], "a matrix of shape (1, 2)\nFix: give a square matrix"),
        (np.zeros((0, 0)), "a matrix of shape (0, 0)\nFix: give a square matrix"),
        (
            [[np.nan]],
            "a matrix with entries that are not finite\nFix: give finite numbers",
        ),
        (
            [[1.0, 0.5], [0.0, 1.0]],
            "a matrix that is not symmetric\nFix: give a covariance or Fisher matrix",
        ),
        ([[0.0]], "a matrix of zeros has no inverse\nFix: give it a diagonal"),
    ],
)
def test_what_has_no_root_is_refused(matrix, said):
    with pytest.raises(InvalidInput) as error:
        inverse_root(matrix)

    assert str(error.value) == said


@pytest.mark.parametrize("device", vyre.devices(), ids=lambda device: device.name)
@pytest.mark.parametrize("n", [1, 5, 20])
def test_a_device_gives_the_bits_of_the_host(device, n):
    matrix = covariance(np.linspace(0.01, 1.0, n), n)

    found = inverse_root(matrix, product=product_on(device.dispatch))

    assert found.root.tobytes() == inverse_root(matrix, product=host_product).root.tobytes()


def test_a_real_inverse_root_has_negative_entries_and_the_step_keeps_their_sign():
    root = fixed.to_q16(inverse_root([[1.0, 0.6], [0.6, 1.0]]).root)

    found = fixed.precondition_q16(root, np.array([65536, 0]))

    assert root[1, 0] < 0
    assert found.tolist() == root[:, 0].tolist()
