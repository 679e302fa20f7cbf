"""Functions and commands that call FMUs one by one do so in a sandbox if that is wanted, with the same bits."""

import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

import ssptool
from ssptool import sandbox
from ssptool.engine.failure import Ending
from ssptool.exceptions import RunError
from ssptool.sandbox import NoSandbox
from tests.engine.systems import write_system
from tests.fmus import build as fmus
from tests.safety.test_left_processes import LEFT, happens, left, no_process_left  # noqa: F401
from tests.safety.test_sandbox import SYSTEM, closable, without  # noqa: F401
from tests.safety.test_sandboxed_commands import curious  # noqa: F401

pytestmark = pytest.mark.one_in(5)


@pytest.fixture(params=["fmi2", "fmi3"])
def system(request, curious):  # noqa: F811
    components = {"Good": "Misbehaving", "Bad": "Misbehaving"}
    write_system(curious / request.param, fmus.build() / request.param, components, [("Good.y", "Bad.u")])
    return request.param


def values(what, when=-1.0):
    return {"Bad.what": float(what), "Bad.when": when, "Good.u": 1.5}


def simulated(system, **more):
    with ssptool.Simulation(system, **more) as run:
        run.run_until(0.3)
        run.set("Good.u", 2.5)
        run.run_until(0.5)
    return run.trace.t.tobytes(), run.trace.y.tobytes()


def shown(renderers, function, *arguments, **more):
    return renderers["json"](function(*arguments, **more))


trimmed = partial(shown, ssptool.renderers.STEADY_RENDERERS, ssptool.trim)


def derived(system, **more):
    found = ssptool.analysis.sensitivities(system, "Good.u", "Bad.y", stop_time=0.2, step_size=0.01, **more)
    return ssptool.renderers.SENSITIVITY_RENDERERS["json"](found)


FUNCTIONS = {
    "Simulation": simulated,
    "Simulation cs": partial(simulated, implementation="cs"),
    "linearize": partial(shown, ssptool.renderers.LINEAR_RENDERERS, ssptool.linearize, at=0.2),
    "trim": trimmed,
    "trim cs": partial(trimmed, implementation="cs"),
    "stability": lambda system, **more: str(ssptool.analysis.stability(system, **more)),
    "advise": lambda system, **more: str(ssptool.analysis.advise(system, **more)),
    "sensitivities": derived,
    "sensitivities cs": partial(derived, implementation="cs"),
}


@closable
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_reach_nothing_and_give_the_same_bits(system, monkeypatch, name):
    call = FUNCTIONS[name]
    expected = call(system, start_values=values(fmus.NOTHING))
    assert call(system, start_values=values(fmus.REACH_OUT), sandbox=True) == expected
    monkeypatch.setenv(sandbox.DEFAULT, "1")
    assert call(system, start_values=values(fmus.REACH_OUT)) == expected
    assert call(system, start_values=values(fmus.NOTHING), sandbox=False) == expected
    assert not Path("reached").exists()


COMMANDS = {
    "linearize": ["linearize", "s", "--at", "0.2", "--format", "json"],
    "modes": ["modes", "s", "--format", "json"],
    "trim": ["trim", "s", "--format", "json"],
    "sensitivities": ["sensitivities", "s", "Good.u", "--stop-time", "0.2", "--format", "json"],
    "plan": ["plan", "s", "--stability"],
}


@closable
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_reach_nothing_and_print_the_same(curious, name):  # noqa: F811
    def printed(what, box):
        typed = [f"--set={one}={value}" for one, value in values(what).items()]
        command = [str(Path(sys.executable).with_name("ssptool")), *COMMANDS[name], *typed, box]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    inside, expected = printed(fmus.REACH_OUT, "--sandbox"), printed(fmus.NOTHING, "--no-sandbox")
    assert inside.returncode == expected.returncode == 0, inside.stderr
    told = inside.stdout.partition("\n\nSandbox")[0].replace(f"what = {fmus.REACH_OUT:.1f}", "what = 0.0")
    assert told.strip() == expected.stdout.strip()
    assert not Path("reached").exists()
    assert printed(fmus.REACH_OUT, "--no-sandbox").returncode != 0 and Path("reached").exists()


@closable
@pytest.mark.usefixtures("no_process_left")
def test_a_simulation_outlives_the_thread_that_began_it_and_its_fmus_do_not_outlive_it(system):
    run = ssptool.Simulation(system, sandbox=True, start_values=values(fmus.LEAVE_BEHIND))
    thread = threading.Thread(target=run.__enter__)
    thread.start()
    thread.join()
    with run.fork() as other:
        assert other.run_until(0.2) == run.run_until(0.2) and other["Bad.y"] == run["Bad.y"] > 0
    assert happens(lambda: len(left()) >= LEFT)
    run.__exit__(None, None, None)
    assert happens(lambda: not left())


@closable
def test_a_crash_names_the_component(system):
    with ssptool.Simulation(system, sandbox=True, start_values=values(fmus.ABORT, when=0.25)) as run:
        with pytest.raises(RunError) as caught:
            run.run_until(0.5)
        assert (caught.value.failure.ending, caught.value.failure.component) == (Ending.CRASHED, "Bad")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has sandboxes")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_without_a_sandbox_functions_refuse_to_run(system, monkeypatch, without, name):  # noqa: F811
    without(sandbox.NAMESPACES)
    start = values(fmus.REACH_OUT)
    with pytest.raises(NoSandbox):
        FUNCTIONS[name](system, start_values=start, sandbox=True)
    Path("ssptool.toml").write_text("sandbox = true\n", encoding="utf-8")
    monkeypatch.delenv(sandbox.DEFAULT, raising=False)
    with pytest.raises(NoSandbox):
        FUNCTIONS[name](system, start_values=start)
    assert not Path("reached").exists()


@closable
def test_a_sandbox_can_be_as_good_as_possible(system, without):  # noqa: F811
    without(sandbox.NAMESPACES)  # Landlock still closes files
    expected = simulated(system, start_values=values(fmus.NOTHING))
    assert simulated(system, start_values=values(fmus.NOTHING), sandbox="best") == expected
    with pytest.raises(RunError):  # the socket is open
        simulated(system, start_values=values(fmus.REACH_OUT), sandbox="best")
    assert not Path("reached").exists()


def test_a_sandbox_needs_processes_for_fmus(monkeypatch, without):  # noqa: F811
    without()
    monkeypatch.setattr("ssptool.api.run.AVAILABLE", False)
    with pytest.raises(ssptool.exceptions.ContradictingSettings, match="sandbox=False"):
        ssptool.linearize(SYSTEM, sandbox=True)
