"""What FMUs log during a run: in the result, in messages of calls that failed, and in a file."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

import ssptool
from ssptool import read_manifest
from ssptool.documents.archive import Archive
from ssptool.exceptions import WrongUsage
from ssptool.fmu.binary import FmuBinary
from ssptool.fmu.instance import FmiError
from tests.engine.running import run
from tests.engine.systems import write_system
from tests.fmu.chatty_fmu import CRASH, FAIL, FAIL_SILENTLY, LOG_IN_THREADS, WARN, build


@pytest.fixture(scope="module")
def fmus(tmp_path_factory):
    return build(tmp_path_factory.mktemp("chatty"))


@pytest.fixture(params=[2, 3], ids=["fmi2", "fmi3"])
def system(request, fmus, tmp_path):
    return ring(tmp_path / "ring", fmus, request.param)


def ring(folder, fmus, version, names=("A", "B")):
    one, other = names
    components = dict.fromkeys(names, f"chatty{version}")
    return write_system(folder, fmus, components, [(f"{one}.y", f"{other}.u"), (f"{other}.y", f"{one}.u")])


def simulate(system, habit=0, *, isolated=False, values=None, output=None, **settings):
    settings = ssptool.Settings(stop_time=1.0, step_size=0.25, master="jacobi", **settings)
    start_values = {"A.x": "1", "B.habit": str(habit)} | (values or {})
    return ssptool.simulate(system, settings=settings, start_values=start_values, isolated=isolated, output=output)


def rows(path):
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_fmus_are_quiet_and_right(system):
    """Inputs are held: with x of A and B, x_A + x_B stays 1. Their outputs lag by a step: x⁺ = x + h (u − x)."""
    result = simulate(system)
    assert result.problems == ()
    a, b, h = [1.0], [0.0], 0.25
    outputs = [(0.0, 0.0)]  # y is x from the first step on
    for _ in range(4):
        ya, yb = outputs[-1]
        a.append(a[-1] + h * (yb - a[-1]))
        b.append(b[-1] + h * (ya - b[-1]))
        outputs.append((a[-1], b[-1]))
    assert np.array_equal(result.unwrap()["A.y"], [y for y, _ in outputs])
    assert np.array_equal(result.unwrap()["B.y"], [y for _, y in outputs])


@pytest.mark.parametrize("isolated", [False, True], ids=["here", "isolated"])
def test_warnings_are_counted_with_the_first_of_each_kind(system, isolated, tmp_path):
    result = simulate(system, WARN, values={"B.when": "0.5"}, isolated=isolated, output=tmp_path / "r.csv")
    (problems,) = result.problems
    assert (problems.component, problems.counts) == ("B", {"warning": 2})
    (kind,) = problems.kinds
    assert (kind.status, kind.category, kind.time, kind.count) == ("warning", "logStatusWarning", 0.5, 2)
    assert "at t = 0.5 s" in kind.text
    (stated,) = read_manifest(tmp_path / "r.csv")["problems"]
    assert stated["counts"] == {"warning": 2}
    assert stated["kinds"][0]["text"] == kind.text


def test_messages_have_the_start_of_their_step(system, tmp_path):
    settings = ssptool.Settings(stop_time=1.0, step_size=0.25, master="jacobi", fmu_log=tmp_path / "log.jsonl")
    plan = ssptool.plan(system, settings=settings)
    with Archive.open(system) as archive:
        run(plan, archive)
    times = [row["time"] for row in rows(tmp_path / "log.jsonl") if row["component"] == "A" and "DoStep" in row["text"]]
    assert times == [0.0, 0.25, 0.5, 0.75]


@pytest.mark.parametrize("isolated", [False, True], ids=["here", "isolated"])
@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_the_log_has_everything_from_the_first_call_to_the_last(system, ending, isolated, tmp_path):
    path = tmp_path / f"log{ending}"
    result = simulate(system, isolated=isolated, fmu_log=path)
    result.unwrap()
    found = rows(path)
    for name in ("A", "B"):
        own = [row["text"] for row in found if row["component"] == name]
        assert "nstantiate" in own[0]
        assert own[-1].endswith("FreeInstance")
        assert sum("DoStep" in text for text in own) == 4
    assert {row["status"] for row in found} == {"ok"}
    assert not found[0]["time"]


def test_level_and_categories_are_those_of_the_component(system, tmp_path):
    levels = {"*": "warning", "A": "ok"}
    simulate(
        system,
        WARN,
        fmu_log=tmp_path / "log.csv",
        fmu_log_level=levels,
        fmu_log_categories={"A": ["logFmiCall"]},
    ).unwrap()
    found = {(row["component"], row["category"]) for row in rows(tmp_path / "log.csv")}
    assert found == {("A", "logFmiCall"), ("B", "logStatusWarning")}


def test_an_fmu_tells_why_it_fails_although_nothing_is_logged(system):
    failure = simulate(system, FAIL).failure
    assert failure.messages == ("error (logStatusError): no solution for B",)
    assert "--fmu-log FILE shows more messages of the FMU" in str(failure)


def test_of_an_fmu_that_fails_silently_the_message_says_how_to_see_more(system, tmp_path):
    silent = simulate(system, FAIL_SILENTLY).failure
    assert silent.messages == ()
    assert "--fmu-log FILE shows what the FMU logs" in str(silent)
    path = tmp_path / "log.csv"
    told = simulate(system, FAIL_SILENTLY, fmu_log=path).failure
    assert told.messages == ("error (logEvents): no solution for B",)
    assert f"see {path} for the messages" in str(told)
    assert any(row["text"] == "no solution for B" for row in rows(path))


def test_the_log_survives_a_crash(system, tmp_path):
    path = tmp_path / "log.csv"
    result = simulate(system, CRASH, values={"B.when": "0.5"}, isolated=True, fmu_log=path)
    assert result.status == "the process of the FMUs crashed"
    assert rows(path)[-1]["text"] == "a last word"
    assert rows(path)[-1]["time"] == "0.5"
    assert str(path) in str(result.failure)


def test_fmus_may_log_in_threads_while_others_step_in_theirs(system, tmp_path):
    path = tmp_path / "log.jsonl"
    values = {"A.habit": str(LOG_IN_THREADS)}
    result = simulate(system, LOG_IN_THREADS, values=values, threads=2, fmu_log=path, fmu_log_level="warning")
    assert {one.component: one.counts for one in result.problems} == {name: {"warning": 1600} for name in "AB"}
    assert len(rows(path)) == 3200


@pytest.mark.parametrize("version", [2, 3])
def test_an_fmu_that_refuses_to_choose_what_it_logs_runs_all_the_same(fmus, tmp_path, version):
    """One of the name Deaf does."""
    system = ring(tmp_path / "ring", fmus, version, ("Deaf", "A"))
    settings = ssptool.Settings(stop_time=1.0, step_size=0.25)
    assert ssptool.simulate(system, settings=settings).notes == ()
    asked = ssptool.Settings(
        stop_time=1.0, step_size=0.25, fmu_log=tmp_path / "log.csv", fmu_log_categories=["logEvents"]
    )
    result = ssptool.simulate(system, settings=asked)
    result.unwrap()
    assert result.notes == (f"Deaf: the FMU refused fmi{version}SetDebugLogging, so it chooses itself what it logs",)


def test_a_simulation_logs_as_a_run_does(system, tmp_path):
    path = tmp_path / "log.csv"
    settings = ssptool.Settings(stop_time=1.0, step_size=0.25, fmu_log=path)
    with ssptool.Simulation(system, settings=settings, start_values={"B.habit": str(WARN)}) as simulation:
        simulation.step(2)
        (problems,) = simulation.problems
        assert problems.counts == {"warning": 2}
        assert sum("DoStep" in row["text"] for row in rows(path)) == 4


def test_what_cannot_be_logged_is_refused_by_name(system, tmp_path):
    path = tmp_path / "log.csv"
    for wrong, match in [
        ({"fmu_log_level": {"C": "ok"}}, "no component 'C'; it has A, B"),
        ({"fmu_log_categories": ["logEvent"]}, "declares the log category 'logEvent'; declared are logEvents"),
    ]:
        with pytest.raises(WrongUsage, match=match):
            simulate(system, fmu_log=path, **wrong)
    with pytest.raises(ValueError, match="fmu_log_level must be one of ok, warning"):
        ssptool.Settings(fmu_log=path, fmu_log_level="verbose")
    with pytest.raises(ValueError, match="name the file"):
        ssptool.Settings(fmu_log_level="ok")
    with pytest.raises(ValueError, match=r"must end in \.csv or \.jsonl"):
        simulate(system, fmu_log=tmp_path / "log.txt")
    assert not path.exists()


def test_an_fmu_that_is_not_instantiated_tells_why_with_a_log(system, tmp_path, monkeypatch):
    made = FmuBinary.instantiate

    def of_another_model(self, name, **options):
        self.description = replace(self.description, token="{other}")
        return made(self, name, **options)

    monkeypatch.setattr(FmuBinary, "instantiate", of_another_model)
    with pytest.raises(FmiError, match="wrong") as caught:
        simulate(system, fmu_log=tmp_path / "log.csv")
    assert caught.value.messages[0].startswith("error (logStatusError): wrong")
