"""Runs that a program steps, reads, changes and saves (`Simulation`)."""

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Unpack

from ssptool.api.check import shows
from ssptool.api.run import BOXED, BoxedOptions, opened_plan
from ssptool.arguments import flag, path, texts
from ssptool.engine.run.selection import select
from ssptool.engine.settings import SettingsOptions
from ssptool.engine.stepping import simulation
from ssptool.public_calls import public


@public
class Simulation(simulation.SteppedRun):
    """A run that your program advances, reads, changes and saves; a context manager.

    Parameters
    ----------
    system, variant, parameters, start_values, inputs, interpolation, scenario, accept, allow_outside,
    settings_file, settings, stop_time, ...
        As in `simulate`.
    record
        Record only signals, variables of FMUs and connectors of nested systems that match one of these patterns of
        full names, such as "*.x1", for `trace` (default: inputs and outputs).
    saved
        Continue from this file of `save`. System and settings must be the same.
    sandbox
        Run the FMUs in a child process in a sandbox (Linux), as in `simulate`. Without it, they run in the process of
        the program.
    compile
        Compile FMUs that have sources but no library for this platform, as in `simulate`.

    Examples
    --------
    >>> with ssptool.Simulation("systems/dual_mass_oscillator") as run:
    ...     run.run_until(1.0)
    ...     run.set("System2.k3", 30.0)
    ...     run.step(100)
    ...     run.save("state")
    ...     print(run.time, run.get("System1.x1"))

    Raises
    ------
    InvalidSystem
        The system has errors. No binary has been loaded.
    NoSandbox
        This system does not support a sandbox.
    """

    @shows(BOXED, BoxedOptions, SettingsOptions)
    def __init__(
        self,
        system: Path | str,
        *,
        record: str | list[str] | tuple[str, ...] = (),
        saved: Path | str | None = None,
        compile: bool = False,
        **options: Unpack[BoxedOptions],
    ) -> None:
        patterns = texts("record", record, "a pattern such as '*.x1'")
        file = None if saved is None else path("saved", saved)
        with ExitStack() as stack:
            opened = stack.enter_context(opened_plan(type(self), system, options))
            box = opened.box()
            plan, sources, _ = opened.built(flag("compile", compile))
            super().__init__(select(plan, patterns), sources, saved=file, sandbox=box)
            self._opened = stack.pop_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._opened:
            super().__exit__(kind, error, trace)
