"""A master of somebody else: one module, which is this one, and one line that registers it.

It is a Jacobi whose components take u_k = ω y_k + (1 − ω) u_(k−1) as inputs, where y_k is what the others give at
communication point k. A mass takes the held force u_k over a step of size h exactly:
z' = z + h v + h² u_k/(2 m) and v' = v + h u_k/m, from whichever rows a run has.
"""

import pickle
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

import ssptool
from ssptool import Settings
from ssptool.engine import method_names
from ssptool.engine.failure import Ending, Failure, RunError
from ssptool.engine.isolation import child
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.masters.master import CoupledSystem, CouplingMaster
from ssptool.engine.masters.program import HOLD
from ssptool.engine.masters.protocols import InputApproximation, Participants, SavedState
from ssptool.engine.masters.registry import MasterEntry, Refusal, Situation, entry_of
from ssptool.engine.method_names import (
    ApproximationName,
    NamedMaster,
    help_on_masters,
    named,
    register,
    registered,
    words,
)
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.settings import Choice
from ssptool.exceptions import ContradictingSettings
from tests.engine.dual_mass import FMI1, FMI2, FMI3, Folder, oscillator
from tests.engine.event_mode.systems import write_system as write_clocked_system
from tests.engine.running import run

NAME = "relaxed-jacobi"
OMEGA, H, MASS = 0.6, 2e-3, 0.03575
KEPT = 8
"""Steps, of which the last ones may be taken back."""


@dataclass(frozen=True, slots=True)
class RelaxedJacobi(CouplingMaster):
    """Components step side by side, with relaxed inputs."""

    inputs: InputApproximation = HOLD
    factor: float = 1.0

    @property
    def name(self) -> str:
        return NAME

    @property
    def independent_steps(self) -> bool:
        return True

    def start(self, system: CoupledSystem) -> "Relaxation":
        return Relaxation(self, system)

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        moves = (line for group in groups for line in group.moves(f"{self.inputs.name}, relaxed by {self.factor:g}"))
        return (*moves, f"step {', '.join(map(str, groups))}", "evaluate")


class Relaxation:
    """Remembers the inputs of the last steps, by the time at which each began."""

    def __init__(self, master: RelaxedJacobi, system: CoupledSystem) -> None:
        self.master, self.system = master, system
        self.slots = np.arange(len(system.kernel.values)) if system.reals is None else system.reals
        self.used: list[tuple[float, Floats]] = []

    def step(self, t: float, h: float, end: float) -> int | Failure:
        kernel, everything = self.system.kernel, self.system.everything
        kernel.hold(everything.held)
        self.master.inputs.apply(kernel, everything.following, h)
        new = kernel.input_value[self.slots]
        self.used = [(time, values) for time, values in self.used if time < t]
        old = self.used[-1][1] if self.used else new
        relaxed = self.master.factor * new + (1.0 - self.master.factor) * old
        self.used = [*self.used[-KEPT:], (t, relaxed)]
        kernel.input_value[self.slots] = relaxed
        outcome = self.system.advance(everything, t, h)
        if not outcome.ok:
            return self.system.explain_step(outcome, t, end)
        return self.system.evaluate(everything.schedule, end) or 1

    def save_state(self) -> SavedState:
        values = np.array([values for _, values in self.used]).reshape(-1, len(self.slots))
        return {"times": np.array([time for time, _ in self.used]), "values": values}

    def restore_state(self, state: SavedState) -> None:
        self.used = list(zip(state["times"].tolist(), state["values"], strict=True))


def create(inputs: InputApproximation, settings: Settings, _: Situation) -> tuple[RelaxedJacobi, Sequence[Choice]]:
    factor = 1.0 if settings.relaxation is None else settings.relaxation
    return RelaxedJacobi(inputs, factor), (Choice("relaxation", f"{factor:g}", "of the inputs"),)


MASTER = MasterEntry(
    create,
    approximation=ApproximationName.EXTRAPOLATE,
    refused_approximations={
        ApproximationName.INTERPOLATE: Refusal("the end is not known", "use approximation extrapolate")
    },
    settings={"relaxation": Refusal("this master does not relax", f"use master {NAME}")},
)
LINE = NamedMaster(NAME, "all step at once, with relaxed inputs", __name__)


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """For these tests only."""
    monkeypatch.setattr(method_names, "_REGISTERED", {one.name: one for one in registered()})
    register(LINE)


# -- systems -------------------------------------------------------------------------------------------------


@pytest.fixture
def sampled(engine_models, tmp_path):
    """A mass whose force a clocked controller gives, beside a ball that bounces: events of all kinds."""
    fmus = {"Plant": "fmi2/Mass", "Controller": "fmi3/SampledController", "Ball": "fmi3/Ball"}
    wires = [("Plant.z", "Controller.y"), ("Controller.u", "Plant.F")]
    return write_clocked_system(tmp_path / "sampled", engine_models.parent, fmus, wires)


def simulate(folder, *, stop_time=0.1, step_size=H, start_values=None, inputs=None, scenario=None, **settings):
    given = {"approximation": "hold", **settings}
    return ssptool.simulate(
        folder,
        start_values=start_values or {"Mass.z": "1e-3", "Sum.b": "1"},
        inputs=inputs,
        scenario=scenario,
        settings=Settings(stop_time=stop_time, step_size=step_size, **given),
    ).unwrap()


def relaxed(folder, factor=OMEGA, **options):
    return simulate(folder, master=NAME, relaxation=factor, **options)


def check_recurrence(trace, mass="Mass", force="Sum.y", factor=OMEGA, m=MASS):
    """From row to row; of two rows at one time, the mass goes on from the second."""
    t, z, v, y = trace.t, trace[f"{mass}.z"], trace[f"{mass}.v"], trace[force]
    used, differs = None, 0.0
    for k in np.flatnonzero(np.diff(t) > 0):
        h = t[k + 1] - t[k]
        used = y[k] if used is None else factor * y[k] + (1 - factor) * used
        assert z[k + 1] == approx(z[k] + h * v[k] + h * h * used / (2 * m), rel=1e-9, abs=1e-14)
        assert v[k + 1] == approx(v[k] + h * used / m, rel=1e-9, abs=1e-11)
        differs = max(differs, abs(used - y[k]))
    assert differs > 0 or factor == 1


def same(one, other):
    assert np.array_equal(one.t, other.t) and np.array_equal(one.y, other.y)


# -- words ---------------------------------------------------------------------------------------------------


def test_settings_and_help_know_the_master():
    assert NAME in words()
    assert f"{NAME} (all step at once, with relaxed inputs)" in help_on_masters()
    assert Settings(master=NAME).master == NAME
    with pytest.raises(ValueError, match=r"master must be one of auto, jacobi, .*, relaxed-jacobi \(did you mean"):
        Settings(master="relaxed-jakobi")


def test_the_command_line_takes_its_name(swing):
    code = f"import {__name__} as own, runpy; own.register(own.LINE); runpy.run_module('ssptool', run_name='__main__')"
    command = [sys.executable, "-c", code, "plan", str(swing), "--master", NAME, "--relaxation", "0.6"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    assert done.returncode == 0, done.stderr
    assert f"master          {NAME}  (asked for)" in done.stdout
    assert "relaxation      0.6  (of the inputs)" in done.stdout
    assert "relaxed by 0.6" in done.stdout


def test_names_are_unique():
    with pytest.raises(
        ValueError, match=r"somewhere: ssptool\.engine\.masters\.jacobi has registered a master 'jacobi'"
    ):
        register(NamedMaster("jacobi", "another one", "somewhere"))
    with pytest.raises(ValueError, match="the name 'auto' leaves the choice to the plan"):
        register(NamedMaster("auto", "another one", "somewhere"))
    assert named("jacobi").module == "ssptool.engine.masters.jacobi"


def test_every_registered_master_states_an_entry():
    for master in registered():
        assert isinstance(entry_of(master), MasterEntry)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"master": NAME, "approximation": "interpolate"},
            "relaxed-jacobi with approximation interpolate: the end is not known",
        ),
        ({"master": NAME, "acceleration": "aitken"}, "acceleration aitken with master relaxed-jacobi: only master"),
        ({"master": NAME, "exchange": "late"}, "exchange late with master relaxed-jacobi: late exchange"),
        (
            {"master": "jacobi", "relaxation": 0.5},
            "relaxation 0.5 with master jacobi: only master iterated",
        ),
    ],
)
def test_settings_are_taken_by_the_masters_that_claim_them(settings, message):
    with pytest.raises(ContradictingSettings, match=message):
        make_plan(oscillator(), Settings(**settings))


def test_a_module_without_an_entry_is_named():
    with pytest.raises(ValueError, match=r"master odd: the module json has no MasterEntry called MASTER"):
        entry_of(NamedMaster("odd", "", "json"))


# -- everything that a master does ---------------------------------------------------------------------------


@pytest.mark.parametrize("sources", [FMI1, FMI2, FMI3], ids=["fmi1", "fmi2", "fmi3"])
@pytest.mark.parametrize("course", ["hold", "auto"])
def test_a_factor_of_one_has_the_bits_of_jacobi(sources, course):
    def trace(**how):
        settings = Settings(stop_time=0.5, step_size=0.01, approximation=course, **how)
        return run(make_plan(oscillator(sources), settings), Folder()).unwrap()

    same(trace(master="jacobi"), trace(master=NAME, relaxation=1.0))


def test_a_plain_run_follows_the_recurrence(swing):
    check_recurrence(relaxed(swing))


def test_a_shorter_last_step_follows_the_recurrence(swing):
    trace = relaxed(swing, stop_time=0.0307)
    assert np.diff(trace.t)[-1] == approx(0.0007)
    check_recurrence(trace)


def test_inputs_and_scenarios_cut_its_steps(swing):
    options = {
        "inputs": {"Sum.w": ssptool.types.Table((0.0, 0.0137), (0.0, 0.05), "hold")},
        "scenario": ssptool.types.Scenario((ssptool.types.Event(0.0251, "Spring.F", "bias", 0.01),)),
    }
    trace = relaxed(swing, **options)
    assert {0.0137, 0.0251} <= set(trace.t[1:][np.diff(trace.t) == 0])
    check_recurrence(trace)
    same(simulate(swing, master="jacobi", **options), relaxed(swing, 1.0, **options))


def test_components_step_several_times_in_each_of_its_steps(swing):
    trace = relaxed(swing, substeps={"Mass": 3})
    check_recurrence(trace)
    assert trace["Mass.z"] == approx(relaxed(swing)["Mass.z"], rel=1e-9, abs=1e-13)


def test_its_steps_end_at_events(sampled):
    options = {"start_values": {"Plant.m": "1"}, "stop_time": 1.0, "step_size": 0.05}
    same(simulate(sampled, master="jacobi", **options), relaxed(sampled, 1.0, **options))
    trace = relaxed(sampled, **options)
    assert np.count_nonzero(np.diff(trace.t) == 0) > 10
    check_recurrence(trace, "Plant", "Controller.u", m=1.0)


def test_adaptive_steps_are_built_on_it(swing):
    trace = relaxed(swing, adaptive=1e-3)
    assert len(set(np.round(np.diff(trace.t), 12))) > 3
    check_recurrence(trace)


def test_threads_and_processes_change_no_bit(swing):
    alone = relaxed(swing)
    same(alone, relaxed(swing, threads=2))
    same(alone, relaxed(swing, processes="each"))


@pytest.mark.parametrize("fork", [True, False], ids=["forked", "fresh"])
def test_a_child_process_gives_the_same_bits(fork, monkeypatch):
    monkeypatch.setattr(child, "_may_fork", lambda _: fork)
    plan = make_plan(oscillator(), Settings(stop_time=0.5, step_size=0.01, master=NAME, relaxation=OMEGA))
    same(run(plan, Folder()).unwrap(), run(plan, Folder(), isolated=True).unwrap())


@pytest.mark.parametrize("threads", [1, 2], ids=["forked", "fresh"])
def test_a_master_of_a_script_runs_in_a_child_process(swing, threads, tmp_path):
    """As the code of a class of the script itself, if the child is not a copy of its parent."""
    script = tmp_path / "own.py"
    script.write_text(
        textwrap.dedent(f"""
        import threading, time
        import ssptool
        from tests.engine.masters import test_registry as module
        from dataclasses import dataclass
        from ssptool.engine.method_names import NamedMaster, register
        from ssptool.engine.masters.registry import MasterEntry

        @dataclass(frozen=True)
        class Own(module.RelaxedJacobi):
            @property
            def name(self):
                return "own"

        MASTER = MasterEntry(lambda inputs, settings, situation: (Own(inputs, 0.6), ()))
        register(NamedMaster("own", "of a script", __name__))
        if {threads} > 1:
            threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
        options = dict(stop_time=0.1, step_size={H}, master="own", start_values={{"Mass.z": 1e-3, "Sum.b": 1}})
        results = [ssptool.simulate({str(swing)!r}, isolated=isolated, **options) for isolated in (False, True)]
        assert (results[0].trace.y == results[1].trace.y).all()
        print(results[1].choices[4].value, results[1].status, float(results[1]["Mass.z"][-1]).hex())
        """)
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, env={"PYTHONPATH": str(root)}
    )
    assert done.stdout.split() == ["own", "completed", float(relaxed(swing)["Mass.z"][-1]).hex()], done.stderr


def test_a_process_that_gets_settings_knows_their_master(tmp_path):
    """As those of a study do."""
    task = tmp_path / "settings"
    task.write_bytes(pickle.dumps(Settings(master=NAME, relaxation=OMEGA)))
    code = (
        "import pickle, sys; from dataclasses import replace; from pathlib import Path; "
        "settings = pickle.loads(Path(sys.argv[1]).read_bytes()); print(replace(settings, stop_time=1.0))"
    )
    command = [sys.executable, "-c", code, str(task)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    assert done.stdout.strip() == f"Settings(stop_time=1.0, master={NAME!r}, relaxation={OMEGA})", done.stderr


def test_a_simulation_steps_it_and_goes_on_from_where_it_was_saved(swing, tmp_path):
    options = {"stop_time": 0.1, "step_size": H, "master": NAME, "relaxation": OMEGA, "approximation": "hold"}
    values = {"Mass.z": 1e-3, "Sum.b": 1}
    with ssptool.Simulation(swing, start_values=values, **options) as simulation:
        simulation.step(20)
        simulation.save(tmp_path / "state")
        while not simulation.finished:
            simulation.step()
        whole = simulation.trace
    check_recurrence(whole)
    same(whole, relaxed(swing))
    with ssptool.Simulation(swing, start_values=values, saved=tmp_path / "state", **options) as resumed:
        resumed.run_until(0.1)
        assert np.array_equal(resumed.trace.y[-30:], whole.y[-30:])


def test_a_study_varies_its_factor(swing, tmp_path):
    """In processes of its own."""
    table = {
        "system": str(swing),
        "settings": {"master": NAME, "stop_time": 0.1, "step_size": H, "approximation": "hold"},
        "start_values": {"Mass.z": 1e-3, "Sum.b": 1},
        "factors": {"w": {"setting": "relaxation", "values": [OMEGA, 1.0]}},
        "results": {"z": 'final("Mass.z")'},
    }
    found = ssptool.study(table, tmp_path / "found.study", workers=2)
    assert [row["z"] for row in found.rows()] == [relaxed(swing, factor)["Mass.z"][-1] for factor in (OMEGA, 1.0)]


@pytest.mark.parametrize("adaptive", [None, 1e-3])
def test_an_error_of_a_master_is_raised_as_it_is(swing, monkeypatch, adaptive):
    def step(self, t, h, end):
        raise ZeroDivisionError(f"at {t:g} s")

    monkeypatch.setattr(Relaxation, "step", step)
    with pytest.raises(ZeroDivisionError, match="at 0 s"):
        relaxed(swing, adaptive=adaptive)


def test_a_master_says_why_its_step_fails(swing, monkeypatch):
    reason = Failure(Ending.FMI, "the line is down", "look at the plug", 0.01)
    whole = Relaxation.step
    monkeypatch.setattr(Relaxation, "step", lambda self, t, h, end: reason if end > 0.01 else whole(self, t, h, end))
    with pytest.raises(RunError, match="the line is down"):
        relaxed(swing)
