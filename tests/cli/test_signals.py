"""The command leaves the process of whoever calls it as it was."""

import signal
import subprocess
import sys
from threading import Thread

import pytest

from ssptool.cli.app import command
from ssptool.errors import ENDING


@pytest.fixture
def before(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["ssptool", "--version"])

    def own(number, frame):
        """What the caller does when it is asked to end."""

    previous = {number: signal.signal(number, own) for number in ENDING}
    yield own
    for number, handler in previous.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ENDING)
def test_who_calls_the_command_keeps_its_answer_to_signals(before, number):
    with pytest.raises(SystemExit):
        command()
    assert signal.getsignal(number) is before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no nohup")
def test_a_command_that_is_to_outlive_its_terminal_does():
    script = (
        "import signal\nfrom ssptool.cli.app import _ended_by_request\n"
        "with _ended_by_request():\n    print(signal.getsignal(signal.SIGHUP).name)"
    )
    done = subprocess.run(["nohup", sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "SIG_IGN\n"


def test_the_command_can_be_called_in_a_thread(before):
    ended = []

    def call():
        try:
            command()
        except SystemExit as ending:
            ended.append(ending.code)

    thread = Thread(target=call)
    thread.start()
    thread.join()
    assert ended == [0]
    assert signal.getsignal(signal.SIGTERM) is before
