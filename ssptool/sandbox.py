"""Sandbox of a process with FMUs: a box in which there is no network, no other process and no file of the user.

Linux closes it, in three layers, of which none needs rights of an administrator: namespaces (`unshare`) with a network
without any device, processes and files of its own (`own_root`); Landlock rules for files; and a filter of system calls
(`call_filter`). What is closed stays so for the process and all that it starts.
"""

import ctypes
import errno
import json
import os
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from ssptool.call_filter import PROCESSORS, refuse_calls
from ssptool.errors import WrongUsage
from ssptool.guard import stand_guard
from ssptool.option_words import BEST, Boxing
from ssptool.own_root import DEVICE_FILES, HIDDEN, MOST_PROCESSES, SIZES, TEMPORARY, enter_own_root

if sys.platform != "win32":
    import resource

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""System calls of Landlock, which have the same numbers on all processors."""

_VERSION_FLAG, _PATH_BENEATH = 1, 1
_NEW_USER, _NEW_NETWORK, _NEW_IPC, _NEW_PROCESSES = 0x10000000, 0x40000000, 0x08000000, 0x20000000
_NEW_NAMES, _NEW_GROUPS = 0x04000000, 0x02000000
_CAPABILITIES = 0x20080522
_NO_NEW_RIGHTS = 38

EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, DEVICES = 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_FOLDER
FILE_ONLY = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICES
"""Rights that a rule on a file may give; all others are those of a folder."""

_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""Version of Landlock → number of its rights to files. Later versions have no more."""

SYSTEM = (
    *("/usr", "/lib", "/lib64", "/lib32", "/bin", "/sbin", "/opt", "/nix/store", "/run/current-system"),
    "/sys/devices/system",
)
"""Folders of the system that FMUs, their libraries and the interpreter read."""

SETTINGS = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "timezone", "locale.alias"),
    *("passwd", "group", "nsswitch.conf", "hosts", "host.conf", "services", "protocols", "os-release"),
    *("fonts", "ssl/certs", "ssl/openssl.cnf", "OpenCL", "vulkan", "glvnd", "gcrypt", "crypto-policies"),
)
"""Files and folders of `/etc` that programs read: nothing in them is secret."""

MOST_FILE_BYTES = 4 << 30
"""Largest size of a file that is written from a sandbox, such as a log of the run [byte]."""

_INSTALLED = ("site-packages", "dist-packages")
"""Names of folders of packages."""


CLOSED = {
    "network": "none, not even the loopback interface; no sockets of other programs",
    "reading": "their own files, the operating system without secrets, and Python; no home, no folder of a script",
    "writing": f"{TEMPORARY} in memory, of {SIZES[TEMPORARY] >> 20} MiB at most, and logs of the run, of "
    f"{MOST_FILE_BYTES >> 30} GiB at most",
    "processes": f"they see and signal no others, are {MOST_PROCESSES} at most, and end with the run",
    "devices": "no terminals; null, zero, full, random and urandom only",
    "kernel": "no tracing, mounts, namespaces, keys of the session, programs for the kernel, or rights of root",
}
"""Subject → how much of it is open to FMUs in a complete sandbox."""

_WRITING_ON_DISK = f"a temporary folder and logs of the run, files of {MOST_FILE_BYTES >> 30} GiB at most"


class NoSandbox(WrongUsage):
    """The system cannot close a sandbox."""

    def __init__(self, reason: str) -> None:
        partly = ", ".join(name for name, what in closed(missing_layers()).items() if what != OPEN)
        best = f"--sandbox={BEST} closes {partly}; otherwise " if partly else ""
        super().__init__(f"--sandbox is not available here: {reason}; {best}run in a container, or without --sandbox")
        self.reason = reason


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scope", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def landlock_version() -> int:
    """Version of Landlock in the kernel; 0: it has no Landlock, or it is switched off."""
    if sys.platform != "linux":
        return 0
    version: int = ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)
    return max(0, version)


def rights(version: int) -> int:
    """All rights to files that a version of Landlock knows."""
    return (1 << max((count for least, count in _RIGHTS.items() if least <= version), default=0)) - 1


NAMESPACES, LANDLOCK, FILTER = "namespaces", "Landlock", "filter of system calls"
"""Layers of a sandbox."""

_OPEN = {
    NAMESPACES: ("network", "processes", "devices"),
    FILTER: ("kernel",),
}
"""Missing layer → subjects of `CLOSED` that it leaves open."""


@cache
def missing_layers() -> Mapping[str, str]:
    """Layer that this system has not → the reason. Processes are started to try them out."""
    if sys.platform != "linux":
        return dict.fromkeys((NAMESPACES, LANDLOCK, FILTER), f"it needs Linux, and this is {sys.platform}")
    found = {}
    if landlock_version() < 3:
        found[LANDLOCK] = "the kernel has no Landlock of version 3 (Linux 6.2), or it is switched off"
    if os.uname().machine not in PROCESSORS or ctypes.sizeof(ctypes.c_void_p) != 8:
        here = os.uname().machine
        found[FILTER] = f"system calls are filtered on {' and '.join(PROCESSORS)} only, and this is {here}"
    trials = {NAMESPACES: _try_namespaces, LANDLOCK: _restrict_files, FILTER: refuse_calls}
    if not found and not _refusal(lambda: [trial() for trial in trials.values()]):  # one process tells
        return found
    for layer, closing in trials.items():
        if layer not in found and (problem := _refusal(closing)):
            found[layer] = f"the system refuses {problem}{_why_refused() if layer == NAMESPACES else ''}"
    return found


def missing() -> str:
    """Reason why there is no complete sandbox; empty if there is one."""
    return next(iter(missing_layers().values()), "")


def gaps(asked: Boxing) -> Mapping[str, str]:
    """Layers that a sandbox goes without, with the reasons; none unless it is only as good as possible."""
    return missing_layers() if asked == BEST else {}


OPEN = "open"


def closes_files(without: Collection[str]) -> bool:
    """True if a sandbox that lacks these layers keeps FMUs from files."""
    return not {NAMESPACES, LANDLOCK} <= set(without)


def closed(without: Collection[str]) -> dict[str, str]:
    """Subject → how much of it is open to FMUs in a sandbox that lacks these layers."""
    found = {subject for layer in without for subject in _OPEN.get(layer, ())}
    found |= {"reading", "writing"} if not closes_files(without) else set()
    on_disk = {"writing": _WRITING_ON_DISK} if NAMESPACES in without else {}
    return CLOSED | on_disk | dict.fromkeys(found, OPEN)


def gaps_told(asked: Boxing) -> str:
    """One sentence about the missing layers of a sandbox; empty if none is missing."""
    found = gaps(asked)
    if not found:
        return ""
    still = ", ".join(subject for subject, what in closed(found).items() if what == OPEN)
    reasons = "; ".join(f"{layer}: {reason}" for layer, reason in found.items())
    return f"the sandbox is not complete; still open: {still or 'nothing'} ({reasons})"


def _refusal(closing: Callable[[], object]) -> str:
    """Reason for which a process cannot close a layer; empty if it can."""
    if sys.platform == "win32":
        raise AssertionError("there are no forks")
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            closing()
            os._exit(0)
        except OSError as error:
            os.write(write, str(error.args[-1]).encode())
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read, encoding="utf-8", errors="replace") as said:
        problem = said.read()
    return "" if os.waitpid(pid, 0)[1] == 0 else problem or "it"


def _try_namespaces() -> None:
    if sys.platform == "win32":
        raise AssertionError("there are no forks")
    leave_network(apart=True)
    pid = os.fork()  # the first process of the new space
    if pid == 0:
        try:
            enter_own_root([Path("/usr")], [])
            os._exit(0)
        except OSError:
            os._exit(1)
    if os.waitpid(pid, 0)[1]:
        raise OSError("a tree of files of its own")


_SWITCHES = {
    "/proc/sys/user/max_user_namespaces": ("0", "sysctl user.max_user_namespaces=10000"),
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "sysctl kernel.unprivileged_userns_clone=1"),
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile of AppArmor for this Python",
    ),
}
"""Setting of the kernel → the value that takes user namespaces away, and how an administrator gives them back."""


def _why_refused() -> str:
    for name, (value, remedy) in _SWITCHES.items():
        try:
            if Path(name).read_text(encoding="utf-8").strip() == value:
                return (
                    f"; user namespaces are switched off ({name} is {value}; an administrator can change it: {remedy})"
                )
        except OSError:
            continue
    return "; containers need the rights for namespaces and an unmasked /proc"


def _origin(path: Path) -> str:
    """Address from which a file was downloaded, as programs note it at the file; "" if nothing is noted."""
    if sys.platform == "linux":
        with suppress(OSError, UnicodeDecodeError):
            return os.getxattr(path, "user.xdg.origin.url").decode()
    if sys.platform == "win32":
        with suppress(OSError, UnicodeDecodeError):
            noted = Path(f"{path}:Zone.Identifier").read_text(encoding="utf-8")
            found = next((line for line in noted.splitlines() if line.startswith("HostUrl=")), "")
            return found.partition("=")[2] or ("the internet" if "ZoneId=3" in noted else "")
    return ""


def advice(paths: Iterable[Path], asked: Boxing | None, setting: Boxing | None = None) -> str:
    """One line about the first of these files that was downloaded, unless somebody has decided about a sandbox; or
    about what is missing of a sandbox. A folder stands for the structure and the FMUs in it.
    """
    if boxed := wanted(asked, setting):
        return gaps_told(boxed)
    if any(one is not None for one in (asked, stated.get(), _of_environment(), setting)):
        return ""
    files = (file for path in paths for file in (path, *path.glob("*.ssd"), *path.glob("**/*.fmu")))
    said = next(((file, found) for file in files if (found := _origin(file))), None)
    if said is None:
        return ""
    lacking = missing_layers()
    partly = f"={BEST}" if lacking else ""
    box = f"--sandbox{partly} keeps its FMUs from your files" + ("" if NAMESPACES in lacking else " and the network")
    if not closes_files(lacking):
        box = "its FMUs have all your rights, and there is no sandbox here"
    return f"{said[0].name} was downloaded from {said[1]}: {box}"


def check_sandbox(asked: Boxing = True) -> None:
    """Raises NoSandbox if it is to be complete, and is not."""
    if asked is True and (reason := missing()):
        raise NoSandbox(reason)


DEFAULT = "SSPTOOL_SANDBOX"
"""Variable of the environment with which sandboxes are the default."""


def wanted(given: Boxing | None, setting: Boxing | None = None) -> Boxing:
    """Whether a sandbox is asked for: as given, else by the command line, the environment, or the settings file."""
    found = (given, stated.get(), _of_environment(), setting)
    return next((one for one in found if one is not None), False)


def _of_environment() -> Boxing | None:
    text = os.environ.get(DEFAULT, "").lower()
    return None if not text else BEST if text == BEST else text in ("1", "on", "yes", "true")


stated: ContextVar[Boxing | None] = ContextVar("stated", default=None)
"""The sandbox that a command line states for all that it does."""

_asked: ContextVar[Boxing] = ContextVar("asked", default=False)


@contextmanager
def sandboxed(asked: Boxing) -> Iterator[None]:
    """Runs of studies that begin meanwhile are in a sandbox, if that is asked for. Raises NoSandbox."""
    check_sandbox(asked)
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


def is_sandboxed() -> Boxing:
    """Whether runs that begin now are to be in a sandbox."""
    return _asked.get()


def leave_network(*, apart: bool = False) -> None:
    """Move this process, which has one thread, to a network without any device, not even loopback, and to a space of
    users, in which it may change its own files (`close_files`). Raises OSError.

    `apart`: its children get a space of processes of their own (see `stand_guard`).
    """
    if sys.platform == "win32":
        raise NoSandbox(missing())
    user, group = os.geteuid(), os.getegid()
    spaces = _NEW_USER | _NEW_NETWORK | _NEW_IPC | _NEW_NAMES | _NEW_GROUPS | (_NEW_PROCESSES if apart else 0)
    _checked(ctypes.CDLL(None, use_errno=True).unshare(spaces), "namespaces of its own")
    # Without these it would be nobody, and could make no files.
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path(f"/proc/self/{name}").write_text(text, encoding="utf-8")


def system_paths() -> list[Path]:
    """Paths of the system, of this interpreter, and of packages: those that are installed, and those that are loaded.

    The folder of a script, which Python searches for modules, is none of them.
    """
    places = sysconfig.get_paths()
    python = [places[name] for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts", "include")]
    python += [f"{prefix}/{part}" for prefix in {sys.prefix, sys.base_prefix} for part in _OF_PREFIX]
    installed = [entry for entry in sys.path if Path(entry).name in _INSTALLED and Path(entry).is_absolute()]
    settings = (f"/etc/{name}" for name in SETTINGS)
    found = dict.fromkeys([*SYSTEM, *settings, *python, *installed, str(Path(__file__).parent)])
    whole = tuple(f"{path}/" for path in found)
    return [Path(path) for path in (*found, *(one for one in _loaded_packages() if not one.startswith(whole)))]


_OF_PREFIX = ("bin", "lib", "lib64", "share", "pyvenv.cfg")


def _loaded_packages() -> Iterator[str]:
    """Packages and modules of this process, wherever they are."""
    for name, module in list(sys.modules.items()):
        if "." not in name and name != "__main__":
            file = getattr(module, "__file__", None)
            yield from map(os.path.abspath, getattr(module, "__path__", [file] if file else []))


def rules(readable: Iterable[Path], writable: Iterable[Path], version: int) -> dict[Path, int]:
    """Path → rights to it and to all beneath it; paths that do not exist have no rule."""
    found = dict.fromkeys(readable, READ)
    found |= dict.fromkeys(DEVICE_FILES, READ_FILE | WRITE_FILE | TRUNCATE)
    found |= dict.fromkeys(writable, rights(version) & ~DEVICES)
    known = rights(version)
    return {
        path: allowed & known & (~0 if path.is_dir() else FILE_ONLY) for path, allowed in found.items() if path.exists()
    }


def close_files(
    readable: Iterable[Path], writable: Sequence[Path], folder: Path | None = None, without: Container[str] = ()
) -> None:
    """Let this process read and write nothing else from now on, and talk to no process outside. Raises OSError.

    It has left the network, and is in a space of processes of its own. Its temporary files are in memory from now on.
    Without namespaces none of this holds, and its temporary files are in `tempfile.tempdir`, one of `writable`.

    Parameters
    ----------
    readable, writable
        Absolute paths.
    folder
        Working directory, of which only those are there.
    without
        Layers that the system has not (`gaps`).
    """
    apart = NAMESPACES not in without
    if apart:
        enter_own_root(list(readable), writable, folder)
        # All that is still there may be read.
        readable, writable = [Path("/")], [*writable, *SIZES]
        tempfile.tempdir = str(TEMPORARY)
    else:
        readable = [part for path in readable for part in _without_hidden(path)]
    _limit_processes(apart)
    if LANDLOCK not in without:
        _restrict_files(readable, writable)
    if FILTER not in without:
        refuse_calls()
    libc = ctypes.CDLL(None, use_errno=True)
    header, none = (ctypes.c_uint32 * 2)(_CAPABILITIES, 0), (ctypes.c_uint32 * 6)()
    _checked(libc.capset(ctypes.byref(header), ctypes.byref(none)), "rights of root")
    _checked(libc.prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0), "rights of root")  # programs of root would have them again
    _name_temporary_files()


def _without_hidden(path: Path) -> Iterator[Path]:
    """A path, or its parts without those that are hidden: a rule of Landlock takes nothing away."""
    if any(one != path and one.is_relative_to(path) for one in HIDDEN) and path.is_dir():
        for part in path.iterdir():
            yield from _without_hidden(part)
    elif path not in HIDDEN:
        yield path


def _restrict_files(readable: Iterable[Path] = (), writable: Iterable[Path] = ()) -> None:
    """Restrict this process by Landlock. Raises OSError."""
    libc, version = ctypes.CDLL(None, use_errno=True), landlock_version()
    wanted = _Ruleset(rights(version), 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _checked(libc.syscall(_CREATE_RULESET, ctypes.byref(wanted), ctypes.c_size_t(size), 0), "Landlock")
    try:
        for path, allowed in rules(readable, writable, version).items():
            _add(libc, ruleset, path, allowed)
        _checked(libc.prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0), "Landlock")  # which it asks for
        _checked(libc.syscall(_RESTRICT_SELF, ruleset, 0), "Landlock")
    finally:
        os.close(ruleset)


def _limit_processes(apart: bool) -> None:
    """Limit the sizes of files and cores of memory, and if it is `apart` the number of processes, also of the
    administrator; otherwise all processes of the user would count.
    """
    if sys.platform != "win32":
        wanted = [(resource.RLIMIT_FSIZE, MOST_FILE_BYTES), (resource.RLIMIT_CORE, 0)]
        wanted += [(resource.RLIMIT_NPROC, MOST_PROCESSES)] if apart else []
        for kind, most in wanted:
            hard = resource.getrlimit(kind)[1]
            limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (limit, limit))


def _name_temporary_files() -> None:
    """Let FMUs make temporary files where Python makes them, and take the names of sockets of the user away."""
    os.environ.update(dict.fromkeys(("TMPDIR", "HOME"), tempfile.gettempdir()))
    for name in ("TMP", "TEMP", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"):
        os.environ.pop(name, None)


def enter() -> None:
    """Entry of an interpreter: execute the command of its arguments in a sandbox.

    The first argument is JSON: the paths to read beside those of the system, the paths to write, and the layers that
    the system has not.
    """
    if sys.platform == "win32":
        raise NoSandbox(missing())
    *paths, without = json.loads(sys.argv[1])
    readable, writable = (list(map(Path, each)) for each in paths)
    folder, apart = Path.cwd(), NAMESPACES not in without
    if apart:
        leave_network(apart=True)
    stand_guard(os.getppid(), apart=apart)
    close_files([*system_paths(), *readable], writable, folder, without)
    os.execvp(sys.argv[2], sys.argv[2:])


def _add(libc: ctypes.CDLL, ruleset: int, path: Path, allowed: int) -> None:
    if sys.platform != "linux":
        raise NoSandbox(missing())
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EACCES):  # what cannot be reached needs no rule
            return
        raise
    try:
        rule = _Beneath(allowed, parent)
        _checked(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0), "Landlock")
    finally:
        os.close(parent)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result
