"""The process of `ssptool`: what is to be seen to before anything is loaded, and how it ends."""

import atexit
import gc
import os
import sys

from ssptool.cli.streams import open_streams


def main() -> None:
    """Run the command and end the process with its exit status."""
    # Most of what a short command makes are modules, which stay to its end: garbage is not often looked for in them.
    gc.set_threshold(200_000)
    open_streams()
    end = _QuickEnd()
    atexit.register(end)  # the first that is registered is the last that is called
    try:
        try:
            # Here, so that it is loaded as has just been said.
            from ssptool.cli.app import command
        except KeyboardInterrupt:  # there is nothing yet that would say so
            sys.stderr.write("error: interrupted\n")
            sys.exit(130)
        command()
    except SystemExit as leaving:
        end.status = leaving.code
        raise


class _QuickEnd:
    """Ends the process when everything that somebody wanted to be done at its end is done.

    To take hundreds of modules apart, object by object, takes as long as to check a small system; the operating system
    takes all memory back at once.
    """

    def __init__(self) -> None:
        self.status: object = None

    def __call__(self) -> None:
        if not isinstance(self.status, int):
            return
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except OSError:
            return  # the interpreter says so
        os._exit(self.status)
