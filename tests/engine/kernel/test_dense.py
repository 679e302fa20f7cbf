"""Small dense linear algebra: closed forms, and numpy's answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from ssptool.engine.kernel import _methods

lu = _methods.NativeLu


def matrices(seed, extra_columns=0):
    """Of 1 to 8 rows, with elements of sizes that differ by orders of magnitude, some zero."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 9))
    shape = (rows, rows + extra_columns)
    elements = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, size=shape)
    return np.where(rng.random(shape) < 0.2, 0.0, elements)


def hilbert(size):
    i = np.arange(size)
    return 1.0 / (1.0 + i[:, None] + i)


def test_the_largest_element_is_the_pivot():
    """Pivots of [[1, 2], [3, 8]]: 8, then 1 − 2·3/8 = 1/4."""
    found = lu(np.array([[1.0, 2.0], [3.0, 8.0]]))
    assert (found.rank, found.smallest_pivot, found.largest_pivot) == (2, 0.25, 8.0)
    assert found.regular(0.03) and not found.regular(0.04)
    assert found.solve(np.array([1.0, 1.0])).tolist() == [3.0, -1.0]


@pytest.mark.parametrize("size", [1, 2, 4, 6])
def test_a_hilbert_matrix_has_an_inverse_of_integers(size):
    inverse = lu(hilbert(size)).inverse()
    assert np.max(np.abs(inverse - np.round(inverse))) <= 1e-14 * np.linalg.cond(hilbert(size)) * np.max(inverse)
    assert inverse[0, 0] == approx(size**2, rel=1e-14 * np.linalg.cond(hilbert(size)))


@given(seed=st.integers(0, 100_000))
@settings(max_examples=60)
def test_it_solves_what_numpy_solves(seed):
    a = matrices(seed)
    if np.linalg.cond(a) > 1e10:
        return
    b = np.random.default_rng(seed + 1).normal(size=len(a))
    found = lu(a)
    assert np.max(np.abs(a @ found.solve(b) - b)) <= 1e-13 * np.max(np.abs(a)) * np.max(np.abs(found.solve(b)))
    assert found.inverse() == approx(np.linalg.inv(a), rel=1e-5, abs=1e-9 * np.max(np.abs(np.linalg.inv(a))))


def test_a_singular_matrix_has_a_null_vector():
    """Rank 2 of 3: row 3 is the sum of the others; A (1, −2, 1) = 0."""
    a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [5.0, 7.0, 9.0]])
    found = lu(a)
    assert not found.regular(1e-14)
    z = found.null_vector()
    assert z / z[0] == approx([1.0, -2.0, 1.0], rel=1e-14)
    assert np.max(np.abs(z)) >= 1.0 and np.max(np.abs(a @ z)) <= 1e-14


def test_a_matrix_of_rank_one_has_a_null_vector_too():
    found = lu(np.ones((3, 3)))
    assert (found.rank, found.smallest_pivot) == (1, 0.0)
    assert sorted(found.null_vector().tolist()) == [-1.0, 0.0, 1.0]
    assert lu(np.zeros((2, 2))).null_vector().tolist() == [1.0, 0.0]


@given(seed=st.integers(0, 100_000))
@settings(max_examples=60)
def test_the_null_vector_of_one_row_too_few_is_the_tangent(seed):
    a = matrices(seed, extra_columns=1)
    z = lu(a).null_vector()
    assert np.max(np.abs(z)) >= 1.0
    assert np.max(np.abs(a @ z)) <= 1e-12 * np.max(np.abs(a), initial=1.0) * np.max(np.abs(z))


def test_an_inverse_does_not_depend_on_units():
    """Pascals beside cubic metres per second: singular to rounding as it stands, regular in units of its own."""
    units = np.array([1e9, 1.0, 1e-12])
    a = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
    found = _methods.inverse_of(units[:, None] * a / units)
    assert found is not None
    assert found * units / units[:, None] == approx(np.linalg.inv(a), rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("wrong", [np.ones((2, 2)), np.array([[np.nan]]), np.array([[np.inf]]), np.zeros((1, 1))])
def test_what_has_no_inverse_gets_none(wrong):
    assert _methods.inverse_of(wrong) is None


def test_a_correction_is_the_least_squares_answer():
    rng = np.random.default_rng(3)
    v, w, residual = rng.normal(size=(6, 3)), rng.normal(size=(6, 3)), rng.normal(size=6)
    columns = list(zip(np.ascontiguousarray(v.T), np.ascontiguousarray(w.T), strict=True))
    alpha, *_ = np.linalg.lstsq(v, -residual, rcond=None)
    assert _methods.correction(columns, residual, 1e-12) == approx(w @ alpha, rel=1e-12)


def test_a_correction_leaves_out_a_column_that_depends_on_those_before():
    """The second column is the first but for 1e-6: with it the answer would be (1e6, 0), not (0, −1)."""
    first = (np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    second = (np.array([1.0, 1e-6]), np.array([1.0, 1.0]))
    residual = np.array([1.0, 1.0])
    assert _methods.correction([first, second], residual, 1e-3).tolist() == [0.0, -1.0]
    assert _methods.correction([first, second], residual, 1e-9)[0] == approx(-1e6)
    assert _methods.correction([], residual, 1e-3).tolist() == [0.0, 0.0]
