"""A run under the control of a program."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ssptool.api.opening import NO_OVERRIDES, valid
from ssptool.engine.planning import planned
from ssptool.engine.recording.selection import select
from ssptool.engine.settings import Settings
from ssptool.engine.stepping import simulation

if TYPE_CHECKING:
    from ssptool.engine.stimuli.inputs import Given
    from ssptool.engine.stimuli.scenario import Scenario


class Simulation(simulation.Simulation):
    """A co-simulation that is stepped, read, set and saved by a program; a context manager.

    Parameters
    ----------
    inputs, scenario
        What acts on the system from outside, as in `simulate`.
    accept
        Codes of rules in spite of whose findings the system is run, as in `simulate`.
    signals
        Patterns of full names: what `trace` holds; none: all signals.
    saved
        A file of `save`, from which to go on instead of initializing. System and settings must be the same.

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
    """

    def __init__(
        self,
        path: Path | str,
        *,
        variant: str | None = None,
        parameters: Sequence[Path] = (),
        overrides: Mapping[str, str] = NO_OVERRIDES,
        settings: Settings | None = None,
        inputs: "Given | None" = None,
        scenario: "Scenario | Path | str | None" = None,
        accept: Sequence[str] = (),
        signals: Sequence[str] = (),
        saved: Path | str | None = None,
    ) -> None:
        with ExitStack() as stack:
            archive, structure, accepted = stack.enter_context(valid(path, variant, accept))
            plan = planned(
                archive,
                structure,
                parameters=parameters,
                overrides=overrides,
                settings=settings,
                inputs=inputs,
                scenario=scenario,
                accepted=accepted,
            )
            super().__init__(select(plan, signals), archive, saved=None if saved is None else Path(saved))
            self._opened = stack.pop_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._opened:
            super().__exit__(kind, error, trace)
