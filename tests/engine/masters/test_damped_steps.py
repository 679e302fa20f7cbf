"""Couplings that are stiff for the size of the step: inputs at the end of a step where they would ring, and Newton's
method where other iterates do not converge.
"""

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool import Settings
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.stepping.simulation import SteppedRun
from tests.accuracy.measured import true_error
from tests.accuracy.parts import Part, write_part
from tests.accuracy.systems import linear, oscillator, thermal
from tests.engine.dual_mass import Folder, network
from tests.engine.systems import write_system
from tests.exporting.fmus import assert_same_bits, exported, in_fmpy

pytestmark = pytest.mark.one_in(3)

ABLE = {"saves": True, "follows": True}


def write(folder, parts, wires, version=2):
    folder.mkdir(exist_ok=True)
    for name, part in parts.items():
        write_part(folder / f"{name}.fmu", part, version)
    return write_system(folder / "system", folder, {name: name for name in parts}, wires, 1.0)


def simulate(folder, **options):
    return ssptool.simulate(folder, output=None, settings_file=False, **options)


def damped(result):
    return [note for note in result.notes if "at the end of the step" in note and "stiff" in note]


# -- heat: T' = -k T / C, cut between a body and a link to a wall of 250 K

CAPACITY, WALL, HOT = 2.5, 250.0, 390.0
BODY = Part(
    inputs={"q": 0.0},
    parameters={"size": CAPACITY},
    states={"heat": (HOT, "q / size")},
    outputs={"T": "heat"},
)
LINK = Part(inputs={"T": HOT}, parameters={"k": 1.0}, outputs={"q": f"k * ({WALL} - T)"})
TO_WALL = [("Body.T", "Link.T"), ("Link.q", "Body.q")]


@pytest.fixture(scope="module")
def bodies(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bodies")
    made = {"Body": BODY, "Link": LINK}
    return {
        kind: write(folder / kind, {name: part.able(**can) for name, part in made.items()}, TO_WALL)
        for kind, can in (("follows", ABLE), ("holds", {"saves": True}))
    }


@pytest.mark.parametrize("kind", ["follows", "holds"])
@pytest.mark.parametrize("z", [10.0, 1e3, 1e5, 1e7])
def test_a_stiff_part_is_gone_after_a_step(bodies, kind, z):
    """T1 - wall = (T0 - wall) / (1 + z), as the implicit Euler method makes it with z = k h / C: 0 for ever stiffer
    links, where the trapezoidal rule and the midpoint rule leave -1.
    """
    h = 0.02
    values = {"Link.k": str(z * CAPACITY / h)}
    result = simulate(bodies[kind], stop_time=10 * h, step_size=h, start_values=values, accuracy="off")
    excess = result.unwrap()["Body.T"] - WALL
    assert excess[1] == approx((HOT - WALL) / (1 + z), rel=1e-5, abs=1e-5 * HOT)
    assert np.all(np.abs(excess[3:]) <= 2 * (HOT - WALL) / (1 + z) ** 2 + 1e-5 * HOT)


@pytest.mark.parametrize("kind", ["follows", "holds"])
@pytest.mark.parametrize(("k", "version"), [(1e4, 2), (1e5, 3), (1e6, 2), (1e7, 3), (1e8, 2), (1e8, 3)])
def test_stiff_thermal_links_are_right_to_the_stated_accuracy(tmp_path, kind, version, k):
    made = thermal(k, **(ABLE if kind == "follows" else {"saves": True}))
    folder = write(tmp_path / "made", made.parts, made.wires, version)
    result = simulate(folder, stop_time=made.stop, accuracy="check")
    error, signal = true_error(made, result)
    assert error <= 3 * result.accuracy.error and error < 0.1, signal
    assert "RUN-101" not in [warning.code for warning in result.warnings]
    late = result.t > 0.1
    exact = made.exact(result.t[late])
    assert max(np.max(np.abs(result[name][late] - exact[name])) for name in exact) < 0.02  # of 100 K


def test_between_stiff_starts_the_order_is_two(tmp_path):
    """A source moves a stiff line of bodies smoothly: what is left behind the start falls with the square of the step.

    z = k h / C is 6 … 24: interpolated inputs would alternate, and fade.
    """
    body = BODY.able(inputs={"q": 0.0, "p": 0.0}, states={"heat": (HOT, "(q + p) / size")}, **ABLE)
    wall = Part(inputs={"T": HOT}, outputs={"q": "3 * (300 + 40 * sin(2 * time) - T)"}, **ABLE)
    link = Part(
        inputs={"one": HOT, "other": HOT}, outputs={"forth": "1500 * (one - other)", "back": "1500 * (other - one)"}
    ).able(**ABLE)
    wires = [("A.T", "Link.one"), ("B.T", "Link.other"), ("Link.back", "A.q"), ("Link.forth", "B.q")]
    wires += [("A.T", "Wall.T"), ("Wall.q", "A.p")]
    folder = write(tmp_path / "made", {"A": body, "B": body, "Link": link, "Wall": wall}, wires)
    matrix = np.zeros((5, 5))
    matrix[0] = [-1503 / CAPACITY, 1500 / CAPACITY, 120 / CAPACITY, 0, 900 / CAPACITY]
    matrix[1, :2] = 1500 / CAPACITY, -1500 / CAPACITY
    matrix[2, 3], matrix[3, 2] = 2, -2
    exact = linear(("A.T", "B.T", "", "", ""), matrix.tolist(), [HOT, HOT, 0, 1, 1])
    errors = []
    for h in (0.04, 0.02, 0.01):
        result = simulate(folder, stop_time=4.0, step_size=h, accuracy="off")
        late = result.t > 3.0
        errors.append(max(np.max(np.abs(result[name][late] - exact(result.t)[name][late])) for name in ("A.T", "B.T")))
    assert np.diff(np.log2(errors)) == approx([-2, -2], abs=0.3)


# -- two masses with backlash, which exchange 0.5 J


def mass(speed, sign):
    rate = f"{sign}f / size"
    return Part(
        inputs={"f": 0.0},
        parameters={"size": 1.0},
        states={"x": (0.0, "w"), "w": (speed, rate)},
        outputs={"place": "x", "speed": "w"},
    )


GAP = Part(
    inputs={"x1": 0.0, "x2": 0.0},
    parameters={"k": 1e5},
    outputs={"f": "k * (fmax(x1 - x2 - 0.01, 0) + fmin(x1 - x2 + 0.01, 0))"},
)
WITH_GAP = [("A.place", "Gap.x1"), ("B.place", "Gap.x2"), ("Gap.f", "A.f"), ("Gap.f", "B.f")]


@pytest.fixture(scope="module")
def backlash(tmp_path_factory):
    folder = tmp_path_factory.mktemp("backlash")
    made = {"A": mass(1.0, "-"), "B": mass(0.0, ""), "Gap": GAP}
    return write(folder / "made", {name: part.able(**ABLE) for name, part in made.items()}, WITH_GAP)


@pytest.mark.parametrize(("k", "h"), [(1e5, 0.01), (1e7, 0.001)])
def test_unresolved_impacts_create_no_energy(backlash, k, h):
    """Over a step the force at its end works on the way in between, which is no more than a convex potential loses.

    With interpolated inputs an impact of k h²/m >> 1 returns six times the momentum.
    """
    result = simulate(backlash, stop_time=2.0, step_size=h, start_values={"Gap.k": str(k)}, accuracy="off")
    one, other = result.unwrap()["A.speed"], result["B.speed"]
    assert one + other == approx(1.0, abs=1e-6)
    assert np.max(one**2 + other**2) <= 1 + 1e-6
    assert damped(result)


# -- what was right before


@pytest.mark.parametrize("h", [0.1, 0.02])
def test_what_is_not_stiff_has_the_bits_of_interpolated_inputs(tmp_path, h):
    made = oscillator(**ABLE)
    folder = write(tmp_path / "made", made.parts, made.wires)
    free, asked = (
        simulate(folder, stop_time=3.0, step_size=h, approximation=one, master="iterated", accuracy="off")
        for one in ("auto", "interpolate")
    )
    np.testing.assert_array_equal(free.unwrap()["Mass.x"], asked.unwrap()["Mass.x"])
    assert free.statistics.iterations_mean == asked.statistics.iterations_mean
    assert not damped(free)


def test_interpolated_inputs_that_were_asked_for_stay(bodies):
    """The trapezoidal rule leaves (1 - z/2) / (1 + z/2) of a stiff part."""
    h, z = 0.02, 10.0
    options = {"stop_time": 4 * h, "step_size": h, "start_values": {"Link.k": str(z * CAPACITY / h)}}
    result = simulate(bodies["follows"], approximation="interpolate", accuracy="off", **options)
    assert result.unwrap()["Body.T"] - WALL == approx((HOT - WALL) * (-4 / 6) ** np.arange(5.0), abs=1e-4)
    assert not damped(result)


# -- the same everywhere


@pytest.mark.parametrize("k", [1e4, 1e7])
def test_an_exported_system_has_the_same_bits(bodies, tmp_path, k):
    options = {"stop_time": 0.4, "step_size": 0.01, "start_values": {"Link.k": str(k)}}
    trace = simulate(bodies["follows"], accuracy="off", **options).unwrap()
    assert_same_bits(in_fmpy(exported(bodies["follows"], tmp_path, **options), 0.01), trace)


def test_a_saved_simulation_goes_on_within_damped_steps(bodies, tmp_path):
    folder = bodies["follows"].parent
    net = network({"Body": "Body.fmu", "Link": "Link.fmu"}, TO_WALL, {"Link.k": 1e6}, folder=folder)
    plan = make_plan(net, Settings(stop_time=0.4, step_size=0.01))
    with SteppedRun(plan, Folder(folder)) as whole:
        whole.run_until(0.01)
        whole.save(tmp_path / "state")
        whole.run_until(0.4)
        expected = whole["Body.T"]
    with SteppedRun(plan, Folder(folder), saved=tmp_path / "state") as second:
        second.run_until(0.4)
        assert second["Body.T"] == expected
