"""Builds the FMUs of this folder, once, with what builds the example systems' FMUs."""

from functools import cache
from pathlib import Path

from tests import cmake_build

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / "build" / "test-fmus"

(
    NOTHING,
    WRITE_TO_NULL,
    EXIT_WITH_3,
    ABORT,
    HANG,
    EAT_MEMORY,
    NOT_A_NUMBER,
    OVERFLOW_STACK,
    KILL_ITSELF,
    KILL_COMMAND,
    CRAWL,
    NAN_INSIDE,
    LEAVE_THREAD,
    PRINT,
    GO_ELSEWHERE,
    SEND_PICKLE,
    SEND_GARBAGE,
    SEND_LENGTH,
    REACH_OUT,
    CLOSE_ALL,
    SCRIBBLE,
    TRUNCATE,
    LOOK_AROUND,
    SHOUT,
    FLOOD,
    TYPE,
    LEAVE_BEHIND,
) = range(27)
"""What `Misbehaving` does from time `when` on, by its parameter `what`."""


@cache
def build() -> Path:
    """The folder with `Misbehaving.fmu` in fmi1, fmi2 and fmi3."""
    cmake_build.build(HERE, FOLDER)
    return FOLDER
