"""Studies give no other user of the machine a way in: they listen to nobody, and write through no link."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import ssptool
from ssptool.errors import WrongUsage
from ssptool.studies import run
from ssptool.studies.dataset import open_dataset

psutil = pytest.importorskip("psutil")
pytest.importorskip("pyarrow")

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"


def table(count=6):
    return {
        "system": str(SYSTEM),
        "settings": {"step_size": 0.01, "stop_time": 0.2},
        "factors": {"System2.k2": {"low": 5.0, "high": 15.0, "count": count}},
        "results": {"peak": 'max("System1.x1")'},
    }


LISTENERS = """
    import json, socket, sys
    import psutil, ssptool
    from ssptool.studies import run

    run.SHORT_SECONDS = 0.0
    seen = {"processes": 0, "listening": []}

    def look(*_):
        family = [psutil.Process(), *psutil.Process().children(recursive=True)]
        seen["processes"] = max(seen["processes"], len(family))
        for one in family:
            for found in one.net_connections(kind="inet"):
                if found.status == psutil.CONN_LISTEN or found.type == socket.SOCK_DGRAM:
                    seen["listening"].append(str(found))

    if __name__ == "__main__":
        ssptool.study(json.loads(sys.argv[1]), sys.argv[2], workers=2, announce=look, progress=look)
        print(json.dumps(seen))
"""


def test_no_process_of_a_study_listens_on_a_port(tmp_path):
    script = tmp_path / "study.py"
    script.write_text(textwrap.dedent(LISTENERS), encoding="utf-8")
    command = [sys.executable, script, json.dumps(table()), tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout)
    assert seen["processes"] >= 3, "the study's own process and two for its runs"
    assert seen["listening"] == []


def test_a_scheduler_without_tls_is_refused_by_name(tmp_path):
    for call in (ssptool.study, ssptool.calibrate):
        with pytest.raises(WrongUsage, match=r"tcp://localhost:9 .*--insecure-scheduler"):
            call(table(), tmp_path / "out", scheduler="tcp://localhost:9")
    assert not (tmp_path / "out").exists()


def test_the_command_line_refuses_a_scheduler_without_tls(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(f'system = "{SYSTEM}"\n[factors]\n"System2.k2" = [5.0]\n', encoding="utf-8")
    command = [sys.executable, "-m", "ssptool", "study", file, "--scheduler", "localhost:8786"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2 and "use tls://HOST:PORT" in " ".join(done.stderr.split())


def test_tls_without_certificates_is_refused_and_says_so(tmp_path, monkeypatch):
    cluster = pytest.importorskip("ssptool.studies.cluster")
    monkeypatch.setattr(run, "SHORT_SECONDS", 0.0)
    with pytest.raises(cluster.NoWorkers, match=r"tls://localhost:9: "):
        ssptool.study(table(), tmp_path / "out", scheduler="tls://localhost:9")


@pytest.mark.parametrize("name", [".lock", "study.json", "calibration.json"])
def test_a_link_in_a_study_folder_is_not_written_through(tmp_path, name):
    precious, folder = tmp_path / "precious", tmp_path / "out"
    precious.write_text("{}", encoding="utf-8")
    folder.mkdir()
    (folder / name).symlink_to(precious)
    with pytest.raises(ssptool.exceptions.WrongUsage, match=name):
        if name == "calibration.json":
            study = table() | {"factors": {"System2.k2": {"low": 5.0, "high": 15.0, "nominal": 10.0}}}
            ssptool.calibrate(study, folder, targets={"peak": 1.0})
        else:
            ssptool.study(table(2), folder)
    assert precious.read_text(encoding="utf-8") == "{}"


@pytest.mark.parametrize("name", ["runs", "traces", ".runs.new", ".runs.old"])
def test_a_folder_of_results_elsewhere_is_refused(tmp_path, name):
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "out"
    elsewhere.mkdir()
    folder.mkdir()
    (elsewhere / "mine.writing").write_text("", encoding="utf-8")
    (folder / name).symlink_to(elsewhere)
    with pytest.raises(ssptool.exceptions.WrongUsage, match=name):
        ssptool.study(table(2), folder)
    assert [path.name for path in elsewhere.iterdir()] == ["mine.writing"]


def test_a_lock_that_another_process_has_is_left_alone(tmp_path):
    (tmp_path / ".lock").write_text("theirs", encoding="utf-8")
    with open_dataset(tmp_path), pytest.raises(WrongUsage), open_dataset(tmp_path):
        pass
    assert (tmp_path / ".lock").read_text(encoding="utf-8") == "theirs"


def test_a_fifo_as_the_lock_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / ".lock")
    with open_dataset(tmp_path):
        pass
