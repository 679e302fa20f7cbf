"""The process of `ssptool`: standard streams, garbage collection, and exit.

Nothing else is loaded before `main` has prepared the process, so that Ctrl-C also works during loading.
"""

import atexit
import gc
import os
import sys


def open_streams() -> None:
    """Make all three standard streams usable.

    Closed streams are replaced by the null device. This occupies their descriptors, so that output of FMUs cannot reach
    a file that would otherwise get one of them. Characters that a stream cannot write, or that control a terminal, are
    escaped.
    """
    from pathlib import Path

    from ssptool.foreign_text import safe_stream

    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest that is free
    nowhere = Path(os.devnull)
    sys.stdin = sys.stdin or nowhere.open(encoding="utf-8")
    sys.stdout = sys.stdout or nowhere.open("w", encoding="utf-8")
    sys.stderr = sys.stderr or nowhere.open("w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", None) == "strict":
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.stdout, sys.stderr = safe_stream(sys.stdout), safe_stream(sys.stderr)


def main() -> None:
    """Run the command and end the process with its exit status."""
    # Most of what a short command makes are modules, which stay to its end: garbage is not often looked for in them.
    gc.set_threshold(200_000)
    asked = "--sandbox" in sys.argv or not {"SSPTOOL_SANDBOX", "SSPTOOL_OWN_ENVIRONMENT"}.isdisjoint(os.environ)
    asked = asked and "best" not in (os.environ.get("SSPTOOL_SANDBOX"), *(one[10:] for one in sys.argv))
    in_sandbox = asked and "--no-sandbox" not in sys.argv and not {"run", "reproduce"}.isdisjoint(sys.argv)
    if in_sandbox:
        from ssptool.engine.isolation.clean_start import leave_environment

        leave_environment()
    from ssptool.foreign_output import stop_with_children

    open_streams()
    stop_with_children()
    end = _QuickEnd()
    atexit.register(end)  # the first that is registered is the last that is called
    try:
        try:
            # Here, so that it is loaded as has just been said.
            if in_sandbox:
                from ssptool.engine.isolation.clean_start import prepare_children

                prepare_children()
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
