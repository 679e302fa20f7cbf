"""Several processes at one system, output or study; places without locks, clocks that jump, too few descriptors."""

import errno
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ssptool
from ssptool import tempfiles
from ssptool.documents.archive import Archive
from tests.safety.command_line import typed
from tests.waiting import until

if sys.platform == "win32":
    pytest.skip("forks", allow_module_level=True)

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
COMMAND = Path(sys.executable).with_name("ssptool")


@pytest.fixture
def plant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SYSTEM, "plant", ignore=shutil.ignore_patterns("fmi?", "no_flange", "[A-R]*.ssd"))
    return Path("plant")


def names(plant):
    with Archive.open(plant) as archive:
        return {one.get("name") for one in archive.structure().root.iter("{*}Component")}


def test_six_editors_at_once_lose_nothing(plant):
    fmu = plant / "resources" / "System2.fmu"
    editors = [
        subprocess.Popen([COMMAND, "add", plant, fmu, "--name", f"Added{number}"], stdout=subprocess.DEVNULL)
        for number in range(6)
    ]
    assert [one.wait() for one in editors] == [0] * 6
    assert names(plant) == {"System1", "System2", *(f"Added{number}" for number in range(6))}
    assert not list(Path().rglob(f"*{tempfiles.PREFIX}*"))
    assert not ssptool.validate(plant).errors


def test_who_does_not_wait_is_told_that_somebody_else_was_faster(plant):
    with (
        pytest.raises(ssptool.exceptions.ChangedMeanwhile, match="repeat the edit"),
        ssptool.edit(plant) as first,
    ):
        first.set("System1.m1", 2.5)
        with ssptool.edit(plant) as second:
            second.set("System1.m1", 3.5)
    assert "3.5" in str(ssptool.explain(plant, "System1.m1"))


def test_a_study_is_run_by_one_process_at_a_time(plant):
    pytest.importorskip("pyarrow")
    from ssptool.studies.dataset import open_dataset

    assert ssptool.sweep(plant, {"System2.k2": [5.0]}, output="a.sweep", stop_time=0.05).status.ok
    with open_dataset(Path("a.sweep")):
        done = typed("study", "resume", "a.sweep")
    assert done.code == 2
    assert "another process runs this study; wait for it" in done.err.replace("\n", " ")
    assert typed("study", "resume", "a.sweep").code == 0


@pytest.mark.parametrize("ending", ["csv", "parquet", "mat", "mf4"])
def test_the_second_run_to_one_output_is_refused(plant, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    output = Path(f"r.{ending}")
    first = subprocess.Popen(
        [COMMAND, "run", plant, "--stop-time", "600", "--realtime", "1", "--accuracy", "off", "-o", output],
        stdout=subprocess.DEVNULL,
    )
    until(lambda: output.exists() and output.stat().st_size > 0)
    try:
        before = output.read_bytes()
        done = typed("run", plant, "--stop-time", "0.05", "-o", output)
        assert done.code == 2, done
        assert "another process writes" in done.err.replace("\n", " ")
        assert output.read_bytes()[:4] == before[:4]
    finally:
        first.kill()
        first.wait()
    assert typed("run", plant, "--stop-time", "0.05", "-o", output).code == 0


def test_an_edit_where_there_are_no_locks_is_complete(plant, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as changed, ssptool.edit(plant) as system:
        changed.setattr("fcntl.flock", refuse)
        system.rename("System1", "Renamed")
        system.set("System2.m2", 3)
    assert names(plant) == {"Renamed", "System2"}
    assert not ssptool.validate(plant).errors


@pytest.mark.parametrize("command", [["validate"], ["run", "--stop-time", "0.05"], ["set"]], ids=lambda one: one[0])
def test_too_few_descriptors_are_a_message_with_a_way_out(plant, command):
    """At each number of descriptors, until it is enough: the command does its work, or says what to do."""
    ends = []
    for most in range(3, 40, 2):
        words = [COMMAND, command[0], plant, *command[1:], *(["System1.m1=2.5"] if command[0] == "set" else [])]
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)),
        )
        ends.append(done.returncode)
        if ends[-3:] == [0, 0, 0]:
            break
        if "could not import" in done.stderr or most < 12:  # the interpreter itself does not start
            continue
        assert "Traceback" not in done.stderr, (most, done.stderr)
        assert done.returncode == 0 or "ulimit -n" in done.stderr, (most, done)
    assert ends[-1] == 0


@pytest.mark.parametrize("jump", [-1e9, 1e9])
def test_clocks_that_jump_end_no_run_and_hide_no_change(plant, monkeypatch, jump):
    now = time.time()
    for file in plant.rglob("*"):
        os.utime(file, (now + jump, now + jump))
    before = time.time
    monkeypatch.setattr(time, "time", lambda: before() + jump)
    assert ssptool.simulate(plant, stop_time=0.1, timeout=100, isolated=True, accuracy="off").ok
    with ssptool.edit(plant) as system:
        system.set("System1.m1", 2.5)
    assert str(ssptool.explain(plant, "System1.m1")).count("2.5")
    structure = plant / "SystemStructure.ssd"
    changed = structure.read_text().replace('name="DualMassOscillator"', 'name="DualMassOscillatoR"')
    structure.write_text(changed)
    os.utime(structure, (now + jump, now + jump))  # same size, and the time of before
    assert "DualMassOscillatoR" in str(ssptool.info(plant))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
def test_read_only_media_are_a_message(plant, tmp_path):
    (tmp_path / "media").mkdir()
    shutil.copytree(plant, tmp_path / "media" / "plant")
    script = f"""
import ctypes, subprocess, sys
libc = ctypes.CDLL(None)
assert libc.unshare(0x20000) == 0 and libc.mount(b"none", b"/", None, 0x44000, None) == 0
place = {str(tmp_path / "media").encode()!r}
assert libc.mount(place, place, None, 4096, None) == 0 and libc.mount(None, place, None, 4096 | 32 | 1, None) == 0
plant = "{tmp_path}/media/plant"
for words in (["set", plant, "System1.m1=2"], ["pack", plant, "{tmp_path}/media/p.ssp"],
              ["run", plant, "-o", "{tmp_path}/media/r.csv"]):
    done = subprocess.run([{str(COMMAND)!r}, *words], capture_output=True, text=True)
    assert done.returncode and "read-only file system; choose a place that can be written" in done.stderr, done
for words in (["validate", plant], ["run", plant, "--stop-time", "0.05", "-o", "{tmp_path}/r.csv"]):
    done = subprocess.run([{str(COMMAND)!r}, *words], capture_output=True, text=True)
    assert done.returncode == 0, done
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    if "assert libc.unshare" in done.stderr:
        pytest.skip("no mounts here")
    assert done.returncode == 0, done.stderr
