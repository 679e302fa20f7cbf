"""FMUs that change what belongs to the whole process: the floating-point environment, the locale, the folder."""

import locale
import platform
import sys
from pathlib import Path

import numpy as np
import pytest

import ssptool
from ssptool.fmu.surroundings import Surroundings
from tests.engine.dual_mass import Folder
from tests.engine.event_mode.systems import write_system
from tests.engine.running import run
from tests.engine.small.fmus import Var, make_fmu
from tests.exporting.fmus import Messages, exported, initialize, instance

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the register is that of x86-64, under Linux"
)

DECAY = (Var("x", "state", start=1.0), Var("dx", "der", of="x", needs=["x"]), Var("y", "output", needs=["x"]))
EQUATIONS = "v->dx = -0.7 * v->x; v->y = v->x / 3;"

UPWARD = "int fesetround(int); fesetround(0x800);"
FLUSHES = (
    'unsigned m; __asm__ volatile("stmxcsr %0" : "=m"(m)); m |= 0x8040; __asm__ volatile("ldmxcsr %0" : : "m"(m));'
)
TRAPS = "int feenableexcept(int); feenableexcept(4);"
ROUNDING_WORDS = "the rounding mode"
DISTURBANCES = {
    UPWARD: ROUNDING_WORDS,
    FLUSHES: "the treatment of denormal numbers (flush to zero)",
    TRAPS: "the floating-point traps",
}


def rogue(folder, version, *, me, step="", calc="", exit_init=""):
    """An FMU that does this in a step, where it evaluates its equations, or at the end of initialization mode."""
    interface = {"cs": None} if me else {"me": None, "step": f"{step} rk4(s, t, h); return OK;"}
    variables = [Var("a", "output", needs=[])]
    calculated = f"v->a = 0.1; if (v->time > 0.35) {{ {calc} }}"
    return make_fmu(
        folder / "Rogue.fmu",
        variables,
        version=version,
        calc=calculated,
        on_exit_init=f"{exit_init} return OK;",
        **interface,
    )


def decay(folder, version, *, me):
    return make_fmu(
        folder / "Decay.fmu", DECAY, version=version, calc=EQUATIONS, **({"cs": None} if me else {"me": None})
    )


def told(result):
    return [note for note in result.notes if "its FMU changed" in note]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("disturbance", DISTURBANCES, ids=["rounding", "flushing", "traps"])
def test_no_other_component_computes_with_what_a_step_has_changed(tmp_path, version, disturbance):
    """B has the bits that it has alone, and the run says once what A has done."""
    rogue(tmp_path, version, me=False, step=disturbance)
    decay(tmp_path, version, me=False)
    settings = ssptool.Settings(stop_time=1.0, step_size=0.01)
    traces = []
    for names in ({"A": "Rogue", "B": "Decay"}, {"B": "Decay"}):
        folder = write_system(tmp_path / "".join(names), tmp_path, names)
        result = run(ssptool.plan(folder, settings=settings), Folder(folder), isolated=False)
        traces.append(result["B.y"])
        assert told(result) == (
            [f"component A: its FMU changed {DISTURBANCES[disturbance]}, which was restored after its calls"]
            if "A" in names
            else []
        )
    assert traces[0].tolist() == traces[1].tolist()
    assert np.abs(traces[0] - np.exp(-0.7 * result.t) / 3).max() < 1e-8
    assert Surroundings().restore() == ()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("what", ["calc", "exit_init"])
@pytest.mark.parametrize("me", [True, False], ids=["me", "cs"])
def test_evaluations_and_initialization_are_looked_at_too(tmp_path, version, what, me):
    """In a child process, and together with model exchange."""
    rogue(tmp_path, version, me=me, **{what: UPWARD})
    decay(tmp_path, version, me=me)
    folder = write_system(tmp_path / "AB", tmp_path, {"A": "Rogue", "B": "Decay"})
    alone = write_system(tmp_path / "B", tmp_path, {"B": "Decay"})
    result, other = (ssptool.simulate(one, stop_time=1.0, step_size=0.01) for one in (folder, alone))
    assert told(result) == [f"component A: its FMU changed {ROUNDING_WORDS}, which was restored after its calls"]
    assert result["B.y"] == pytest.approx(other["B.y"], rel=0 if not me else 1e-7)


def test_the_locale_and_the_folder_stay_what_they_are(tmp_path):
    """At the end of initialization mode, and in steps."""
    here, before = Path.cwd(), locale.setlocale(locale.LC_ALL)
    leaves = 'int chdir(const char *); chdir("/"); char *setlocale(int, const char *); setlocale(6, "C");'
    rogue(tmp_path, 2, me=False, step=leaves, exit_init=leaves)
    with ssptool.Simulation(tmp_path / "Rogue.fmu", stop_time=1.0, step_size=0.1) as simulation:
        for _ in simulation:
            assert (Path.cwd(), locale.setlocale(locale.LC_ALL)) == (here, before)
        assert any("the locale, the working directory" in note for note in simulation.notes)
    assert (Path.cwd(), locale.setlocale(locale.LC_ALL)) == (here, before)


@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("what", ["step", "exit_init"])
def test_an_exported_fmu_leaves_its_importer_alone(tmp_path, fmi, what):
    rogue(tmp_path, 2, me=False, **{what: UPWARD})
    decay(tmp_path, 2, me=False)
    folder = write_system(tmp_path / "system", tmp_path, {"A": "Rogue", "B": "Decay"})
    fmu, said = exported(folder, tmp_path, fmi=fmi, step_size=0.1, stop_time=1.0), Messages()
    before = Surroundings()
    with instance(fmu, tmp_path / "unpacked", said) as slave:
        initialize(slave)
        assert before.restore() == ()
        for k in range(10):
            slave.doStep(k / 10, 0.1)
            assert before.restore() == ()
    if what == "step":
        assert len([text for _, _, text in said if "component A: its FMU changed" in text]) == 1
