"""Relative paths name the same files in all threads, whatever FMUs do to the working directory."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ssptool
from tests.engine.systems import write_system
from tests.fmus import build as fmus

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the FMU needs POSIX")
THREADS = 8


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The working directory, with the system `lag`, a parameter set, an input file and an empty folder in it."""
    write_system(
        tmp_path / "lag", fmus.build() / "fmi2", {"Good": "Misbehaving", "Bad": "Misbehaving"}, [("Good.y", "Bad.u")]
    )
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "u.csv").write_text("time,Good.u\n0,1\n1,1\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def simulated(number: int, what: int, isolated: bool):
    return ssptool.simulate(
        "lag",
        settings=ssptool.Settings(stop_time=0.5, step_size=0.01, log_loops=Path(f"{number}.jsonl")),
        start_values={"Bad.what": str(what), "Bad.when": "0.1"},
        inputs="u.csv",
        output=f"{number}.csv",
        isolated=isolated,
    )


@pytest.mark.slow
@pytest.mark.parametrize("isolated", [False, True], ids=["in-process", "isolated"])
@pytest.mark.parametrize("what", [fmus.NOTHING, fmus.GO_ELSEWHERE], ids=["stays", "goes elsewhere"])
def test_many_threads_simulate_the_system_of_a_relative_path(home, what, isolated):
    count = THREADS if isolated else 3 * THREADS
    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(lambda number: simulated(number, what, isolated), range(count)))
    assert all(result.ok for result in results)
    assert Path.cwd() == home
    for number, result in enumerate(results):
        assert len(ssptool.read_trace(home / f"{number}.csv")) == len(result.trace) == 51
        assert (home / f"{number}.jsonl").is_file()
        assert [one["name"] for one in ssptool.read_manifest(home / f"{number}.csv")["inputs"]][-1] == "u.csv"


def test_a_simulation_is_that_of_the_directory_in_which_it_was_made(home, monkeypatch):
    with ssptool.Simulation("lag") as first:
        first.step(10)
        first.save("state")
    for saved in (None, "state"):
        monkeypatch.chdir(home)
        made = ssptool.Simulation("lag", saved=saved)
        monkeypatch.chdir(home / "elsewhere")
        with made as run:
            run.step()
        assert Path.cwd() == home / "elsewhere"


def test_the_fmus_of_a_simulation_leave_its_program_where_it_is(home):
    start_values = {"Bad.what": str(fmus.GO_ELSEWHERE), "Bad.when": "0"}
    with ssptool.Simulation("lag", start_values=start_values) as run:
        assert Path.cwd() == home
        run.step()
        assert Path.cwd() == home
        run.save("state")
    assert (home / "state").is_file()
    assert Path.cwd() == home


def test_a_system_that_was_opened_elsewhere_is_saved_where_it_was(home, monkeypatch):
    with ssptool.edit("lag") as system:
        system.rename("Bad", "Worse")
        monkeypatch.chdir(home / "elsewhere")
    assert not list((home / "elsewhere").iterdir())
    assert b'name="Worse"' in (home / "lag" / "SystemStructure.ssd").read_bytes()
