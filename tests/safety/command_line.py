"""The command line in this process: the exit status, and what it prints."""

import contextlib
import io
import sys
from typing import NamedTuple

import pytest

from ssptool.cli.app import command


class Done(NamedTuple):
    code: int
    out: str
    err: str


def typed(*arguments: object) -> Done:
    """The command line, in this process."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["ssptool", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ending:
            command()
    finally:
        sys.argv = before
    return Done(int(ending.value.code or 0), out.getvalue(), err.getvalue())
