"""Algebraic loops of running FMUs at the start, through the public functions, against their closed forms."""

import csv
import json
import math

import numpy as np
import pytest
from pytest import approx
from scipy.special import lambertw

import ssptool
from ssptool import Settings
from ssptool.engine.failure import Ending
from ssptool.engine.kernel.solutions import SolutionStatus

pytestmark = pytest.mark.one_in(3)


def start(folder, values=None, **settings):
    """Initialize only; `values` by name."""
    start_values = {name: repr(value) for name, value in (values or {}).items()}
    return ssptool.simulate(folder, start_values=start_values, settings=Settings(stop_time=0.0, **settings))


def value(result, name):
    return result.unwrap()[name][0]


RING = {"A": "Affine", "B": "Affine"}
BOTH_WAYS = [("A.y", "B.u"), ("B.y", "A.u")]


@pytest.mark.parametrize("gain", [-0.99, 0.5, 0.99, -1.0, -2.0, 3.0, -100.0, -1e4])
@pytest.mark.parametrize("init", ["auto", "newton", "aitken", "anderson"])
def test_a_loop_of_any_gain_is_solved(system, gain, init):
    """A.y = γ B.y + 3, B.y = A.y: both 3/(1 − γ)."""
    result = start(system(RING, BOTH_WAYS), {"A.a": gain, "A.c": 3.0}, init=init)
    assert value(result, "A.y") == approx(3 / (1 - gain), rel=1e-9)


def test_a_contradiction_is_refused_with_its_reason(system):
    """y = u + 1 both ways: A.y = A.y + 2 holds for no value."""
    result = start(system(RING, BOTH_WAYS), {"A.c": 1.0, "B.c": 1.0})
    assert result.status is Ending.LOOP
    (loop,) = result.initialization.loops
    assert loop.solution.status is SolutionStatus.INCONSISTENT
    assert loop.solution.residual_norm == approx(2.0)
    for phrase in ("contradict each other", "A.y", "B.y", "residual 2", "gain of exactly 1"):
        assert phrase in str(result.failure)


def test_equations_that_leave_their_unknowns_open_are_refused_with_the_reason(system):
    """y = u both ways: every value is a solution, and which one a solver finds is chance."""
    result = start(system(RING, BOTH_WAYS))
    assert result.status is Ending.LOOP
    assert result.initialization.loops[0].solution.status is SolutionStatus.UNDETERMINED
    for phrase in ("do not determine", "A.y", "comes back unchanged"):
        assert phrase in str(result.failure)


def test_two_equations_that_say_the_same_are_refused_with_the_direction_that_stays_open(system):
    """A = A/2 + B/2 and B = A/2 + B/2 hold for all A = B."""
    wires = [("A.y", "A.u"), ("B.y", "A.w"), ("A.y", "B.u"), ("B.y", "B.w")]
    result = start(system(RING, wires), {"A.a": 0.5, "A.b": 0.5, "B.a": 0.5, "B.b": 0.5})
    assert result.initialization.loops[0].solution.status is SolutionStatus.UNDETERMINED
    assert result.failure is not None and "a change of A.y by 1, B.y by 1 comes back" in result.failure.message


def test_a_double_root_is_a_solution_although_the_jacobian_is_singular_there(system):
    """u³ − 3u + 2 = (u − 1)²(u + 2): from 1.5 the iteration comes to 1, up to the root of what rounding leaves."""
    result = start(system({"C": "Cubic"}, [("C.y", "C.u")]), {"C.c": 2.0, "C.u": 1.5})
    assert value(result, "C.y") == approx(1.0, abs=1e-5)


@pytest.mark.parametrize(("guess", "solution"), [(1.4, 1.0), (0.7, 1.0), (-1.7, -2.0), (-3.0, -2.0)])
def test_of_two_solutions_the_one_nearest_to_the_start_value_is_found(system, guess, solution):
    """u³ − 3u + 2 has the roots 1 and −2: each is reached from start values close to it."""
    result = start(system({"C": "Cubic"}, [("C.y", "C.u")]), {"C.c": 2.0, "C.u": guess})
    assert value(result, "C.y") == approx(solution, abs=1e-5)


def test_of_three_simple_solutions_each_is_found_from_close_by(system):
    """u³ − 3u = 0: −√3, 0 and √3."""
    folder = system({"C": "Cubic"}, [("C.y", "C.u")])
    for guess, solution in ((-1.5, -math.sqrt(3)), (0.1, 0.0), (1.5, math.sqrt(3))):
        assert value(start(folder, {"C.c": 0.0, "C.u": guess}), "C.y") == approx(solution, abs=1e-11)


def test_homotopy_passes_the_minimum_of_the_residual_that_stops_newton(system):
    """u³ − 3u + 3 = 0 from u = 2: the residual has a minimum at 1, the only root is −2.1038."""
    folder = system({"C": "Cubic"}, [("C.y", "C.u")])
    root = -(((3 + math.sqrt(5)) / 2) ** (1 / 3)) - ((3 - math.sqrt(5)) / 2) ** (1 / 3)  # Cardano
    assert not start(folder, {"C.u": 2.0}, init="newton").ok
    for init in ("homotopy", "auto"):
        result = start(folder, {"C.u": 2.0}, init=init)
        assert value(result, "C.y") == approx(root, rel=1e-11)


@pytest.mark.parametrize("fmu", ["Logarithm", "Discarding"])
@pytest.mark.parametrize("guess", [1.0, 30.0, 1e3])
def test_values_that_an_fmu_rejects_shorten_the_step(system, fmu, guess):
    """log u = −1: from u = e² and beyond the full Newton step leads to u < 0, where the FMU gives nan or discards."""
    result = start(system({"L": fmu}, [("L.y", "L.u")]), {"L.u": guess})
    assert value(result, "L.y") == approx(math.exp(-1), rel=1e-11)


def test_start_values_that_an_fmu_rejects_are_reported_with_its_words(system):
    result = start(system({"L": "Discarding"}, [("L.y", "L.u")]), {"L.u": 1.0, "L.c": 800.0})
    assert result.status is Ending.LOOP  # the solution e^800 is not a number
    assert "L.y" in str(result.failure)


def ring_of_neighbours(count):
    """y_i = u_i/4 + w_i/4 + c_i with the neighbours' y on a ring: 3·count signals in one loop."""
    names = [f"N{i:03}" for i in range(count)]
    wires = []
    for i, name in enumerate(names):
        wires += [(f"{names[i - 1]}.y", f"{name}.u"), (f"{names[(i + 1) % count]}.y", f"{name}.w")]
    return names, wires


def test_a_loop_of_two_hundred_signals_is_solved(system):
    """A circulant system with the eigenvalues 1 − cos(2πk/n)/2; here for a source c = 1 in one place."""
    names, wires = ring_of_neighbours(67)
    values = {f"{name}.{gain}": 0.25 for name in names for gain in "ab"} | {"N000.c": 1.0}
    result = start(system(dict.fromkeys(names, "Affine"), wires), values)
    loop = result.initialization.loops[0]
    assert len(loop.signals) == 201
    spectrum = 1 - np.cos(2 * np.pi * np.arange(67) / 67) / 2
    exact = np.fft.ifft(1 / spectrum).real
    assert [value(result, f"{name}.y") for name in names] == approx(exact, rel=1e-10, abs=1e-13)


def test_nested_loops_are_one_block_with_one_solution(system):
    """B and C feed each other, and A feeds B with what C answers: a loop in a loop.

    A = C/2 + 1, B = A + C/4, C = 2 B  ⇒  B = C/2, A = C/4  ⇒  C/4 = C/2 + 1, C = −4.
    """
    wires = [("C.y", "A.u"), ("A.y", "B.u"), ("C.y", "B.w"), ("B.y", "C.u")]
    values = {"A.a": 0.5, "A.c": 1.0, "B.b": 0.25, "C.a": 2.0}
    result = start(system(dict.fromkeys("ABC", "Affine"), wires), values)
    assert [value(result, f"{name}.y") for name in "ABC"] == approx([-1.0, -2.0, -4.0], rel=1e-11)
    assert len(result.initialization.loops) == 2  # one in each stage


def test_a_loop_behind_a_loop_takes_its_solution(system):
    """A = A/2 + 1 = 2 feeds B = A + B/2 = 4."""
    wires = [("A.y", "A.u"), ("A.y", "B.u"), ("B.y", "B.w")]
    result = start(system(RING, wires), {"A.a": 0.5, "A.c": 1.0, "B.b": 0.5})
    assert (value(result, "A.y"), value(result, "B.y")) == approx((2.0, 4.0), rel=1e-11)
    assert len(result.initialization.loops) == 4


# -- the log -------------------------------------------------------------------------------------------------


def test_the_log_has_every_iterate_of_every_loop(system, tmp_path):
    log = tmp_path / "loops.csv"
    result = start(system({"C": "Cubic"}, [("C.y", "C.u")]), {"C.c": 0.0, "C.u": 1.5}, log_loops=log)
    with log.open(newline="") as file:
        rows = list(csv.DictReader(file))
    first, second = result.initialization.loops
    assert [row["stage"] for row in rows] == ["initialization"] * first.solution.iterations + [
        "communication"
    ] * second.solution.iterations
    begin = [row for row in rows if row["stage"] == "initialization"]
    assert [abs(float(row["residual"])) for row in begin] == list(first.solution.history)
    assert [row["iteration"] for row in begin] == [str(n + 1) for n in range(len(begin))]
    assert float(begin[0]["value"]) == 1.5 and float(begin[-1]["value"]) == first.solution.x[0]
    assert {row["signal"] for row in rows} == {"C.y"} and rows[0]["solver"].startswith("Newton")


def test_the_log_shows_the_iterates_during_the_run_and_changes_no_bit_of_it(system, tmp_path):
    log = tmp_path / "loops.jsonl"
    folder = system({"A": "Affine", "L": "Logarithm"}, [("A.y", "L.u"), ("L.y", "A.u")])
    start_values = {"A.a": "0.5", "A.c": "1"}
    plain = ssptool.simulate(folder, start_values=start_values, settings=Settings(stop_time=0.1, step_size=0.01))
    logged = ssptool.simulate(
        folder, start_values=start_values, settings=Settings(stop_time=0.1, step_size=0.01, log_loops=log)
    )
    assert np.array_equal(plain.unwrap().y, logged.unwrap().y)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {round(line["time"], 9) for line in lines} == {round(k * 0.01, 9) for k in range(11)}
    assert all(set(line["values"]) == set(line["residuals"]) for line in lines)


def test_rejected_points_are_in_the_log_without_residual(system, tmp_path):
    log = tmp_path / "loops.jsonl"
    folder = system({"L": "Discarding"}, [("L.y", "L.u")])
    start(folder, {"L.c": -5.0}, log_loops=log, init="anderson")  # from 1, the first proposal is −4
    first, second, *_ = (json.loads(line) for line in log.read_text().splitlines())
    assert (first["residuals"], second["residuals"]) == ({"L.y": -5.0}, {"L.y": None})


def test_a_loop_starts_from_the_start_value_of_an_input_where_the_computed_output_is_rejected(system):
    """From u = 1 the component computes y = −4, at which it cannot be; the solution e^−5 is found from 1."""
    result = start(system({"L": "Discarding"}, [("L.y", "L.u")]), {"L.c": -5.0})
    assert value(result, "L.y") == approx(math.exp(-5), rel=1e-10)


def test_the_start_value_of_an_input_is_taken_back_through_the_connection(system):
    """u = 2 y − 6 and y = u − log u − 5: the first guess of y leads to u = −14, the one that u = 1 comes from is 3.5.

    log u = u/2 − 8 has two solutions, by the branches of Lambert's function; the one below 1 is nearer.
    """
    folder = system({"L": "Discarding"}, [("L.y", "L.u")])
    structure = folder / "SystemStructure.ssd"
    text = structure.read_text()
    end = text.index("/>", text.index("<ssd:Connection "))
    inner = '><ssc:LinearTransformation factor="2" offset="-6"/></ssd:Connection>'
    structure.write_text(text[:end] + inner + text[end + 2 :])
    result = start(folder, {"L.c": -5.0})
    u = -2 * lambertw(-math.exp(-8) / 2).real
    assert value(result, "L.y") == approx((u + 6) / 2, rel=1e-9)


def test_a_log_of_another_format_is_refused(system, tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.csv or \.jsonl, found 'loops\.txt'"):
        start(system(RING, BOTH_WAYS), log_loops=tmp_path / "loops.txt")
