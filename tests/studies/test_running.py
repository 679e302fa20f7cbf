"""Studies in processes here and on Dask: nothing that has finished is lost, whoever is killed."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import ssptool
from ssptool.errors import WrongUsage
from ssptool.studies import run
from ssptool.studies.dataset import Dataset, OtherStudy, open_dataset
from ssptool.studies.definition import RunStatus
from ssptool.studies.study_file import study_from
from tests.fmus import build as fmus
from tests.studies.conftest import OSCILLATOR
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.one_in(3)

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    options = {"threads_per_worker": 1, "dashboard_address": None, "silence_logs": "CRITICAL"}
    with (
        distributed.LocalCluster(n_workers=2, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def local(monkeypatch):
    """In processes here, however short a study is; the ids of these processes."""
    monkeypatch.setattr(run, "SHORT_SECONDS", 0.0)
    started, start = [], subprocess.Popen.__init__

    def noted(process, *arguments, **options):
        start(process, *arguments, **options)
        started.append(process.pid)

    monkeypatch.setattr(subprocess.Popen, "__init__", noted)
    return started


@pytest.fixture
def on_dask(monkeypatch):
    """However short a study is."""
    monkeypatch.setattr(run, "SHORT_SECONDS", 0.0)


def test_a_study_runs_on_a_client_and_every_reader_of_parquet_reads_it(oscillating, client, on_dask, tmp_path):
    import pandas
    import polars

    forecasts = []
    study = oscillating(factors={"System2.k2": {"low": 5.0, "high": 15.0, "count": 12}})
    results = ssptool.study(study, tmp_path / "out", scheduler=client, announce=forecasts.append)
    assert results.status.ok and results.status.completed == 12
    assert forecasts[0].runs == 12 and forecasts[0].duration > 0
    peaks = results.table()["peak"].to_pylist()
    assert list(pandas.read_parquet(results.runs).sort_values("number")["peak"]) == peaks
    assert polars.read_parquet(results.runs / "*.parquet").sort("number")["peak"].to_list() == peaks
    assert read_by_duckdb(results.runs) == peaks
    assert peaks[0] == approx_peak(5.0) and results.units == {"System2.k2": "N/m", "peak": "m"}


def read_by_duckdb(runs):
    """In a process of its own, at whose end it may leave behind what it likes."""
    query = f"select peak from '{runs}/*.parquet' order by number"
    code = f"import duckdb, json; print(json.dumps([row[0] for row in duckdb.sql({query!r}).fetchall()]))"
    return json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def approx_peak(k2):
    """By one simulation."""
    settings = ssptool.Settings(step_size=0.01, stop_time=0.2)
    trace = ssptool.simulate(OSCILLATOR, settings=settings, start_values={"System2.k2": repr(k2)}).unwrap()
    return trace["System1.x1"].max()


def test_processes_here_give_the_results_that_dask_gives(oscillating, client, local, tmp_path):
    forecasts, fractions = [], []
    study = oscillating(factors={"System2.k2": {"low": 5.0, "high": 15.0, "count": 12}})
    here = ssptool.study(
        study, tmp_path / "here", workers=2, announce=forecasts.append, progress=fractions.append
    ).table()
    there = ssptool.study(study, tmp_path / "there", scheduler=client).table()
    same = ["run", "number", "System2.k2", "peak", "status"]
    assert here.select(same).equals(there.select(same)) and len(here) == 12
    assert forecasts[0].workers == 2 and fractions == sorted(fractions) and fractions[-1] == 1.0


def test_a_study_in_processes_here_is_interrupted_and_resumed(oscillating, local, tmp_path):
    study, done = oscillating(factors={"System2.k2": {"low": 5.0, "high": 15.0, "count": 40}}), []
    with pytest.raises(ssptool.exceptions.Interrupted) as stopped:
        ssptool.study(study, tmp_path / "out", workers=2, progress=lambda f: done.append(f) or _stop(done))
    before = Dataset(tmp_path / "out").finished()
    assert 3 <= len(before) < 40 and stopped.value.status.left == 40 - len(before)
    assert not any(Path(f"/proc/{pid}/exe").exists() for pid in local)
    assert ssptool.studies.resume_study(tmp_path / "out", workers=2).status.ok
    assert before < Dataset(tmp_path / "out").finished()


def test_progress_begins_at_what_is_done_and_ends_at_all(oscillating, tmp_path):
    fractions, resumed = [], []
    few, more = ({"System2.k2": list(range(5, 5 + count))} for count in (3, 12))
    ssptool.study(oscillating(factors=few), tmp_path / "out", workers=1, progress=fractions.append)
    assert fractions[0] == 0 and fractions[-1] == 1 and fractions == sorted(fractions)
    ssptool.study(oscillating(factors=more), tmp_path / "out", workers=1, progress=resumed.append)
    assert resumed[0] == 3 / 12 and resumed[-1] == 1 and resumed == sorted(resumed)


def test_a_process_here_that_is_killed_loses_no_run(oscillating, local, tmp_path):
    study = oscillating(factors={"System2.k2": {"low": 5.0, "high": 15.0, "count": 40}})
    killed = []

    def kill(fraction):
        if not killed and fraction > 2 / 40:  # after the trial runs
            killed.append(local[-1])
            os.kill(killed[0], signal.SIGKILL)

    results = ssptool.study(study, tmp_path / "out", workers=1, progress=kill)
    assert killed and results.status.ok and len(results.table()) == 40


def test_started_again_it_does_what_is_missing_and_more_points_are_added(oscillating, client, tmp_path):
    few = oscillating(factors={"System2.k2": [5.0, 6.0]})
    more = oscillating(factors={"System2.k2": [5.0, 5.5, 6.0]})
    first = ssptool.study(few, tmp_path, scheduler=client).table()
    again = ssptool.study(few, tmp_path, scheduler=client).table()
    assert again.equals(first)
    grown = ssptool.study(more, tmp_path, scheduler=client)
    assert grown.status.completed == 3
    assert set(first["run"].to_pylist()) < set(grown.table()["run"].to_pylist())
    assert [(row["number"], row["System2.k2"]) for row in grown.rows()] == [(0, 5.0), (1, 5.5), (2, 6.0)]


def test_runs_of_other_points_are_left_alone(oscillating, tmp_path):
    """Together with those of the design they would count as its own."""
    ssptool.study(oscillating(factors={"System2.k2": [5.0, 6.0]}), tmp_path, workers=1)
    with pytest.raises(OtherStudy, match="1 run of points that this design does not have"):
        ssptool.study(oscillating(factors={"System2.k2": [6.0, 7.0]}), tmp_path, workers=1)
    kept = ssptool.studies.study_results(tmp_path)
    assert kept["System2.k2"].tolist() == [5.0, 6.0] and kept.status.runs == 2


def test_results_of_another_study_are_left_alone(oscillating, client, tmp_path):
    ssptool.study(oscillating(factors={"System2.k2": [5.0]}), tmp_path, scheduler=client)
    with pytest.raises(OtherStudy, match=r"step_size: 0\.01 there, 0\.02 now"):
        ssptool.study(
            oscillating(factors={"System2.k2": [5.0]}, settings={"step_size": 0.02, "stop_time": 0.2}),
            tmp_path,
            scheduler=client,
        )
    with pytest.raises(OtherStudy, match=r"results\.peak"):
        ssptool.study(oscillating(factors={"System2.k2": [5.0]}, results={}), tmp_path, scheduler=client)


@pytest.mark.parametrize("what", [fmus.WRITE_TO_NULL, fmus.HANG])
def test_a_bad_run_is_recorded_as_failed_and_the_rest_goes_on(misbehaving, client, on_dask, tmp_path, what):
    study = misbehaving([fmus.NOTHING, what], values=[1.0, 2.0], effort={"timeout": 3, "retries": 0})
    results = ssptool.study(study, tmp_path / "out", scheduler=client)
    assert (results.status.completed, results.status.failed, results.status.left) == (2, 2, 0)
    table = results.table().to_pylist()
    assert all(row["message"] for row in table if row["status"] == "failed")
    assert "failed" in results.text(3) and "more" in results.text(3)


def test_failed_runs_are_done_again_if_that_is_wanted(misbehaving, client, tmp_path):
    study = misbehaving([fmus.NOTHING, fmus.NOT_A_NUMBER], effort={"retries": 0})
    first = ssptool.study(study, tmp_path / "out", scheduler=client)
    assert (first.status.completed, first.status.failed) == (1, 1)
    again = ssptool.study(study, tmp_path / "out", scheduler=client, retry_failed=True)
    assert (again.status.completed, again.status.failed) == (1, 1)
    assert len(again.table()) == 2


def test_traces_are_kept_by_run_if_the_study_wants_them(oscillating, client, tmp_path):
    import pandas

    study = oscillating(traces={"signals": ["System1.x*"], "output_step": 0.05})
    results = ssptool.study(study, tmp_path, scheduler=client)
    run = results.table()["run"].to_pylist()[0]
    trace = results.trace(run)
    assert trace.signals == ("System1.x1",) and len(trace) == 5 and trace.units == ("m",)
    frame = pandas.read_parquet(tmp_path / "traces")
    assert set(frame["run"].astype(str)) == set(results.table()["run"].to_pylist())


@pytest.mark.slow
def test_a_worker_that_is_killed_loses_no_run(misbehaving, client, on_dask, tmp_path):
    study = misbehaving([fmus.CRAWL], values=[1.0, 2.0, 3.0, 4.0], settings={"step_size": 0.5})
    killed = []

    def kill(fraction):
        if not killed and fraction > 2 / 4:  # after the trial runs
            pids = client.run(os.getpid)
            killed.append(min(pids.values()))
            os.kill(killed[0], signal.SIGKILL)

    results = ssptool.study(study, tmp_path / "out", scheduler=client, progress=kill)
    assert killed and results.status.ok and len(results.table()) == 4


def test_a_result_that_does_not_come_is_waited_for_again(oscillating, client, on_dask, tmp_path, monkeypatch):
    """As where a worker died with what it had finished, and another one takes long over doing it again."""
    result, asked = distributed.Future.result, []

    def late(future, timeout=None):
        asked.append(future.key)
        if len(asked) == 1:
            raise TimeoutError("timed out after 20 s.")
        return result(future, timeout)

    monkeypatch.setattr(distributed.Future, "result", late)
    results = ssptool.study(oscillating(), tmp_path, scheduler=client)
    assert results.status.ok and len(results.table()) == 3
    assert asked.count(asked[0]) == 2


SCRIPT = """
    import sys, ssptool
    if __name__ == "__main__":
        table = {
            "system": sys.argv[1], "settings": {"step_size": 0.01, "stop_time": 0.05},
            "factors": {"System2.k2": {"low": 5.0, "high": 15.0, "count": int(sys.argv[4])}},
            "results": {"peak": 'max("System1.x1")'},
        }
        where = {"workers": 1} if sys.argv[3] == "here" else {"scheduler": sys.argv[3], "insecure_scheduler": True}
        ssptool.study(table, sys.argv[2], **where)
"""


def start_study(tmp_path, scheduler, count):
    script = tmp_path / "study.py"
    script.write_text(textwrap.dedent(SCRIPT), encoding="utf-8")
    command = [sys.executable, script, OSCILLATOR, tmp_path / "out", scheduler, str(count)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def wait_for_parts(dataset, process, least=2):
    until(lambda: len(dataset.parts) >= least or process.poll() is not None)
    assert process.poll() is None, process.stderr.read()


def test_a_study_that_is_killed_keeps_what_has_finished_and_goes_on(tmp_path, client):
    process = start_study(tmp_path, client.scheduler.address, 5000)
    dataset = Dataset(tmp_path / "out")
    wait_for_parts(dataset, process)
    process.kill()
    process.communicate()
    before = dataset.finished()
    assert 0 < len(before) < 5000
    assert dataset.counts() == {RunStatus.COMPLETED: len(before)}
    study = study_from(
        {
            "system": str(OSCILLATOR),
            "settings": {"step_size": 0.01, "stop_time": 0.05},
            "factors": {"System2.k2": {"low": 5.0, "high": 15.0, "count": 5000}},
            "results": {"peak": 'max("System1.x1")'},
        }
    )
    done = []
    with pytest.raises(ssptool.exceptions.Interrupted) as stopped:
        ssptool.study(study, tmp_path / "out", scheduler=client, progress=lambda f: done.append(f) or _stop(done))
    assert before < Dataset(tmp_path / "out").finished()
    assert stopped.value.status.left > 0


def _stop(done):
    if len(done) > 2:
        raise KeyboardInterrupt


@pytest.mark.slow
def test_a_scheduler_that_is_killed_loses_no_finished_run(tmp_path):
    where = ("--scheduler-file", tmp_path / "scheduler.json")
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", *where],
        stderr=subprocess.DEVNULL,
    )
    worker = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            *where,
            "--nthreads",
            "1",
            "--no-dashboard",
            "--no-nanny",
        ],
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    try:
        file = tmp_path / "scheduler.json"
        address = json.loads(until(lambda: file.exists() and file.read_text()))["address"]
        process = start_study(tmp_path, address, 5000)
        dataset = Dataset(tmp_path / "out")
        wait_for_parts(dataset, process)
        scheduler.kill()
        said = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode != 0 and "NoWorkers" in said, said
        assert 0 < len(dataset.finished()) < 5000
        assert len(dataset.table()) == len(dataset.finished())
    finally:
        for one in (worker, scheduler):
            one.kill()
            one.wait()


def test_two_processes_do_not_write_the_same_results(tmp_path):
    with open_dataset(tmp_path / "out"), pytest.raises(WrongUsage), open_dataset(tmp_path / "out"):
        pass


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(WrongUsage, match=r"study\.json"):
        ssptool.studies.study_results(tmp_path)


def test_a_process_that_ended_while_it_gathered_loses_nothing(oscillating, client, tmp_path):
    results = ssptool.study(oscillating(), tmp_path, scheduler=client)
    (tmp_path / "runs").rename(tmp_path / ".runs.old")
    assert len(Dataset(tmp_path).finished()) == results.status.runs


@pytest.mark.slow
def test_an_address_where_no_scheduler_is_says_so(oscillating, on_dask, tmp_path, monkeypatch):
    from ssptool.studies import cluster

    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    with pytest.raises(cluster.NoWorkers, match="tcp://localhost:9"):
        ssptool.study(oscillating(), tmp_path, scheduler="tcp://localhost:9", insecure_scheduler=True)


@pytest.mark.slow
def test_a_study_that_was_made_in_python_is_resumed(oscillating, client, tmp_path):
    """From what its folder says, in any working directory."""
    study = oscillating(factors={"System2.k2": [5.0, 6.0, 7.0]})
    stopped = []
    with pytest.raises(ssptool.exceptions.Interrupted):
        ssptool.study(study, tmp_path / "out", scheduler=client, announce=lambda _: _stop([0, 0, stopped.append(1)]))
    before = Dataset(tmp_path / "out").finished()
    assert 0 < len(before) < 3
    results = ssptool.studies.resume_study(tmp_path / "out", scheduler=client)
    assert results.status.ok and results.status.completed == 3
    assert results.table()["System2.k2"].to_pylist() == [5.0, 6.0, 7.0]
    assert before < Dataset(tmp_path / "out").finished()
