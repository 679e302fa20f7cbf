"""The command leaves the process of whoever calls it as it was."""

import signal
import sys
from threading import Thread

import pytest

from ssptool.cli.app import command


@pytest.fixture
def before(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["ssptool", "--version"])

    def own(number, frame):
        """What the caller does when it is asked to end."""

    previous = signal.signal(signal.SIGTERM, own)
    yield own
    signal.signal(signal.SIGTERM, previous)


def test_who_calls_the_command_keeps_its_answer_to_sigterm(before):
    with pytest.raises(SystemExit):
        command()
    assert signal.getsignal(signal.SIGTERM) is before


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
