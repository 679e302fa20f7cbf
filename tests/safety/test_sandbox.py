"""The sandbox of a run: what is closed in it, and the refusal where a system cannot close one."""

import contextlib
import ctypes
import errno
import json
import os
import platform
import resource
import signal
import socket
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest

import ssptool
from ssptool import call_filter, own_root, sandbox
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
from tests.safety.command_line import typed

pytestmark = pytest.mark.one_in(3)

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


REFUSED = {
    "x86_64": {
        "ptrace": (101, 0, 0, 0, 0),
        "keyctl": (250, 0, -3, 1),  # asks for the keys of the session
        "bpf": (321, 0, 0, 0),
        "userfaultfd": (323, 1),
        "mount": (165, b"none", b"/tmp", b"tmpfs", 0, 0),
        "unshare": (272, 0x10000000),
        "process_vm_readv": (310, os.getppid(), 0, 0, 0, 0, 0),
        "clone": (56, 0x10000000 | 17, 0, 0, 0, 0),
        "open_tree": (428, -100, b"/usr", 1),
        "vsock": (41, 40, 1, 0),
        "x32": (0x40000000 | 39,),
    }
}
"""Processor → system calls that succeed outside, or fail for another reason."""


def called(*call):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(*call) < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return 0


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def greeted(address):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(address)
        return "connected"


def allocated(path, size):
    """Whether a file of this size can be made."""
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)
    return size


def raised_limits():
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except ValueError:
        return "EPERM"
    return "raised"


def capabilities():
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1], 16) for line in lines if line.startswith(("CapEff", "CapPrm", "CapInh")))


def locked_in():
    """Entry of an interpreter in a sandbox: what it can do."""
    output, port, outside, version = map(int, sys.argv[1:])
    if version:
        sandbox.landlock_version = lambda: version
    place = Path(os.environ["SSPTOOL_TEST_PLACE"])
    sys.path.insert(0, str(place / "script"))
    close_files([*system_paths(), place / "own.fmu", place / "link.fmu"], [place / "written"], place)
    attempt(lambda: (place / "new").write_text("x"))  # in memory, if this folder is one of temporary files
    seen = {
        "own": attempt(lambda: (place / "own.fmu").read_text()),
        "link": attempt(lambda: (place / "link.fmu").read_text()),
        "written": attempt(lambda: (place / "written").write_text("x")),
        "list": attempt(lambda: names(place)),
        "root": attempt(lambda: names("/")),
        "processes": attempt(lambda: [name for name in names("/proc") if name.isdecimal()]),
        "temporary": attempt(lambda: names("/tmp")),
        "temporary file": attempt(lambda: allocated(Path("/tmp/x"), 1 << 20)),
        "capabilities": capabilities(),
        "variables": sorted({"XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS"} & set(os.environ)),
        "cpu": attempt(lambda: Path("/sys/devices/system/cpu/online").read_text()),
    }
    denied = {
        "secret": attempt(lambda: (place / "secret").read_text()),
        "script": attempt(lambda: (place / "script" / ".env").read_text()),
        "overwrite": attempt(lambda: (place / "own.fmu").write_text("x")),
        "change of the system": attempt(lambda: Path("/usr/new").write_text("x")),
        "link to a secret": attempt(lambda: os.link(place / "own.fmu", "/tmp/own")),
        "passwords": attempt(lambda: Path("/etc/shadow").read_text()),
        "services": attempt(lambda: names("/run/user")),
        "terminals": attempt(lambda: names("/dev/pts")),
        "parent": attempt(lambda: Path(f"/proc/{outside}/environ").read_bytes().decode()),
        "signal": attempt(lambda: os.kill(outside, 0)),
        "tcp": attempt(lambda: connected(socket.SOCK_STREAM, port)),
        "udp": attempt(lambda: connected(socket.SOCK_DGRAM, port)),
        "socket": attempt(lambda: greeted(str(place / "gate"))),
        "abstract socket": attempt(lambda: greeted(f"\0ssptool-{port}")),
        "much": attempt(lambda: allocated(Path("/tmp/y"), 2 << 30)),
        "much of shared memory": attempt(lambda: allocated(Path("/dev/shm/y"), 1 << 30)),
        "limits": attempt(raised_limits),
    }
    calls = {name: attempt(partial(called, *call)) for name, call in REFUSED.get(platform.machine(), {}).items()}
    program = subprocess.run(["/bin/cat", place / "secret"], capture_output=True, text=True, check=False).stdout
    os.write(output, json.dumps({"seen": seen, "denied": denied, "calls": calls, "program": program}).encode())


@closable
@pytest.mark.parametrize("version", [0, 3, 4, 5])
def test_a_process_in_a_sandbox_reaches_nothing_but_its_files(version, tmp_path, monkeypatch):
    """`version`: Landlock of an older kernel, which lets a process signal others and connect to their sockets."""
    monkeypatch.setenv("SSPTOOL_TEST_PLACE", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for name in ("own.fmu", "secret", "written", "elsewhere"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    (tmp_path / "link.fmu").symlink_to("elsewhere")
    (tmp_path / "script").mkdir()
    (tmp_path / "script" / ".env").write_text("secret", encoding="utf-8")
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    theirs, ours = os.pipe()
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as gate,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        gate.bind("gate")
        gate.listen()
        port = server.getsockname()[1]
        abstract.bind(f"\0ssptool-{port}")
        abstract.listen()
        entry = f"{__name__}:locked_in"
        process = start_interpreter(entry, (ours, port, os.getpid(), version), (ours,), guarded=True, offline=True)
        os.close(ours)
        with os.fdopen(theirs) as file:
            found = json.load(file)
        assert process.wait() == 0
    seen, denied = found["seen"], found["denied"]
    assert seen["own"] == "own.fmu" and seen["link"] == "elsewhere" and seen["written"] == 1
    assert set(seen["list"]) - {"new"} == {"own.fmu", "link.fmu", "elsewhere", "written"}
    assert not (tmp_path / "new").exists()
    assert not {"boot", "mnt", "srv", "var"} & set(seen["root"])
    assert seen["processes"] == ["1", "2"] and "x" not in seen["temporary"]
    assert seen["temporary file"] == 1 << 20 and seen["capabilities"] == 0 and not seen["variables"] and seen["cpu"]
    refusals = {"EACCES", "EPERM", "ENOENT", "EROFS", "EXDEV", "ESRCH", "ENETUNREACH", "ECONNREFUSED", "ENOSPC"}
    assert set(denied.values()) <= refusals, denied
    assert set(found["calls"].values()) <= {"EPERM"}, found["calls"]
    assert found["program"] == ""


@closable
def test_an_ordinary_user_has_a_sandbox_as_well():
    if os.getuid():
        pytest.skip("this user is one")
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # its files in /proc are its own again
            sandbox.missing_layers.cache_clear()
            os._exit(len(sandbox.missing()))
        finally:
            os._exit(99)
    assert os.waitpid(pid, 0)[1] == 0


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
prepared.PREPARED[0].connection.send_bytes(b"")
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
    gate = socket.socket(socket.AF_UNIX)
    gate.bind("gate")
    gate.listen()
    start = {"Bad.what": float(fmus.REACH_OUT), "Bad.when": 0.5}
    options = {"start_values": start, "processes": processes}
    inside = ssptool.simulate("s", sandbox=True, output="a.csv", fmu_log="log.csv", **options)
    assert inside.ok and not Path("reached").exists() and Path("log.csv").exists()
    outside = ssptool.simulate("s", isolated=True, **options)
    assert outside.failure.ending is Ending.CRASHED and Path("reached").exists()
    gate.close()


@closable
def test_a_run_in_a_sandbox_has_the_same_results(tmp_path):
    inside = ssptool.simulate(SYSTEM, stop_time=0.5, sandbox=True)
    outside = ssptool.simulate(SYSTEM, stop_time=0.5)
    assert (inside.trace.cells == outside.trace.cells).all()


def test_where_there_is_no_sandbox_a_run_is_refused_by_name(monkeypatch):
    for reason, name in ((0, "no Landlock"), (2, "no Landlock")):
        sandbox.missing_layers.cache_clear()
        monkeypatch.setattr(sandbox, "landlock_version", lambda reason=reason: reason)
        with pytest.raises(NoSandbox, match=f"--sandbox is not available here: .*{name}"):
            ssptool.simulate(SYSTEM, sandbox=True)
    sandbox.missing_layers.cache_clear()


def test_where_the_network_stays_open_a_run_is_refused(monkeypatch):
    def refused(apart):
        raise OSError(errno.EPERM, "unshare")

    sandbox.missing_layers.cache_clear()
    monkeypatch.setattr(sandbox, "landlock_version", lambda: 4)
    monkeypatch.setattr(sandbox, "leave_network", refused)
    with pytest.raises(NoSandbox, match=r"the system refuses unshare; .*namespaces"):
        ssptool.simulate(SYSTEM, sandbox=True)
    sandbox.missing_layers.cache_clear()


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


def verdict(machine, convention, number, *arguments):
    """What the filter of a processor returns for a system call; the processor of a BPF program in a few lines."""
    data, at, value = {4: convention, 0: number, 16: 0, 24: 0} | dict(zip((16, 24), arguments, strict=False)), 0, 0
    program = call_filter.program(machine)
    while True:
        code, yes, no, operand = program[at]
        if code == 0x06:
            return operand
        if code == 0x20:
            value = data[operand]
        else:
            holds = {0x15: value == operand, 0x25: value > operand, 0x45: bool(value & operand)}[code]
            at += yes if holds else no
        at += 1


ALLOWS, REFUSES, UNKNOWN = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS


@pytest.mark.parametrize("machine", call_filter.CONVENTIONS)
def test_the_filter_of_each_processor_refuses_what_it_lists_and_nothing_else(machine):
    for one in call_filter.CONVENTIONS[machine]:
        asked = partial(verdict, machine, one.code)
        assert {asked(one.ioctl, 0, request) for request in (0x5412, 0x541C)} == {REFUSES}
        assert {asked(one.ioctl, 0, request) for request in (0x5401, 0x5413, 0)} == {ALLOWS}
        assert {asked(one.socket, family) for family in (1, 2, 10, 16)} == {ALLOWS}
        assert {asked(one.socket, family) for family in (0, 3, 17, 38, 40, 44)} == {REFUSES}
        # pthread_create and fork; then a user namespace, and one of mounts
        assert asked(one.clone, 0x3D0F00) == asked(one.clone, 0x1200011) == ALLOWS
        assert asked(one.clone, 0x10000011) == asked(one.clone, 0x20011) == REFUSES
        assert asked(435) == UNKNOWN
        assert {asked(number) for number in one.refused} == {REFUSES}
        listed = {*one.refused, one.ioctl, one.socket, one.clone, 435}
        others = {number + step for number in listed for step in (-1, 1)} - listed
        assert {asked(number) for number in others} == {ALLOWS}
    assert verdict("x86_64", 0xC000003E, 0x40000000 | 39) == REFUSES  # x32
    assert verdict(machine, 0x1234, 16, 0, 0x5412) == ALLOWS


@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
def test_on_a_processor_without_a_filter_a_run_is_refused(monkeypatch):
    class Other:
        machine = "riscv64"

    sandbox.missing_layers.cache_clear()
    monkeypatch.setattr(sandbox, "landlock_version", lambda: 4)
    monkeypatch.setattr(sandbox.os, "uname", lambda: Other)
    with pytest.raises(NoSandbox, match=r"filtered on x86_64 and aarch64 only, and this is riscv64"):
        ssptool.simulate(SYSTEM, sandbox=True)
    sandbox.missing_layers.cache_clear()


@pytest.fixture
def without(monkeypatch):
    """Let the system lack layers of the sandbox."""
    return lambda *layers: monkeypatch.setattr(
        sandbox, "missing_layers", lambda: dict.fromkeys(layers, "it is not here")
    )


@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
@pytest.mark.parametrize(
    ("layers", "still"),
    [
        ((), set()),
        ((sandbox.LANDLOCK,), set()),
        ((sandbox.FILTER,), {"kernel"}),
        ((sandbox.NAMESPACES,), {"network", "processes", "devices"}),
        ((sandbox.NAMESPACES, sandbox.LANDLOCK), {"network", "processes", "devices", "reading", "writing"}),
    ],
    ids=["complete", "no Landlock", "no filter", "no namespaces", "filter only"],
)
def test_a_sandbox_as_good_as_possible_says_what_stays_open(without, tmp_path, monkeypatch, layers, still):
    without(*layers)
    monkeypatch.chdir(tmp_path)
    found = sandbox.closed(sandbox.gaps("best"))
    assert {subject for subject, what in found.items() if what == sandbox.OPEN} == still
    told = sandbox.gaps_told("best")
    assert bool(told) == bool(layers)
    assert all(layer in told for layer in layers)
    assert all(subject in told for subject in still)
    assert ssptool.simulate(SYSTEM, stop_time=0.05, sandbox="best").ok
    if layers:
        with pytest.raises(NoSandbox, match="it is not here"):
            ssptool.simulate(SYSTEM, stop_time=0.05, sandbox=True)


@closable
@pytest.mark.parametrize("layer", [sandbox.NAMESPACES, sandbox.LANDLOCK])
def test_either_namespaces_or_landlock_alone_keep_files(without, tmp_path, monkeypatch, layer):
    without(layer)
    components = {"Good": "Misbehaving", "Bad": "Misbehaving"}
    write_system(tmp_path / "s", fmus.build() / "fmi2", components, [("Good.y", "Bad.u")])
    monkeypatch.chdir(tmp_path)
    Path("secret").write_text("secret", encoding="utf-8")
    start = {"Bad.what": float(fmus.REACH_OUT), "Bad.when": 0.5}
    assert ssptool.simulate("s", sandbox="best", output="a.csv", start_values=start).ok
    assert not Path("reached").exists()


FEW = 400
"""Processes in the sandbox of a test; the kernel takes no limit below 301."""


def multiplied():
    """Entry of an interpreter in a sandbox: the number of processes that it can start."""
    sandbox.MOST_PROCESSES = own_root.MOST_PROCESSES = FEW
    close_files(system_paths(), [])
    children = []
    with contextlib.suppress(BlockingIOError):
        while len(children) < 2 * FEW:
            if (child := os.fork()) == 0:
                signal.pause()
            children.append(child)
    os.write(int(sys.argv[1]), str(len(children)).encode())


@closable
def test_the_number_of_processes_is_limited_and_all_end_with_the_sandbox():
    if os.getuid() == 0 and tuple(map(int, platform.release().split(".")[:2])) < (6, 14):
        pytest.skip("this kernel limits no processes of root")
    theirs, ours = os.pipe()
    process = start_interpreter(f"{__name__}:multiplied", (ours,), (ours,), guarded=True, offline=True)
    os.close(ours)
    with os.fdopen(theirs) as file:  # its end: none of the children, which have it open, is left
        assert FEW / 2 < int(file.read()) < FEW
    assert process.wait() == 0


def locked_in_by_landlock():
    """Entry of an interpreter in a sandbox without namespaces: what it and a program of its own can do."""
    output, place = int(sys.argv[1]), Path(os.environ["SSPTOOL_TEST_PLACE"])
    sandbox.HIDDEN = (place / "usr" / "local" / "etc",)
    tempfile.tempdir = str(place / "scratch")
    close_files([*system_paths(), place / "usr"], [place / "scratch"], without=(sandbox.NAMESPACES,))
    program = "grep CapEff /proc/self/status; echo x > $TMPDIR/x; echo $HOME"
    seen = {
        "hidden": attempt(lambda: (place / "usr" / "local" / "etc" / "npmrc").read_text()),
        "beside": attempt(lambda: (place / "usr" / "local" / "lib").read_text()),
        "above": attempt(lambda: (place / "usr" / "bin").read_text()),
        "rights": called(125, (ctypes.c_uint32 * 2)(0x20080522, 0), held := (ctypes.c_uint32 * 6)()) or [*held],
        "program": subprocess.run(["/bin/sh", "-c", program], capture_output=True, text=True, check=False).stdout,
    }
    os.write(output, json.dumps(seen).encode())


@closable
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of the system call")
def test_without_namespaces_hidden_folders_and_rights_of_root_are_closed_too(tmp_path, monkeypatch):
    monkeypatch.setenv("SSPTOOL_TEST_PLACE", str(tmp_path))
    (tmp_path / "usr" / "local" / "etc").mkdir(parents=True)
    (tmp_path / "scratch").mkdir()
    for name in ("local/etc/npmrc", "local/lib", "bin"):
        (tmp_path / "usr" / name).write_text("text", encoding="utf-8")
    theirs, ours = os.pipe()
    process = start_interpreter(f"{__name__}:locked_in_by_landlock", (ours,), (ours,), guarded=True)
    os.close(ours)
    with os.fdopen(theirs) as file:
        seen = json.load(file)
    assert process.wait() == 0
    assert (seen["hidden"], seen["beside"], seen["above"]) == ("EACCES", "text", "text")
    assert not any(seen["rights"])
    assert (tmp_path / "scratch" / "x").exists() and str(tmp_path / "scratch") in seen["program"]


@closable
@pytest.mark.parametrize("layer", [sandbox.NAMESPACES, sandbox.LANDLOCK])
def test_studies_have_a_sandbox_as_good_as_possible(without, tmp_path, monkeypatch, layer):
    pytest.importorskip("pyarrow")
    without(layer)
    monkeypatch.chdir(tmp_path)
    results = ssptool.sweep(SYSTEM, {"System2.k2": [5, 10]}, stop_time=0.05, sandbox="best", workers=1)
    assert results.status.completed == 2
    with pytest.raises(NoSandbox):
        ssptool.sweep(SYSTEM, {"System2.k2": [5]}, stop_time=0.05, sandbox=True, workers=1)


@pytest.mark.parametrize(("text", "refused"), [("true", True), ('"best"', False), ("false", False)])
def test_a_settings_file_makes_the_sandbox_the_default(without, tmp_path, monkeypatch, text, refused):
    without(sandbox.LANDLOCK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SSPTOOL_SANDBOX", raising=False)
    Path("ssptool.toml").write_text(f"sandbox = {text}\n", encoding="utf-8")

    def ends(**more):
        try:
            return ssptool.simulate(SYSTEM, stop_time=0.05, **more).ok
        except NoSandbox:
            return "refused"

    assert ends() == ("refused" if refused else True)
    assert ends(sandbox=False) is True
    assert ends(settings_file=False) is True
    assert ends(sandbox=True) == "refused"
    monkeypatch.setenv("SSPTOOL_SANDBOX", "0")
    assert ends() is True
    for said, expected in (("--sandbox", "refused"), ("--sandbox=best", True), ("--no-sandbox", True)):
        done = typed("run", SYSTEM, "--stop-time", "0.05", said, "-o", "r.csv")
        assert (done.code == 0) == (expected is True), done
        assert ("note: the sandbox is not complete" in done.err) == (said == "--sandbox=best"), done


@pytest.mark.parametrize("text", ["1", '"on"', '["best"]'])
def test_the_setting_is_true_false_or_best(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    Path("ssptool.toml").write_text(f"sandbox = {text}\n", encoding="utf-8")
    with pytest.raises(ssptool.exceptions.InvalidSettings, match="true, false or 'best'"):
        ssptool.validate(SYSTEM)
    with pytest.raises(ssptool.exceptions.WrongArgument, match="True, False or 'best'"):
        ssptool.simulate(SYSTEM, settings_file=False, sandbox="on")
