"""Designs have the properties that they are known for."""

import numpy as np
import pytest
from pytest import approx
from scipy import stats

from ssptool.studies.designs import (
    GridDesign,
    LatinHypercube,
    Levels,
    LogNormal,
    Normal,
    OneAtATime,
    Range,
    Sobol,
    Triangular,
    normal_correlation,
)

UNIT = {"a": Range(0.0, 1.0), "b": Range(0.0, 1.0)}


def test_a_grid_has_every_combination_and_the_last_factor_varies_fastest():
    columns = GridDesign().columns({"a": Levels((1, 2)), "b": Range(0.0, 1.0, 3)}, {})
    assert list(zip(columns["a"], columns["b"], strict=True)) == [(1, 0), (1, 0.5), (1, 1), (2, 0), (2, 0.5), (2, 1)]


def test_levels_of_a_logarithmic_range_have_equal_ratios():
    assert Range(1.0, 100.0, 3, log=True).levels() == approx((1, 10, 100))


def test_one_at_a_time_leaves_the_nominal_point_in_one_factor():
    sources = {"a": Levels((1.0, 2.0, 3.0)), "b": Range(10.0, 30.0)}
    columns = OneAtATime().columns(sources, {"a": 2.0, "b": 20.0})
    points = list(zip(columns["a"], columns["b"], strict=True))
    assert points == [(2, 20), (1, 20), (3, 20), (2, 10), (2, 30)]


@pytest.mark.parametrize("correlations", [(), (("a", "b", 0.7),)])
def test_a_latin_hypercube_has_one_value_in_each_class_of_each_factor(correlations):
    columns = LatinHypercube(50, 3, correlations).columns(UNIT, {})
    for column in columns.values():
        assert sorted(np.floor(np.array(column) * 50)) == list(range(50))


def test_a_sobol_sequence_is_balanced():
    """Each of the 4 × 4 elementary boxes has 1/16 of the points: a (0, m, 2)-net in base 2."""
    columns = Sobol(64, 1).columns(UNIT, {})
    boxes, _, _ = np.histogram2d(columns["a"], columns["b"], bins=4, range=[[0, 1], [0, 1]])
    assert (boxes == 4).all()


@pytest.mark.parametrize("design", [LatinHypercube, Sobol])
def test_a_seed_gives_the_same_points_and_another_gives_others(design):
    one, same, other = (design(16, seed).columns(UNIT, {}) for seed in (1, 1, 2))
    assert one == same
    assert one != other


@pytest.mark.parametrize("design", [LatinHypercube, Sobol])
@pytest.mark.parametrize("rank", [0.8, -0.5])
def test_correlated_factors_have_the_rank_correlation_that_was_asked_for(design, rank):
    sources = {"a": Range(0.0, 1.0), "b": Normal(3.0, 2.0), "c": LogNormal(1.0, 0.5)}
    columns = design(4096, 5, (("a", "c", rank),)).columns(sources, {})
    # The standard deviation of Spearman's rho of 4096 independent draws is 1/√4095 = 0.016; these are more even.
    assert stats.spearmanr(columns["a"], columns["c"]).statistic == approx(rank, abs=0.02)
    assert stats.spearmanr(columns["a"], columns["b"]).statistic == approx(0, abs=0.05)


def test_correlation_leaves_the_distribution_of_each_factor():
    sources = {"a": Triangular(0.0, 0.2, 1.0), "b": Normal(3.0, 2.0)}
    columns = Sobol(1024, 5, (("a", "b", 0.9),)).columns(sources, {})
    assert stats.kstest(columns["b"], stats.norm(3, 2).cdf).pvalue > 0.05
    assert stats.kstest(columns["a"], stats.triang(0.2, 0, 1).cdf).pvalue > 0.05


def test_correlations_that_contradict_each_other_are_refused():
    with pytest.raises(ValueError, match="eigenvalue"):
        normal_correlation(["a", "b", "c"], (("a", "b", 0.9), ("b", "c", 0.9), ("a", "c", -0.9)))


def test_quantiles_are_those_of_the_distributions():
    u = np.array([0.5])
    assert Normal(3.0, 2.0).at(u) == approx(3.0)
    assert LogNormal(3.0, 2.0).at(u) == approx(3.0)
    assert Triangular(0.0, 1.0, 2.0).at(u) == approx(1.0)
    assert Range(1.0, 100.0, log=True).at(u) == approx(10.0)
    assert Normal(0.0, 1.0, low=-1.0, high=1.0).at(np.array([0.0, 1.0])) == approx([-1, 1])
    assert Levels(("x", "y")).at(np.array([0.1, 0.5, 0.999, 1.0])) == ["x", "y", "y", "y"]
