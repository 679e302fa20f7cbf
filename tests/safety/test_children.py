"""Processes of FMUs: what they import, what they see of the environment, and what the parent believes of them."""

import faulthandler
import json
import os
import pickle
import signal
import struct
import subprocess
import sys
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any

import pytest

import ssptool
from ssptool.child_processes import (
    ENVIRONMENT,
    BadMessage,
    Fork,
    child_environment,
    close_descriptors,
    decoded,
    encoded,
    error_data,
    error_from,
    limit_waiting,
    passing,
    received,
    start_interpreter,
)
from ssptool.engine.failure import Ending, Failure
from ssptool.engine.isolation import child, parent
from ssptool.engine.isolation.child import Committed, message_from
from ssptool.engine.run.execution import Execution, Statistics
from ssptool.engine.run.initialization import InitializationReport
from ssptool.errors import WrongUsage
from ssptool.fmu.instance import FmiError
from ssptool.fmu.processes import AVAILABLE
from tests.engine.systems import write_system
from tests.fmus import build as fmus
from tests.waiting import PATIENCE

pytestmark = pytest.mark.one_in(3)

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
SENT = {"pickle": fmus.SEND_PICKLE, "garbage": fmus.SEND_GARBAGE, "length": fmus.SEND_LENGTH}


def hostile(folder):
    """Modules that leave a file behind when they are imported."""
    for name in ("numpy", "fmpy", "json", "pyarrow", "scipy", "sitecustomize", "usercustomize", "ssptool"):
        text = f"import pathlib\npathlib.Path({str(folder / 'imported')!r}).write_text({name!r})\nraise SystemExit(9)\n"
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


STUDY = """
system = "{system}"
settings = {{step_size = 0.01, stop_time = 0.2}}
[factors]
"System2.k2" = {{low = 5.0, high = 15.0, count = 3}}
[results]
peak = 'max("System1.x1")'
"""


def ssptool_in(folder, *arguments):
    command = [Path(sys.executable).with_name("ssptool"), *map(str, arguments)]
    environment = {**os.environ, "PYTHONSTARTUP": str(folder / "numpy.py")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_no_command_imports_modules_beside_the_study_or_in_the_current_folder(tmp_path):
    hostile(tmp_path)
    (tmp_path / "springs.toml").write_text(STUDY.format(system=SYSTEM), encoding="utf-8")
    for command in (("run", SYSTEM, "-o", "a.csv"), ("run", SYSTEM, "-o", "b.csv", "--processes", "each")):
        done = ssptool_in(tmp_path, *command)
        assert done.returncode == 0, done.stderr
    done = ssptool_in(tmp_path, "study", "springs.toml", "--allow-outside", SYSTEM)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "imported").exists()


def report():
    """Entry of an interpreter: what it sees."""
    seen = {
        "path": sys.path,
        "environment": dict(os.environ),
        "flags": [sys.flags.safe_path, sys.flags.ignore_environment],
    }
    os.write(int(sys.argv[1]), json.dumps(seen).encode())


def seen_by_child():
    theirs, ours = os.pipe()
    process = start_interpreter(f"{__name__}:report", (ours,), (ours,))
    os.close(ours)
    with os.fdopen(theirs) as file:
        seen = json.load(file)
    assert process.wait() == 0
    return seen


def test_a_new_interpreter_ignores_the_current_folder_and_python_variables(tmp_path, monkeypatch):
    hostile(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONINSPECT", "1")
    seen = seen_by_child()
    assert seen["flags"] == [True, 1]
    assert "" not in seen["path"] and str(tmp_path) not in seen["path"]
    assert not any(name.startswith("PYTHON") for name in seen["environment"])
    assert not (tmp_path / "imported").exists()


def test_folders_of_the_caller_come_after_installed_packages(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    path = seen_by_child()["path"]
    assert path.index(str(tmp_path)) > max(k for k, entry in enumerate(path) if entry.endswith("site-packages"))


def test_children_see_what_fmus_need_and_no_secret(monkeypatch):
    for name in ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "PYTHONHOME", "LD_PRELOAD"):
        monkeypatch.setenv(name, "secret")
    wanted = {"LC_ALL": "C", "TZ": "UTC", "MLM_LICENSE_FILE": "1@host", "LD_LIBRARY_PATH": "/opt/lib"}
    for name, value in wanted.items():
        monkeypatch.setenv(name, value)
    seen = seen_by_child()["environment"]
    assert wanted.items() <= seen.items() and {"PATH", "HOME"} <= set(seen)
    assert "secret" not in seen.values()
    assert all(reason and patterns for reason, patterns in ENVIRONMENT.items())


def test_the_documentation_lists_these_variables():
    page = (Path(__file__).parents[2] / "docs" / "untrusted_fmus.md").read_text(encoding="utf-8")
    for reason, patterns in ENVIRONMENT.items():
        assert f"| {', '.join(f'`{one}`' for one in patterns)} |" in page, reason


def test_more_variables_are_passed_by_name_also_to_children_of_children(monkeypatch):
    monkeypatch.setenv("VENDOR_HOME", "/opt/vendor")
    with passing(["VENDOR_HOME"]):
        seen = seen_by_child()["environment"]
        assert seen["VENDOR_HOME"] == "/opt/vendor"
    assert "VENDOR_HOME" not in child_environment()
    monkeypatch.setenv("SSPTOOL_ENV", seen["SSPTOOL_ENV"])
    assert child_environment()["VENDOR_HOME"] == "/opt/vendor"
    with pytest.raises(WrongUsage, match="no variable NO_SUCH"), passing(["NO_SUCH"]):
        pass


@pytest.fixture
def sending(tmp_path, monkeypatch):
    """A system whose FMU sends something to all descriptors from 0.5 s on."""
    write_system(
        tmp_path / "s", fmus.build() / "fmi2", {"Good": "Misbehaving", "Bad": "Misbehaving"}, [("Good.y", "Bad.u")]
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path / "s"


@pytest.mark.parametrize("what", SENT)
@pytest.mark.parametrize("fork", [True, False])
def test_what_an_fmu_writes_to_descriptors_is_no_message(sending, what, fork, monkeypatch):
    monkeypatch.setattr(child, "_may_fork", lambda _: fork)
    start = {"Bad.what": float(SENT[what]), "Bad.when": 0.5}
    result = ssptool.simulate(sending, isolated=True, start_values=start, timeout=PATIENCE)
    assert not Path("forged").exists()
    assert not result.ok and result.failure.ending is Ending.EXITED
    assert "does not understand" in result.failure.message
    assert result.last_time < 1.0


@pytest.mark.parametrize("what", SENT)
def test_a_study_with_such_an_fmu_has_failed_runs(sending, what):
    pytest.importorskip("pyarrow")
    study = {
        "system": str(sending),
        "settings": {"step_size": 0.01},
        "start_values": {"Bad.when": 0.5},
        "factors": {"Bad.what": [0.0, float(SENT[what])]},
        "results": {"y": 'final("Bad.y")'},
        "effort": {"retries": 0},
    }
    results = ssptool.study(study, "out", workers=1)
    assert not Path("forged").exists()
    assert (results.status.completed, results.status.failed) == (1, 1)
    messages = [row["message"] for row in results.table().to_pylist() if row["status"] == "failed"]
    assert "does not understand" in messages[0]


@pytest.mark.parametrize("fork", [True, False])
def test_an_fmu_that_closes_the_connection_and_goes_on_is_not_waited_for(sending, fork, monkeypatch):
    monkeypatch.setattr(child, "_may_fork", lambda _: fork)
    monkeypatch.setattr(parent, "END_SECONDS", 0.5)
    start = {"Bad.what": float(fmus.CLOSE_ALL), "Bad.when": 0.5}
    result = ssptool.simulate(sending, isolated=True, start_values=start)
    assert result.failure.ending is Ending.EXITED and "closed the connection" in result.failure.message
    assert 0.4 < result.last_time < 1.0


LOOKING = {"Bad.what": float(fmus.LOOK_AROUND), "Bad.when": 0.5}
"""The FMU aborts at the sight of an open file called "secret"."""


@pytest.fixture
def secret(tmp_path):
    """A file that this process has open, and that others inherit."""
    with (tmp_path / "secret").open("w", encoding="utf-8") as file:
        os.set_inheritable(file.fileno(), True)
        yield file


@pytest.mark.skipif(not AVAILABLE, reason="Linux only")
@pytest.mark.parametrize("fork", [True, False])
@pytest.mark.parametrize(("isolated", "processes"), [(True, None), (True, "each"), (False, "each")])
def test_an_fmu_does_not_see_files_that_the_caller_has_open(sending, secret, fork, isolated, processes, monkeypatch):
    monkeypatch.setattr(child, "_may_fork", lambda _: fork)
    result = ssptool.simulate(sending, isolated=isolated, processes=processes, start_values=LOOKING)
    assert result.ok, result.failure


@pytest.mark.skipif(not AVAILABLE, reason="Linux only")
def test_it_sees_them_in_the_process_of_the_caller(sending, secret):
    """So that the test above cannot pass because it never looks."""
    pid = os.fork()
    if pid == 0:
        try:
            faulthandler.disable()
            ssptool.simulate(sending, isolated=False, start_values=LOOKING)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGABRT


@pytest.mark.skipif(not AVAILABLE, reason="Linux only")
def test_a_fork_keeps_the_descriptors_that_it_needs(tmp_path):
    """The null device is in the place of all others: what is closed later closes nothing else."""
    (theirs, ours), file = os.pipe(), (tmp_path / "open").open("w", encoding="utf-8")
    os.set_inheritable(file.fileno(), True)
    pid = os.fork()
    if pid == 0:
        try:
            close_descriptors([ours])
            file.write("not written by a fork")
            file.close()
            links = [entry.resolve() for entry in Path("/proc/self/fd").iterdir() if int(entry.name) > 2]
            os.write(ours, json.dumps([str(link) for link in links]).encode())
        finally:
            os._exit(0)
    os.close(ours)
    file.close()
    with os.fdopen(theirs) as pipe:
        links = [Path(link).name.partition(":")[0] for link in json.load(pipe)]
    assert os.waitpid(pid, 0)[1] == 0
    assert links.count("pipe") == 1  # and the folder that is listed is no longer there
    assert {link for link in links if not link.isdigit()} == {"null", "pipe"}
    assert (tmp_path / "open").read_text(encoding="utf-8") == ""


# -- the messages themselves

REPORT = InitializationReport((), None, 0.5, ("a note",))
MESSAGES = [
    REPORT,
    Committed(3, child.NewEntries((b"\x00\xff", b""), (1, 2))),
    Execution(REPORT, Failure(Ending.FMI, "m", "a", float("inf"), "A"), Statistics(steps=3)),
]


@pytest.mark.parametrize("message", MESSAGES)
def test_messages_come_back_as_they_were_sent(message):
    assert message_from(encoded([type(message).__name__, message])) == message


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[" * 100_000,
        b'["Execution", []]',
        b'["Committed", ["3", [[], []]]]',
        b'["Committed", [true, [[], []]]]',
        b'["Committed", [3, [["*"], []]]]',
        b'["InitializationReport", [1, null, 0.5, [], []]]',
        b'["InitializationReport", [[], null, "0.5", [], []]]',
        b'["Exception", 3]',
        b'["Unknown", []]',
        pickle.dumps(print),
    ],
)
def test_content_of_another_kind_is_refused(content):
    with pytest.raises(BadMessage):
        message_from(content)


@pytest.mark.parametrize("module, name", [("os", "system"), ("builtins", "eval"), ("ssptool.__main__", "main")])
def test_an_error_of_a_child_is_no_way_to_call_anything(module, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = [[module, name], ["tuple", [["plain", "touch forged"]]], ["dict", []]]
    error = error_from(data)
    assert "touch forged" in str(error) and not Path("forged").exists()


def test_errors_keep_class_arguments_and_facts():
    sent = FmiError("A", "fmi2DoStep", 3, ("first", "second"))
    sent.add_note("a note")
    back = error_from(json.loads(json.dumps(error_data(sent))))
    assert type(back) is FmiError and str(back) == str(sent) and back.args == sent.args
    assert back.function == sent.function and back.__notes__ == ["a note"]
    missing = error_from(error_data(FileNotFoundError(2, "No such file", "x.csv")))
    assert missing.errno == 2 and missing.filename == "x.csv" and str(missing) == "[Errno 2] No such file: 'x.csv'"


def test_lengths_that_cannot_be_are_refused_without_memory_for_them():
    for header in (struct.pack("!i", 0x7FFFFFFF), struct.pack("!iQ", -1, 1 << 62)):
        ours, theirs = Pipe()
        os.write(theirs.fileno(), header)
        with pytest.raises(BadMessage, match="length"):
            received(ours)


def test_the_rest_of_a_message_is_not_waited_for_without_end(monkeypatch):
    monkeypatch.setattr("ssptool.child_processes.REST_SECONDS", 1)
    ours, theirs = Pipe()
    limit_waiting(ours)
    os.write(theirs.fileno(), struct.pack("!i", 100) + b"[")
    with pytest.raises(BadMessage, match="rest"):
        received(ours)


def test_arrays_have_the_numbers_of_their_shape():
    import numpy as np

    kind = np.ndarray
    assert decoded(kind, encoded(np.arange(6.0).reshape(2, 3))).tolist() == [[0, 1, 2], [3, 4, 5]]
    for shape in ([2, 2], [-1, 3], [1 << 62], ["3"]):
        data = json.loads(encoded(np.arange(3.0)))
        with pytest.raises(BadMessage):
            decoded(kind, json.dumps([shape, data[1]]).encode())


def test_an_alias_of_arrays_may_be_a_type_of_its_own():
    """As NDArray is in numpy from 2.5 on, with Python 3.12."""
    import numpy as np
    from typing_extensions import TypeAliasType, TypeVar

    kind = TypeVar("kind", bound=np.generic)
    alias = TypeAliasType("alias", np.ndarray[Any, np.dtype[kind]], type_params=(kind,))
    assert decoded(alias[np.float64], encoded(np.arange(3.0))).tolist() == [0, 1, 2]


@pytest.mark.parametrize("call", [Fork.poll, Fork.wait, Fork.kill])
def test_an_interrupt_between_the_end_of_a_fork_and_its_record(monkeypatch, call):
    """What waits for it later does not fail, and does not wait forever."""
    fork, waitpid = Fork(lambda: os._exit(3)), os.waitpid

    def interrupted(pid, options):
        waitpid(pid, 0)
        monkeypatch.setattr(os, "waitpid", waitpid)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "waitpid", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fork.wait()
    call(fork)
    assert fork.poll() == -signal.SIGKILL
