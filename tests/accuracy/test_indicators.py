"""Signs of steps that are too large: in runs that are wrong, and none in runs that are right."""

import json
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool.engine.kernel._kernel import missed
from ssptool.engine.run.indicators import RunWarning, _Course, _creates_energy, _of_signal, _Source, _suspects
from ssptool.engine.trace import Column
from tests.accuracy.measured import carried_out, true_error, written
from tests.accuracy.parts import Part
from tests.accuracy.systems import SYSTEMS as EXACT
from tests.accuracy.systems import System, thermostat
from tests.engine.event_mode.systems import write_system
from tests.engine.small.fmus import Var, make_fmu
from tests.engine.small.test_stiff_links import fmus, line, simulate  # noqa: F401

pytestmark = pytest.mark.one_in(3)

SYSTEMS = Path(__file__).parents[2] / "systems"
OSCILLATOR = SYSTEMS / "dual_mass_oscillator"
PIECE = 4096
REAL, BOOLEAN = Column("A.x"), Column("A.on", type="Boolean")
T = np.arange(1001) * 0.01
NONE_DAMPED = np.zeros(0, dtype=bool)


def signs(column, values, **more):
    return [(one.code, one.time) for one in _of_signal(column, T, np.asarray(values, dtype=float), **more)]


def test_a_stiff_link_rings_until_the_steps_are_small_or_the_link_is_soft(line):  # noqa: F811
    """With inputs on lines, which the user asks for; without that, such steps are damped."""
    (warning,) = simulate(line, 1e4, approximation="interpolate").warnings
    assert (warning.code, warning.signal, warning.time) == ("RUN-101", "A.T", 0.0)
    assert warning.size > 12
    assert simulate(line, 10, approximation="interpolate").warnings == ()
    assert simulate(line, 1e4).warnings == ()


@pytest.mark.parametrize("system", sorted(path.parent.name for path in SYSTEMS.glob("*/SystemStructure.ssd")))
def test_examples_have_no_warnings(system):
    assert ssptool.simulate(SYSTEMS / system).warnings == ()


def test_few_steps_per_period_are_told_everywhere(tmp_path):
    output = tmp_path / "r.csv"
    result = ssptool.simulate(OSCILLATOR, step_size=0.2, stop_time=10, output=output, keep=True)
    (warning,) = result.warnings
    assert isinstance(warning, RunWarning)
    assert (warning.code, warning.signal) == ("RUN-102", "System2.F")
    assert 4 < warning.size < 20
    (stored,) = json.loads(Path(f"{output}.json").read_text())["warnings"]
    assert (stored["code"], stored["signal"], stored["size"]) == ("RUN-102", "System2.F", warning.size)
    assert "RUN-102" in result._repr_html_()
    assert "RUN-102" in ssptool.report(OSCILLATOR, output).html


def test_steps_per_period_are_those_of_a_sine():
    for number in (4.5, 9, 18):
        (found,) = _of_signal(REAL, T, 3 - 2 * np.sin(2 * np.pi * np.arange(1001) / number + 0.3))
        assert found.code == "RUN-102"
        assert found.size == pytest.approx(number, rel=0.02)
    assert signs(REAL, np.sin(2 * np.pi * np.arange(1001) / 21)) == []


def test_alternation_rings_but_noise_and_tolerances_do_not():
    alternating = (-1.0) ** np.arange(1001)
    assert signs(REAL, 300 + np.exp(-T) + 0.1 * alternating * (T > 2)) == [("RUN-101", pytest.approx(2.01, abs=0.011))]
    assert signs(REAL, 300 + np.exp(-T) + 1e-5 * alternating) == []
    noise = np.random.default_rng(1).normal(size=1001)
    assert [code for code, _ in signs(REAL, noise)] != ["RUN-101"]
    assert signs(REAL, T + 1e-3 * noise) == []


def test_switches_that_lie_close_together_are_told():
    on = (np.arange(1001) // 40) % 2
    assert signs(BOOLEAN, on) == []
    on[500:502] = 1 - on[500:502]
    assert signs(BOOLEAN, on) == [("RUN-103", 5.0)]


def test_a_real_number_that_changes_in_each_step_does_not_switch():
    """Some FMUs declare outputs as discrete that are not."""
    force = Column("A.F", discrete=True)
    assert force.held
    assert signs(force, np.sin(T)) == []
    assert signs(force, np.where((np.arange(1001) > 500) & (np.arange(1001) < 502), 1.0, 3.0)) == [("RUN-103", 5.01)]
    assert [code for code, _ in signs(force, np.sin(2 * np.pi * np.arange(1001) / 9))] == ["RUN-102"]


def test_large_steps_of_held_inputs_in_a_row_are_told():
    """A ramp over eight steps from 5 s on, and one over three; one jump, two, and the first step are none."""
    ramp = np.clip((np.arange(1001) - 500) / 8, 0, 1)
    assert signs(REAL, 3 - 2 * ramp, source=_Source(_Course.START)) == [("RUN-106", 5.0)]
    assert signs(REAL, ramp) == []
    short = np.clip((np.arange(1001) - 500) / 3, 0, 1)
    assert [code for code, _ in signs(REAL, short, source=_Source(_Course.START))] == ["RUN-106"]
    assert signs(REAL, np.clip((np.arange(1001) - 500) / 2, 0, 1), source=_Source(_Course.START)) == []
    assert signs(REAL, T > 5, source=_Source(_Course.START)) == []
    assert signs(REAL, np.exp(-T / 0.012), source=_Source(_Course.START)) == []
    assert signs(REAL, np.clip((np.arange(1001) - 500) / 20, 0, 1), source=_Source(_Course.START)) == []


def test_a_fast_controller_is_told_only_with_large_steps(tmp_path):
    """v' = (1 − v)/τ by a drive that holds the voltage of its controller, with a time constant of 20 ms."""
    make_fmu(tmp_path / "C.fmu", (Var("v", "input", start=0.0), Var("u", "output", needs=[])), me=None, **CONTROLLER)
    make_fmu(tmp_path / "D.fmu", (Var("u", "input", start=0.0), Var("v", "output", needs=[])), me=None, **DRIVE)
    system = write_system(tmp_path / "s", tmp_path, {"C": "C", "D": "D"}, [("C.u", "D.u"), ("D.v", "C.v")])
    settings = {"approximation": "hold", "stop_time": 1.0, "isolated": False}
    coarse = ssptool.simulate(system, step_size=0.01, **settings).warnings
    assert "RUN-106" in [one.code for one in coarse]
    assert ssptool.simulate(system, step_size=0.0001, **settings).warnings == ()


CONTROLLER = {"own": "double z;", "step": "v->z += h * (1 - v->v) / 0.02; v->u = v->z; return OK;"}
DRIVE = {"step": "v->v += (v->u - v->v) * (1 - exp(-h / 0.01)); return OK;"}
UNITS = {"N": 'kg="1" m="1" s="-2"', "kN": 'kg="1" m="1" s="-2" factor="1000"', "m/s": 'm="1" s="-1"'}


def oscillator(folder):
    """A mass of 2 kg on a spring of 50 N/m, whose force is in kN; both hold their inputs, and step exactly."""
    mass = (
        Var("F", "input", start=0.0, unit="N"),
        Var("v", "output", start=3.0, initial="exact", needs=[], unit="m/s"),
    )
    spring = (
        Var("v", "input", start=0.0, unit="m/s"),
        Var("F", "output", start=0.0, initial="exact", needs=[], unit="kN"),
    )
    make_fmu(folder / "M.fmu", mass, me=None, units=UNITS, step="v->v += h * v->F / 2; return OK;")
    make_fmu(folder / "S.fmu", spring, me=None, units=UNITS, step="v->F -= 0.05 * h * v->v; return OK;")
    return write_system(folder / "s", folder, {"M": "M", "S": "S"}, [("M.v", "S.v"), ("S.F", "M.F")])


@pytest.mark.parametrize(("master", "approximation", "factor"), [("jacobi", "hold", 3), ("iterated", "hold", 0.3)])
def test_energy_that_held_inputs_create_is_told(tmp_path, master, approximation, factor):
    """It is what mass and spring have more, or less, at the end: m v²/2 and F²/(2 k)."""
    system = oscillator(tmp_path)
    options = {"master": master, "approximation": approximation, "step_size": 0.01, "stop_time": 5.0}
    result = ssptool.simulate(system, **options, isolated=False, keep=True)
    v, force = result.trace["M.v"], 1000 * result.trace["S.F"]
    energy = v**2 + force**2 / 100
    assert energy[-1] > factor * energy[0] if factor > 1 else energy[-1] < factor * energy[0]
    flowed = np.cumsum(0.01 * 0.25 * (v[1:] + v[:-1]) * (force[1:] + force[:-1]))
    (warning,) = (one for one in result.warnings if one.code != "RUN-109")
    assert (warning.code, warning.signal) == ("RUN-107", "M.v")
    assert warning.size == pytest.approx((energy[-1] - energy[0]) / np.ptp(np.append(0.0, flowed)), rel=1e-9)


def test_little_energy_is_not_told(tmp_path):
    system = oscillator(tmp_path)
    assert ssptool.simulate(system, step_size=0.0002, stop_time=1.0, isolated=False).warnings == ()
    off = ssptool.simulate(system, step_size=0.01, stop_time=5.0, isolated=False, warnings="off")
    assert off.warnings == ()


# -- errors of inputs that add up: two masses of 1 kg with backlash, which exchange 0.5 J in impacts of π / ω each


@pytest.fixture(scope="module")
def backlash(tmp_path_factory):
    folder = tmp_path_factory.mktemp("backlash")
    return {kind: written(two_masses(can), made_in(folder, kind)) for kind, can in (("follows", ABLE), ("holds", {}))}


def made_in(folder, name):
    (folder / name).mkdir()
    return folder / name


ABLE = {"saves": True, "follows": True}


def two_masses(can):
    def mass(speed, sign):
        states = {"x": (0.0, "w"), "w": (speed, f"{sign}f / size")}
        return Part({"f": 0.0}, states, {"place": "x", "speed": "w"}, {"size": 1.0}).able(**can)

    force = "k * (fmax(x1 - x2 - 0.01, 0) + fmin(x1 - x2 + 0.01, 0))"
    gap = Part({"x1": 0.0, "x2": 0.0}, outputs={"f": force}, parameters={"k": 1e5}).able(**can)
    wires = [("A.place", "Gap.x1"), ("B.place", "Gap.x2"), ("Gap.f", "A.f"), ("Gap.f", "B.f")]
    return System({"A": mass(1.0, "-"), "B": mass(0.0, ""), "Gap": gap}, wires, 0.5, lambda t: {})


def speeds(k, t):
    """The first mass has 1 m/s; between impacts, which take half a period of the contact, they fly 20 ms apart."""
    rate = np.sqrt(2 * k)
    number, phase = np.divmod(t + 0.01, 0.02 + np.pi / rate)
    apart = np.where(phase < 0.02, 1.0, np.cos(rate * (phase - 0.02))) * (-1) ** number
    return 0.5 + apart / 2


@pytest.mark.parametrize("kind", ["follows", "holds"])
@pytest.mark.parametrize("k", [1e4, 1e5, 1e6, 1e7])
@pytest.mark.parametrize("h", [1e-4, 1e-3, 1e-2])
def test_no_run_with_backlash_is_silently_wrong(backlash, kind, k, h):
    """Whether a run is off by a tenth, has a fifth more energy, or destroys impacts in damped steps."""
    options = {"step_size": h, "start_values": {"Gap.k": str(k)}, "settings_file": False, "accuracy": "off"}
    result = ssptool.simulate(backlash[kind], output=None, **options)
    if not result.ok:
        return
    error = np.max(np.abs(result["A.speed"] - speeds(k, result.t)))
    energy = np.max(result["A.speed"] ** 2 + result["B.speed"] ** 2)
    if error > 0.1 or energy > 1.2:
        assert result.warnings
    if error < 1e-3:
        assert not result.warnings


def test_errors_that_add_up_are_those_of_an_oscillation():
    """Followed by lines, a period loses (ω h)²/12 of its length, and π radians pass on twice the amplitude."""
    for number in (40, 100):
        phase = 2 * np.pi * np.arange(1001) / number
        for course, part in ((_Course.MEAN, 1 / 12), (_Course.LINE, 5 / 12)):
            each, drift, coarse, _ = missed_in(np.sin(phase + 0.3) - 0.2, course)
            assert coarse == pytest.approx(part * (2 * np.pi / number) ** 2, rel=0.05)
            assert each == pytest.approx(coarse * phase[-1] / np.pi, rel=0.1)
            assert drift == pytest.approx(coarse, rel=0.15)


def test_a_stiff_part_that_damped_steps_remove_is_not_missed():
    """The implicit Euler method passes on all of what decays, but the square of its factor late."""
    damped = np.arange(1000) < 5
    for factor in (0.01, 0.1):
        each, *_ = missed_in(factor ** np.arange(1001.0), _Course.MEAN, damped)
        assert each == pytest.approx(factor / 2, rel=0.3)
    impact = np.arange(1001) == 3
    each, *_ = missed_in(impact.astype(float), _Course.MEAN, np.ones(1000, dtype=bool))
    assert each == pytest.approx(0.5, rel=0.01)  # held from its end on, it may as well not have begun


def missed_in(values, course, damped=NONE_DAMPED):
    return missed(T, values[:, None], 0, course.weights, damped)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_not_looked_into_shows_no_sign(seed):
    """Waves, ramps and ringing of all sizes and lengths, anywhere in a long run, also where two pieces meet."""
    random = np.random.default_rng(seed)
    rows, sine = np.arange(3 * PIECE + 7), np.sin
    values = 300 + sine(2 * np.pi * rows / random.choice([5, 15, 19, 25, 60, 900, 1e5]))
    at, length = random.choice([PIECE, 2 * PIECE, 5000]) + random.integers(-15, 15), random.integers(1, 60)
    size = 10 ** random.uniform(-5, 1)
    match seed % 4:
        case 0:
            values[at : at + length] += size * (-1.0) ** rows[at : at + length]
        case 1:
            values += size * np.clip((rows - at) / length, 0, 1)
        case 2:
            values[at:] += size
        case 3:
            values[at : at + length] += size * sine(rows[at : at + length])
    (suspect,) = _suspects(np.column_stack([rows, values]), [1])
    found = [one for course in _Course for one in _of_signal(REAL, rows.astype(float), values, _Source(course))]
    assert suspect or not found


def test_signals_that_grow_without_bound_are_looked_into_without_a_warning_of_numpy():
    growing = np.column_stack([np.exp(np.arange(709.0)), 1e300 * (-1.0) ** np.arange(709)])
    with np.errstate(all="raise"):
        assert all(_suspects(growing, [0, 1]))


def test_of_smooth_signals_nothing_is_looked_into():
    rows = np.arange(3 * PIECE)
    waves = np.column_stack([np.sin(2 * np.pi * rows / period) for period in (70, 400, 1e4)])
    assert not any(_suspects(waves, [0, 1, 2]))


@pytest.mark.parametrize("course", [_Course.START, _Course.END, _Course.LINE])
def test_little_energy_is_not_looked_into(course):
    """x'' = −x with steps of 0.01: held inputs create 0.01 of the energy per unit of time, those on a line less."""
    for stop, much in ((1.0, False), (2000.0, course is not _Course.LINE)):
        t = np.arange(0.0, stop, 0.01)
        trace = ssptool.types.Trace.of(t, [(REAL, np.cos(t)), (Column("B.x"), -np.sin(t))])
        assert _creates_energy(trace, [0, 1], [course, course]) == much


def test_values_that_are_not_finite_or_do_not_change_have_no_signs():
    assert signs(REAL, np.where(T > 5, np.nan, np.sin(T * 100))) == []
    assert signs(REAL, np.full(1001, 7.0)) == []


def test_a_run_without_a_row_has_none():
    result = ssptool.simulate(OSCILLATOR, start_values={"System1.m1": 0.0}, stop_time=1, isolated=False)
    assert (result.ok, result.rows, result.warnings) == (False, 0, ())


# -- loops that are faster than their steps: nothing else tells so, if the accuracy is not checked


@pytest.mark.parametrize(
    ("name", "code", "coarse", "fine"),
    [
        ("drive", "RUN-110", 5e-4, 5e-6),
        ("relaxation", "RUN-110", 0.04, 0.005),
        ("thermostat of co-simulation", "RUN-111", 0.1, 0.003),
    ],
)
def test_loops_that_are_faster_than_the_step_are_told(name, code, coarse, fine, tmp_path):
    system = EXACT[name]
    folder = written(system, tmp_path)
    for step, least, most in ((coarse, 0.05, 1.0), (fine, 0.0, 0.01)):
        output = tmp_path / "rows.csv"
        result = carried_out(system, folder, step_size=step, accuracy="off")
        assert least <= true_error(system, result)[0] <= most
        assert [one.code for one in result.warnings] == [code] * (step == coarse)
        alone = ssptool.simulate(folder, step_size=step, accuracy="off", output=output, keep=False)
        assert alone.warnings == result.warnings
    few = ssptool.simulate(folder, step_size=fine, accuracy="off", every=100)
    assert few.warnings == () and len(few.t) < 0.02 * few.statistics.steps
    checked = carried_out(system, folder, step_size=coarse, accuracy="check")
    assert checked.accuracy.error > 0.05 and code not in [one.code for one in checked.warnings]


@pytest.mark.parametrize(
    ("saves", "least", "most", "codes"), [(False, 5e-4, 0.1, ["RUN-111", "RUN-112"]), (True, 0.0, 2e-4, [])]
)
def test_adaptive_steps_tell_delays_that_exceed_what_was_asked_for(saves, least, most, codes, tmp_path):
    """FMUs that cannot save their state notice first switches at the end of steps of 6 ms; the others are exact."""
    system = thermostat(saves=saves)
    result = carried_out(system, written(system, tmp_path), adaptive=2e-5, accuracy="off")
    assert least <= true_error(system, result)[0] <= most
    assert [one.code for one in result.warnings] == codes


def test_a_clock_in_a_loop_is_not_late(tmp_path):
    """A controller that is sampled each 15th step decides at points that the steps meet."""
    step = "v->count++; if (v->count % 15 == 0) v->on = v->y < 0; v->time = t + h; return OK;"
    inputs = Var("y", "input", start=0.0)
    make_fmu(
        tmp_path / "C.fmu", (inputs, Var("on", "output", "Boolean", start=True)), me=None, own="int count;", step=step
    )
    plant = (Var("on", "input", "Boolean", start=True), Var("y", "output", start=-0.03, initial="exact"))
    step = "v->y += h * (v->on ? 1.1 : -0.9); v->time = t + h; return OK;"
    make_fmu(tmp_path / "P.fmu", plant, me=None, step=step)
    system = write_system(tmp_path / "s", tmp_path, {"C": "C", "P": "P"}, [("C.on", "P.on"), ("P.y", "C.y")])
    result = ssptool.simulate(system, step_size=0.01, stop_time=9.0, accuracy="off", isolated=False)
    assert np.count_nonzero(np.diff(result.trace["C.on"])) > 10
    assert "RUN-111" not in [one.code for one in result.warnings]
