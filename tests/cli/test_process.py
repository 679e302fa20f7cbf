"""The command as a process of its own: how it begins and ends."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MAIN = "from ssptool.cli.main import main; main()"


def run(code: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], text=True, **{"capture_output": True, **options})


@pytest.mark.parametrize(("arguments", "status"), [(["--version"], 0), (["validate", "nothing.ssp"], 2)])
def test_the_caller_gets_the_status_and_all_that_was_printed(arguments, status):
    done = run(MAIN, *arguments)
    assert done.returncode == status
    assert (done.stdout or done.stderr).endswith("\n")


def test_python_runs_the_package_as_the_command():
    done = subprocess.run([sys.executable, "-m", "ssptool", "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: python -m ssptool" in done.stdout


def test_what_is_to_be_done_at_the_end_of_the_process_is_done():
    """Although modules are not taken apart."""
    code = (
        "import atexit, ssptool.cli.app as app; whole = app.command; "
        "app.command = lambda: (atexit.register(print, 'the last word'), whole()); " + MAIN
    )
    done = run(code, "--version")
    assert done.returncode == 0
    assert done.stdout.endswith("the last word\n")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_completion_is_installed_for_the_shell_that_asks(tmp_path):
    """Into the folder of the user, where bash reads it at its next start."""
    line = f"{shlex.quote(sys.executable)} -m ssptool --install-completion; true"
    done = subprocess.run(
        ["bash", "-c", line], env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert "bash completion installed" in done.stdout, done.stderr
    (script,) = (tmp_path / ".bash_completions").iterdir()
    assert str(script) in (tmp_path / ".bashrc").read_text(encoding="utf-8")
    assert "complete_bash" in script.read_text(encoding="utf-8")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_output_that_cannot_be_written_is_an_error():
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        assert run(MAIN, "--version", capture_output=False, stdout=full, stderr=subprocess.DEVNULL).returncode != 0


@pytest.mark.parametrize("module", ["ssptool.cli.app", "typer", "ssptool.api.check"])
def test_an_interrupt_while_modules_are_loaded_is_told_in_two_words(module, tmp_path):
    """As Ctrl-C does it, at the moment at which Python looks for the module."""
    program = f"""
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
sys.argv = ["ssptool", "validate", "nothing.ssp"]
from ssptool.cli.main import main
sys.meta_path.insert(0, Interrupting())
main()
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")
