"""Tests run on Windows too, except those of what only POSIX has; `make types` checks the package itself."""

import ast
from pathlib import Path

from tests.conftest import POSIX

HERE = Path(__file__).parent

MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}
NAMES = {
    *(
        "fork",
        "forkpty",
        "getegid",
        "geteuid",
        "getuid",
        "killpg",
        "memfd_create",
        "mkfifo",
        "pwrite",
        "sysconf",
        "uname",
    ),
    *("SIGALRM", "SIGKILL", "SIGPROF", "alarm", "setitimer", "AF_UNIX", "set_blocking"),
}
OWNERS = {"os", "signal", "socket"}


def posix_only(source: str) -> bool:
    """Whether a module uses what Windows does not have."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names) if MODULES & {one.name for one in names}:
                return True
            case ast.ImportFrom(module=module) if module in MODULES:
                return True
            case ast.Attribute(ast.Name(owner), name) if owner in OWNERS and name in NAMES:
                return True
    return False


def test_modules_that_need_posix_are_those_that_windows_leaves_out():
    found = [
        path.relative_to(HERE).as_posix() for path in HERE.rglob("*.py") if posix_only(path.read_text(encoding="utf-8"))
    ]
    assert sorted(found) == sorted(POSIX)
