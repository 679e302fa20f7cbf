"""`--inputs`, `--interpolation` and `--scenario` of `run` and `plan`."""

import json
from pathlib import Path

import pytest
from pytest import approx

import ssptool as api
from tests.engine.conftest import engine_models as engine_models
from tests.engine.stimuli.pushed_mass import MASS, step, write_pushed_mass

SYSTEMS = Path(__file__).parents[2] / "systems"


@pytest.fixture
def pushed(engine_models, tmp_path):
    return write_pushed_mass(tmp_path / "pushed", engine_models)


def write(path, text):
    path.write_text(text)
    return path


def test_a_run_is_driven_by_a_file_and_changed_by_a_scenario(ssptool, pushed, tmp_path):
    write(tmp_path / "push.csv", "time,push\n0,0\n0.35,0\n0.35,4\n")
    write(tmp_path / "fault.yaml", "events:\n- {time: 0.65, variable: push, action: override, value: 0}\n")
    status, _, err = ssptool(
        *("run", pushed, "--inputs", "push.csv", "--scenario", "fault.yaml"), *("--step-size", 0.1, "-o", "out.csv")
    )
    assert (status, err) == (0, "")
    trace = api.read_trace(tmp_path / "out.csv")
    v = step(trace.t, 0.35, 4.0)[1] - step(trace.t, 0.65, 4.0)[1]
    assert trace["Mass.v"] == approx(v, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "final"), [([], 5.0), (["hold"], 0.0), (["push=hold"], 0.0), (["hold", "push=linear"], 5.0)]
)
def test_interpolation_is_chosen_for_all_columns_or_one(ssptool, pushed, tmp_path, options, final):
    write(tmp_path / "push.csv", "time,push\n0,0\n1,10\n")
    more = [part for option in options for part in ("--interpolation", option)]
    assert ssptool("run", pushed, "--inputs", "push.csv", *more, "-o", "out.csv")[0] == 0
    assert api.read_trace(tmp_path / "out.csv")["Mass.v"][-1] == approx(final / MASS)


def test_the_plan_says_where_inputs_come_from_and_what_happens(ssptool, pushed, tmp_path):
    write(tmp_path / "push.csv", "time,push\n0,3\n")
    write(tmp_path / "fault.yaml", "events:\n- {time: 0.65, variable: push, action: bias, value: 1}\n")
    _, out, _ = ssptool("plan", pushed, "--inputs", "push.csv", "--scenario", "fault.yaml")
    assert "  push: push.csv, column push (linear); changed by the scenario; 3.0 at the start" in out.splitlines()
    assert "  scenario, t = 0.65 s: bias push by 1" in out.splitlines()
    assert "cut where inputs jump, master jacobi" in out


def test_results_do_not_go_over_the_inputs_even_if_nobody_has_named_them(ssptool, pushed, tmp_path):
    """The system is called as the file of its inputs is, and so are the results."""
    text = "time,push\n0,3\n"
    write(tmp_path / "pushed.csv", text)
    status, _, err = ssptool("run", pushed, "--inputs", "pushed.csv")
    assert status == 2 and "pushed.csv is read by this run, which would overwrite it" in err
    assert (tmp_path / "pushed.csv").read_text() == text


def test_the_note_on_inputs_that_nothing_drives_names_them_as_files_of_inputs_do(ssptool, tmp_path):
    """Also where the connector that leads to one belongs to a system inside."""
    system = SYSTEMS / "mass_spring_damper"
    note = "2 inputs are not connected and keep their start values: first.mass.F = 0 N, second.mass.F = 0 N"
    assert note in " ".join(ssptool("plan", system)[1].split())
    (tmp_path / "push.csv").write_text("time,first.mass.F,second.mass.F\n0,1,2\n")
    status, out, error = ssptool("plan", system, "--inputs", "push.csv")
    assert (status, error) == (0, "")
    assert "not connected" not in out


def test_what_is_wrong_with_a_file_is_an_error_with_its_line_and_nothing_is_run(ssptool, pushed, tmp_path):
    write(tmp_path / "push.csv", "time,push\n0,x\n")
    status, out, err = ssptool("run", pushed, "--inputs", "push.csv")
    assert (status, out) == (1, "")
    assert "push.csv:2: push: found 'x', expected a number" in err
    assert not (tmp_path / "pushed.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--interpolation", "hold"], "there are no --inputs to interpolate"),
        (["--inputs", "push.csv", "--interpolation", "push=cubic"], "'cubic' is none of hold, linear"),
        (["--inputs", "nothing.csv"], "nothing.csv"),
        (["--scenario", "nothing.yaml"], "nothing.yaml"),
    ],
)
def test_wrong_usage_is_told(ssptool, pushed, arguments, message):
    status, _, err = ssptool("run", pushed, *arguments)
    assert status == 2
    assert message in err


def test_explain_says_what_a_run_does_to_a_signal(ssptool, pushed, tmp_path):
    write(tmp_path / "push.csv", "time,push\n0,3\n2,3\n2,4\n")
    write(
        tmp_path / "fault.yaml",
        "events:\n- {time: 0.65, variable: Mass.F, action: bias, value: 1}\n"
        "- {time: 0.7, variable: Mass.m, action: override, value: 9}\nend: 0.9\n",
    )
    options = ("--inputs", "push.csv", "--scenario", "fault.yaml")
    _, out, _ = ssptool("explain", pushed, "push", "Mass.F", "Mass.m", *options)
    lines = [line.strip() for line in out.splitlines()]
    assert "driven by push.csv, column push (linear), 3 rows from 0 s to 2 s, 1 jump" in lines
    first = lines.index("from t = 0.65 s: 1.0 is added")
    assert lines[first + 1] == "from t = 0.9 s: reset"
    assert "from t = 0.7 s: 9.0" in lines
    _, out, _ = ssptool("explain", pushed, "Mass.F", "--format", "json", *options)
    (found,) = json.loads(out)
    assert found["duringRun"] == ["from t = 0.65 s: 1.0 is added", "from t = 0.9 s: reset"]
    status, _, err = ssptool("explain", pushed, "push", "--inputs", "nothing.csv")
    assert status == 2 and "nothing.csv" in err


def test_a_table_with_jumps_and_lines_and_a_scenario_end_to_end(ssptool, pushed, tmp_path):
    """F = 10 t to 0.35 s, then 1; 2 more from 0.5 s; none from 0.75 s. Events are between communication points."""
    write(tmp_path / "push.csv", "time,push\n0,0\n0.35,3.5\n0.35,1\n0.9,1\n")
    write(
        tmp_path / "fault.yaml",
        "events:\n- {time: 0.5, variable: Mass.F, action: bias, value: 2}\n"
        "- {time: 0.75, variable: push, action: override, value: -2}\n",
    )
    options = ("--inputs", "push.csv", "--scenario", "fault.yaml", "--step-size", 0.1)
    finals = set()
    for how in (["--in-process"], [], ["--threads", 2]):
        status, _, err = ssptool("run", pushed, *options, *how, "-o", "out.csv")
        assert (status, err) == (0, "")
        trace = api.read_trace(tmp_path / "out.csv")
        momentum = 10 * 0.35**2 / 2 + 0.15 + 3 * 0.25 + 0.0 * 0.25
        assert trace["Mass.v"][-1] == approx(momentum / MASS, abs=1e-12)
        assert list(trace.t).count(0.35) == 2
        finals.add(float(trace["Mass.z"][-1]))
    assert len(finals) == 1
