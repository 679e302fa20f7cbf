"""Named pipes, sockets and devices where a file is expected: refused by name at once, and nothing waits for them."""

import os
import shutil
import signal
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import ssptool
from ssptool.documents import foreign_files
from ssptool.documents.foreign_files import SpecialFile, open_bytes, open_text, read_bytes
from tests.safety.command_line import typed

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
FOREVER_SECONDS = 120


@pytest.fixture(autouse=True)
def an_end():
    """Ends a test that waits for a pipe to which nobody writes."""

    def give_up(*_):
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(FOREVER_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def bound_socket(path: Path) -> Path:
    here = Path.cwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)
    return path


def device(path: Path) -> Path:
    path.symlink_to("/dev/zero")
    return path


MAKERS = (pipe, bound_socket, device)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("read", [open_bytes, open_text, read_bytes])
def test_nothing_but_files_is_opened(tmp_path, make, read):
    with pytest.raises(SpecialFile, match="not a file"):
        read(make(tmp_path / "special"))


def test_a_file_that_becomes_a_pipe_after_it_was_checked_is_refused_without_waiting(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"")

    def checked(_):
        path.unlink()
        os.mkfifo(path)

    monkeypatch.setattr(foreign_files, "require_file", checked)
    with pytest.raises(SpecialFile, match="named pipe"):
        open_bytes(path)


SYSTEMS = ("x.ssp", "x.ssd", "x.fmu", "OspSystemStructure.xml", "x")


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", SYSTEMS)
def test_as_a_system(tmp_path, make, name):
    path = make(tmp_path / name)
    for use in (ssptool.validate, ssptool.info, ssptool.plan, ssptool.graph, ssptool.draw, ssptool.simulate):
        with pytest.raises(SpecialFile, match="not a file"):
            use(path)
    with pytest.raises(SpecialFile, match="not a file"), ssptool.edit(path):
        pass
    with pytest.raises(SpecialFile, match="not a file"):
        ssptool.diff(SYSTEM, path)
    words = ["validate", "info", "plan", "graph", "draw", "run", "upgrade"]
    for done in [typed(word, path) for word in words]:
        assert done.code == 2
        assert "not a file" in done.err


Command = Callable[[Path], list[object]]
COMMANDS: dict[str, Command] = {
    "inputs.csv": lambda path: ["run", SYSTEM, "--stop-time", "0.1", "--inputs", path, "-o", path.with_name("r.csv")],
    "scenario.yaml": lambda path: [
        "run",
        SYSTEM,
        "--stop-time",
        "0.1",
        "--scenario",
        path,
        "-o",
        path.with_name("r.csv"),
    ],
    "set.ssv": lambda path: ["run", SYSTEM, "--parameters", path, "-o", path.with_name("r.csv")],
    "one.ssv": lambda path: ["validate", path],
    "one.ssm": lambda path: ["validate", path],
    "one.ssb": lambda path: ["upgrade", path],
    "bound.ssv": lambda path: ["bind", SYSTEM, path],
    "added.fmu": lambda path: ["add", SYSTEM, path],
    "new.fmu": lambda path: ["new", path.with_name("x.ssp"), path],
    "study.toml": lambda path: ["study", path],
    "settings.toml": lambda path: ["validate", SYSTEM, "--settings", path],
    "result.csv": lambda path: ["plot", path],
    "result.mat": lambda path: ["plot", path],
    "result.parquet": lambda path: ["plot", path],
    "result.h5": lambda path: ["plot", path],
    "result.mf4": lambda path: ["plot", path],
    "again.csv": lambda path: ["reproduce", path],
    "compared.csv": lambda path: ["compare", path, path],
}


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", COMMANDS)
def test_as_a_file_that_a_command_reads(tmp_path, make, name):
    done = typed(*COMMANDS[name](make(tmp_path / name)))
    assert done.code == 2
    assert "not a file" in done.err
    assert not (tmp_path / "r.csv").exists()


def test_as_a_file_that_a_function_reads(tmp_path):
    for name, argument in (("i.csv", "inputs"), ("s.yaml", "scenario"), ("p.ssv", "parameters")):
        with pytest.raises(SpecialFile, match="named pipe"):
            ssptool.simulate(SYSTEM, stop_time=0.1, **{argument: pipe(tmp_path / name)})
    for name in ("r.csv", "r.mat", "r.parquet", "r.h5", "r.mf4"):
        with pytest.raises(SpecialFile, match="named pipe"):
            ssptool.read_trace(pipe(tmp_path / name))
    with pytest.raises(SpecialFile, match="named pipe"):
        ssptool.study(pipe(tmp_path / "s.toml"), tmp_path / "s.study")


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", ["SystemStructure.ssd", "resources/dual_mass_oscillator.ssv", "resources/System1.fmu"])
def test_inside_a_folder(tmp_path, make, name):
    folder = shutil.copytree(SYSTEM, tmp_path / "system")
    (folder / name).unlink()
    make(folder / name)
    assert any("not a file" in one.message for one in ssptool.validate(folder).errors)
    done = typed("validate", folder)
    assert done.code == 1
    assert "not a file" in done.out
    for word in ("plan", "run"):
        assert typed(word, folder).code == 1
    assert typed("pack", folder, tmp_path / "packed.ssp").code == 1
    assert not (tmp_path / "packed.ssp").exists()


def test_manifests_and_settings_that_nobody_named_are_passed_over(tmp_path):
    folder = shutil.copytree(SYSTEM, tmp_path / "system")
    pipe(tmp_path / "ssptool.toml")
    pipe(tmp_path / "pyproject.toml")
    (tmp_path / "r.csv").write_text("time,y\n0,1\n1,2\n")
    pipe(tmp_path / "r.csv.json")
    assert not ssptool.validate(folder).errors
    assert [column.signal for column in ssptool.read_trace(tmp_path / "r.csv").columns] == ["y"]


def test_opening_a_file_does_not_change_how_it_is_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb")
    assert read_bytes(path) == b"\xef\xbb\xbfa\r\nb"
    with open_text(path, newline="") as file:
        assert file.read() == "a\r\nb"
    with open_bytes(path) as file:
        assert stat.S_ISREG(os.fstat(file.fileno()).st_mode)


def test_around_a_system(tmp_path, monkeypatch):
    folder = shutil.copytree(SYSTEM, tmp_path / "plant")
    monkeypatch.chdir(tmp_path)
    pipe(tmp_path / "values.ssv")
    structure = folder / "SystemStructure.ssd"
    text = structure.read_text(encoding="utf-8")
    structure.write_text(text.replace("resources/dual_mass_oscillator.ssv", "../values.ssv"), encoding="utf-8")
    for command in ("validate", "plan", "info"):
        done = typed(command, folder)
        assert "Traceback" not in done.err
    assert typed("validate", folder).code == 1
