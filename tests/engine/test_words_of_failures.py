"""What an FMU says about its failure is shown: whatever its category, and if it takes one repeat of the run."""

import numpy as np
import pytest

import ssptool
from ssptool.engine.failure import RunError
from ssptool.engine.isolation import repeated_words
from ssptool.fmu.instance import FmiError
from tests.accuracy.measured import written
from tests.accuracy.systems import discarding
from tests.engine.systems import write_system
from tests.fmu.chatty_fmu import FAIL_ELSEWHERE, FAIL_SILENTLY, build
from tests.foreign.dry_boiler import FAILS_AT, PLACES, WORDS, boiler

STEP = 0.25


@pytest.fixture(scope="module", params=(2, 3), ids=("fmi2", "fmi3"))
def chatty(request, tmp_path_factory):
    """The folder with the FMUs of one version of FMI, and the name of the FMU."""
    return build(tmp_path_factory.mktemp("chatty")), f"chatty{request.param}"


@pytest.fixture
def failing(chatty, tmp_path):
    """A run in which component B fails at 0.5 s with a habit."""
    folder, name = chatty
    system = write_system(tmp_path / "system", folder, {"A": name, "B": name}, [])

    def run(habit, **options):
        values = {"B.habit": habit, "B.when": 0.5}
        return ssptool.simulate(system, start_values=values, stop_time=1, step_size=STEP, master="jacobi", **options)

    return run


@pytest.fixture
def repeats(monkeypatch):
    """Runs that were repeated."""
    made = []
    inner = repeated_words.execute_isolated

    def counted(job, recorder, limits):
        made.append(job)
        return inner(job, recorder, limits)

    monkeypatch.setattr(repeated_words, "execute_isolated", counted)
    return made


@pytest.fixture(scope="module", params=(2, 3), ids=("pythonfmu", "pythonfmu3"))
def boilers(request, tmp_path_factory):
    """Systems of a Python class that raises an exception, by place."""
    folders = {place: boiler(request.param, place, tmp_path_factory.mktemp(place)) for place in PLACES}
    return {place: write_system(one / "system", one, {"B": "Boiler"}, []) for place, one in folders.items()}


@pytest.mark.parametrize("options", [{}, {"isolated": True}], ids=["default", "isolated"])
def test_words_that_need_all_messages_on_come_from_one_repeat(failing, repeats, options):
    failure = failing(FAIL_SILENTLY, **options).failure
    assert failure.messages == ("error (logEvents): no solution for B",)
    assert failure.time == 0.5 and failure.component == "B"
    assert "repeat" in failure.advice
    assert len(repeats) == 1


def test_a_repeat_leaves_the_rows_of_the_run_and_its_settings(failing, tmp_path):
    result = failing(FAIL_SILENTLY, isolated=True, output=tmp_path / "r.csv")
    assert result.settings.fmu_log is None
    trace = ssptool.read_trace(tmp_path / "r.csv")
    assert trace.t.tolist() == [0.0, 0.25, 0.5]
    manifest = ssptool.read_manifest(tmp_path / "r.csv")
    assert manifest["failure"]["messages"] == ["error (logEvents): no solution for B"]


def test_runs_in_this_process_by_wish_are_not_repeated(failing, repeats):
    failure = failing(FAIL_SILENTLY, isolated=False).failure
    assert failure.messages == () and not repeats


def test_runs_whose_messages_were_all_on_are_not_repeated(failing, repeats, tmp_path):
    failure = failing(FAIL_SILENTLY, isolated=True, fmu_log=tmp_path / "log.csv").failure
    assert failure.messages == ("error (logEvents): no solution for B",) and not repeats


def test_long_runs_are_not_repeated(failing, repeats, monkeypatch):
    monkeypatch.setattr(repeated_words, "MOST_SECONDS", 0.0)
    assert failing(FAIL_SILENTLY, isolated=True).failure.messages == () and not repeats


def test_errors_are_shown_whatever_their_category(failing, repeats, tmp_path):
    path = tmp_path / "log.csv"
    failure = failing(FAIL_ELSEWHERE, fmu_log=path, fmu_log_categories=["logStatusWarning"]).failure
    assert failure.messages == ("error (solver): no root below 7.5",) and not repeats
    assert "0.5,B,error,solver,no root below 7.5" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("place", PLACES[1:])
def test_exceptions_of_python_fmus_are_shown(boilers, repeats, place):
    failure = ssptool.simulate(boilers[place], stop_time=1, step_size=STEP, isolated=True).failure
    assert failure.component == "B" and failure.time == (FAILS_AT if place == "step" else 0.0)
    assert any(WORDS in line for line in failure.messages) and WORDS in str(failure)
    assert "step size" not in str(failure) and not repeats


def test_exceptions_of_constructors_are_shown(boilers):
    with pytest.raises(FmiError, match="nstantiate") as caught:
        ssptool.simulate(boilers["constructor"], stop_time=1, step_size=STEP, isolated=True)
    assert WORDS in str(caught.value)


def test_a_simulation_step_by_step_raises_with_the_words(chatty, tmp_path):
    folder, name = chatty
    system = write_system(tmp_path / "system", folder, {"B": name}, [])
    values = {"B.habit": FAIL_ELSEWHERE, "B.when": 0.5}
    with ssptool.Simulation(system, stop_time=1, step_size=STEP, start_values=values) as simulation:
        with pytest.raises(RunError, match=r"no root below 7\.5") as caught:
            simulation.run_until(1)
        assert caught.value.failure.time == 0.5


def test_an_exported_fmu_passes_the_words_on(boilers, tmp_path):
    fmu = ssptool.export(boilers["step"], tmp_path / "made.fmu", step_size=STEP).path
    failure = ssptool.simulate(fmu, stop_time=1, step_size=STEP, isolated=True).failure
    assert failure.time == FAILS_AT and any(WORDS in line for line in failure.messages)


def test_a_discarded_step_advises_shorter_ones_which_then_go_through(tmp_path):
    system = discarding()
    path = written(system, tmp_path)
    refused = ssptool.simulate(path, stop_time=0.1, step_size=0.0005, master="jacobi")
    assert not refused.ok and "--step-size" in refused.failure.advice
    assert ssptool.simulate(path, stop_time=0.1, step_size=0.0004, master="jacobi").ok


@pytest.mark.parametrize(("step_size", "parts"), [(0.0008, 2), (0.0032, 8)])
def test_a_step_that_may_be_repeated_is_done_in_parts_where_it_is_discarded(tmp_path, step_size, parts):
    system = discarding()
    path = written(system, tmp_path)
    result = ssptool.simulate(path, stop_time=0.4, step_size=step_size)
    [note] = [note for note in result.notes if "discarded" in note]
    assert f"from t = 0 s on, and did them in up to {parts} smaller ones" in note
    # What is left is the error of the coupling: it falls with the square of the macro step.
    for name, values in system.exact(result.t).items():
        assert result[name] == pytest.approx(values, abs=40 * step_size**2)
    fmu = ssptool.export(path, tmp_path / "made.fmu", step_size=step_size).path
    exported = ssptool.simulate(fmu, stop_time=0.4, step_size=step_size)
    assert np.array_equal(exported["Mass.x"], result["Mass.x"])
