"""The sandbox of a run: what is closed in it, and the refusal where a system cannot close one."""

import ctypes
import errno
import json
import os
import platform
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import ssptool
from ssptool import sandbox
from ssptool.child_processes import start_interpreter
from ssptool.engine.failure import Ending
from ssptool.sandbox import (
    DEVICES,
    READ,
    READ_FILE,
    READ_FOLDER,
    TRUNCATE,
    WRITE_FILE,
    NoSandbox,
    close_files,
    rights,
    rules,
    system_paths,
)
from tests.engine.systems import write_system
from tests.fmus import build as fmus

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
closable = pytest.mark.skipif(bool(sandbox.missing()), reason=f"no sandbox here: {sandbox.missing()}")


def attempt(action):
    """The name of the error, or what came out."""
    try:
        return action()
    except OSError as error:
        return errno.errorcode[error.errno]


def connected(kind, port):
    with socket.socket(socket.AF_INET, kind) as one:
        one.connect(("127.0.0.1", port))
        one.send(b"x")
        return "sent"


def listening():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return "bound"


REFUSED = {
    "x86_64": {
        "ptrace": (101, 0, 0, 0, 0),
        "keyctl": (250, 0, -3, 1),  # asks for the keys of the session
        "bpf": (321, 0, 0, 0),
        "userfaultfd": (323, 1),
        "mount": (165, b"none", b"/tmp", b"tmpfs", 0, 0),
        "unshare": (272, 0x10000000),
        "process_vm_readv": (310, os.getppid(), 0, 0, 0, 0, 0),
    }
}
"""Processor → system calls that succeed outside, or fail for another reason."""


def called(*call):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(*call) < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return 0


def locked_in():
    """Entry of an interpreter in a sandbox: what it can do."""
    output, port = map(int, sys.argv[1:])
    place = Path(os.environ["SSPTOOL_TEST_PLACE"])
    close_files([*system_paths(), place / "own.fmu"], [place / "scratch"])
    seen = {
        "own": attempt(lambda: (place / "own.fmu").read_text()),
        "secret": attempt(lambda: (place / "secret").read_text()),
        "list": attempt(lambda: [path.name for path in place.iterdir()]),
        "write": attempt(lambda: (place / "new").write_text("x")),
        "overwrite": attempt(lambda: (place / "own.fmu").write_text("x")),
        "scratch": attempt(lambda: (place / "scratch" / "new").write_text("x")),
        "parent": attempt(lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes().decode()),
        "tcp": attempt(lambda: connected(socket.SOCK_STREAM, port)),
        "udp": attempt(lambda: connected(socket.SOCK_DGRAM, port)),
        "bind": attempt(listening),
        **{name: attempt(partial(called, *call)) for name, call in REFUSED.get(platform.machine(), {}).items()},
        "program": subprocess.run(["/bin/cat", place / "secret"], capture_output=True, text=True, check=False).stdout,
    }
    os.write(output, json.dumps(seen).encode())


@closable
def test_a_process_in_a_sandbox_reaches_nothing_but_its_files(tmp_path, monkeypatch):
    monkeypatch.setenv("SSPTOOL_TEST_PLACE", str(tmp_path))
    for name in ("own.fmu", "secret"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    (tmp_path / "scratch").mkdir()
    theirs, ours = os.pipe()
    with socket.create_server(("127.0.0.1", 0)) as server:
        process = start_interpreter(f"{__name__}:locked_in", (ours, server.getsockname()[1]), (ours,), offline=True)
        os.close(ours)
        with os.fdopen(theirs) as file:
            seen = json.load(file)
        assert process.wait() == 0
    assert seen["own"] == "own.fmu" and seen["scratch"] == 1
    assert {seen[name] for name in REFUSED.get(platform.machine(), {})} <= {"EPERM"}, seen
    denied = {seen[name] for name in ("secret", "list", "write", "overwrite", "parent", "tcp", "udp", "bind")}
    assert denied <= {"EACCES", "EPERM", "ENETUNREACH"}, seen
    assert seen["program"] == ""


REMEMBERING = """
import os, re, sys
from pathlib import Path
from ssptool.engine.isolation.clean_start import leave_environment, prepare_children
from ssptool.engine.isolation import prepared

def remembers():
    first, rest = b"not-for-", b"fmus"  # together they are nowhere but in the environment
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in Path("/proc/self/maps").read_text().splitlines():
            begin, end = (int(number, 16) for number in line.split()[0].split("-"))
            try:
                memory.seek(begin)
                content = memory.read(end - begin)
            except (OSError, OverflowError, ValueError):  # nobody can read it
                continue
            if any(content[one.end():one.end() + len(rest)] == rest for one in re.finditer(first, content)):
                return "known"
    return "unknown"

prepared._work_when_asked = lambda connection, _: connection.send_bytes(remembers().encode())
leave_environment()
prepare_children()
print(prepared.PREPARED[0].connection.recv_bytes().decode(), remembers(), os.environ["TEST_PASSWORD"], *sys.argv[1:])
"""


@closable
def test_children_that_wait_for_a_sandbox_know_nothing_of_the_environment():
    command = [sys.executable, "-c", REMEMBERING, "ö", "--option"]
    environment = {**os.environ, "TEST_PASSWORD": "not-for-fmus"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["unknown", "known", "not-for-fmus", "ö", "--option"], done.stderr


@closable
@pytest.mark.parametrize("more", [(), ("--processes", "each"), ("--env", "HOME"), ("--accuracy", "1e-5")])
def test_the_command_has_the_same_results_in_a_sandbox(tmp_path, more):
    tables = []
    for options in ((), ("--sandbox",)):
        output = tmp_path / f"{len(tables)}.csv"
        command = [Path(sys.executable).with_name("ssptool"), "run", SYSTEM, "--stop-time", "0.1", *more, *options]
        done = subprocess.run([*command, "-o", output], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        tables.append(output.read_text(encoding="utf-8"))
    assert tables[0] == tables[1]


@closable
@pytest.mark.parametrize("processes", [None, "each"])
def test_an_fmu_in_a_sandbox_cannot_reach_files_beside_it(tmp_path, monkeypatch, processes):
    components = {"Good": "Misbehaving", "Bad": "Misbehaving"}
    write_system(tmp_path / "s", fmus.build() / "fmi2", components, [("Good.y", "Bad.u")])
    monkeypatch.chdir(tmp_path)
    Path("secret").write_text("secret", encoding="utf-8")
    start = {"Bad.what": float(fmus.REACH_OUT), "Bad.when": 0.5}
    options = {"start_values": start, "processes": processes}
    inside = ssptool.simulate("s", sandbox=True, output="a.csv", fmu_log="log.csv", **options)
    assert inside.ok and not Path("reached").exists() and Path("log.csv").exists()
    outside = ssptool.simulate("s", isolated=True, **options)
    assert outside.failure.ending is Ending.CRASHED and Path("reached").exists()


@closable
def test_a_run_in_a_sandbox_has_the_same_results(tmp_path):
    inside = ssptool.simulate(SYSTEM, stop_time=0.5, sandbox=True)
    outside = ssptool.simulate(SYSTEM, stop_time=0.5)
    assert (inside.trace.cells == outside.trace.cells).all()


def test_where_there_is_no_sandbox_a_run_is_refused_by_name(monkeypatch):
    for reason, name in ((0, "no Landlock"), (2, "no Landlock")):
        sandbox.missing.cache_clear()
        monkeypatch.setattr(sandbox, "landlock_version", lambda reason=reason: reason)
        with pytest.raises(NoSandbox, match=f"--sandbox is not available here: .*{name}"):
            ssptool.simulate(SYSTEM, sandbox=True)
    sandbox.missing.cache_clear()


def test_where_the_network_stays_open_a_run_is_refused(monkeypatch):
    def refused():
        raise OSError(errno.EPERM, "unshare")

    sandbox.missing.cache_clear()
    monkeypatch.setattr(sandbox, "landlock_version", lambda: 4)
    monkeypatch.setattr(sandbox, "leave_network", refused)
    with pytest.raises(NoSandbox, match="network stays open"):
        ssptool.simulate(SYSTEM, sandbox=True)
    sandbox.missing.cache_clear()


def test_a_sandbox_needs_a_process_of_its_own():
    with pytest.raises(ssptool.exceptions.ContradictingSettings, match="sandbox"):
        ssptool.simulate(SYSTEM, sandbox=True, isolated=False)


def test_rules_give_files_no_rights_of_folders_and_no_right_that_the_kernel_does_not_know(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    for version, count in ((1, 13), (2, 14), (3, 15), (4, 15), (5, 16), (7, 16)):
        assert rights(version) == (1 << count) - 1
    found = rules([tmp_path / "folder", tmp_path / "none"], [tmp_path / "file", tmp_path], 7)
    assert found[tmp_path / "folder"] == READ
    assert (
        found[tmp_path / "file"] & (READ_FILE | WRITE_FILE | TRUNCATE | READ_FOLDER)
        == READ_FILE | WRITE_FILE | TRUNCATE
    )
    assert found[tmp_path] == rights(7) & ~DEVICES and tmp_path / "none" not in found
    assert not rules([], [tmp_path], 1)[tmp_path] & TRUNCATE


def verdict(machine, convention, number, request):
    """What the filter of a processor returns for a system call; the processor of a BPF program in a few lines."""
    data, at, value = {4: convention, 0: number, 24: request}, 0, 0
    program = sandbox._filter(machine)
    while True:
        code, yes, no, operand = program[at]
        if code == 0x06:
            return operand
        if code == 0x20:
            value = data[operand]
        else:
            at += yes if value == operand else no
        at += 1


@pytest.mark.parametrize("machine", sandbox._CALLS)
def test_the_filter_of_each_processor_refuses_what_it_lists_and_nothing_else(machine):
    refuses, allows = 0x00050000 | errno.EPERM, 0x7FFF0000
    conventions = sandbox._CALLS[machine]
    for convention, ioctl, refused in conventions:
        for request in (0x5412, 0x541C):
            assert verdict(machine, convention, ioctl, request) == refuses
        for request in (0x5401, 0x5413, 0):
            assert verdict(machine, convention, ioctl, request) == allows
        listed = {*refused, ioctl} | {one for other in conventions if other[0] == convention for one in other.refused}
        assert {verdict(machine, convention, number, 0) for number in refused} == {refuses}
        others = {number + step for number in listed for step in (-1, 1)} - listed
        assert {verdict(machine, convention, number, 0) for number in others} == {allows}
    assert verdict(machine, 0x1234, conventions[0].ioctl, 0x5412) == allows


@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
def test_on_a_processor_without_a_filter_a_run_is_refused(monkeypatch):
    class Other:
        machine = "riscv64"

    sandbox.missing.cache_clear()
    monkeypatch.setattr(sandbox, "landlock_version", lambda: 4)
    monkeypatch.setattr(sandbox.os, "uname", lambda: Other)
    with pytest.raises(NoSandbox, match=r"filtered on x86_64 and aarch64 only, and this is riscv64"):
        ssptool.simulate(SYSTEM, sandbox=True)
    sandbox.missing.cache_clear()
