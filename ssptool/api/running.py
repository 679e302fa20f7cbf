"""What a run would do, and the run."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ssptool.api.opening import NO_OVERRIDES, valid
from ssptool.documents.archive import Archive
from ssptool.engine.isolation.limits import Limits as Limits
from ssptool.engine.manifest import Input
from ssptool.engine.plan import Plan
from ssptool.engine.planning import planned
from ssptool.engine.recording.files import read_manifest as read_manifest
from ssptool.engine.recording.files import read_trace as read_trace
from ssptool.engine.recording.recording import Recording as Recording
from ssptool.engine.result import Result
from ssptool.engine.settings import Settings as Settings
from ssptool.engine.simulate import run
from ssptool.working_directory import absolute

if TYPE_CHECKING:
    from ssptool.engine.stimuli.inputs import Given
    from ssptool.engine.stimuli.scenario import Scenario


def plan(
    path: Path | str,
    *,
    variant: str | None = None,
    parameters: Sequence[Path] = (),
    overrides: Mapping[str, str] = NO_OVERRIDES,
    settings: Settings | None = None,
    inputs: "Given | None" = None,
    scenario: "Scenario | Path | str | None" = None,
    accept: Sequence[str] = (),
) -> Plan:
    """What a run would do, resolved to the last call, made without loading a binary."""
    with valid(path, variant, accept) as (archive, structure, accepted):
        return planned(
            archive,
            structure,
            parameters=parameters,
            overrides=overrides,
            settings=settings,
            inputs=inputs,
            scenario=scenario,
            accepted=accepted,
        )


def simulate(
    path: Path | str,
    *,
    variant: str | None = None,
    parameters: Sequence[Path] = (),
    overrides: Mapping[str, str] = NO_OVERRIDES,
    settings: Settings | None = None,
    inputs: "Given | None" = None,
    scenario: "Scenario | Path | str | None" = None,
    accept: Sequence[str] = (),
    output: Path | str | None = None,
    recording: Recording | None = None,
    isolated: bool = False,
    limits: Limits | None = None,
    measured: bool = False,
    realtime: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Initialize and co-simulate a system.

    Parameters
    ----------
    inputs
        Courses of inputs that nothing in the system drives, by full name: the path of a CSV file, a mapping to
        constants, functions of time, `Table` or `Function`, a pandas frame, a numpy array with fields; `Inputs` around
        one of them says how it is interpolated; a list of several.
    scenario
        A file as libcosim has them, or a `Scenario`: at a time override, bias or reset a variable.
    accept
        Codes of rules, or beginnings of them: the system is run in spite of their findings. `ssptool.rule` says what
        becomes of these, and the manifest names them. Errors of rules that `ssptool.toml` ignores are accepted too.
    output
        File to which the trace is streamed, in the format of its ending: .csv, .parquet or .mat. Short for
        `Recording(output)`.
    recording
        Which signals and rows are recorded, and where.
    isolated, limits
        Run the FMUs in a child process: if it crashes, hangs or takes more than the limits, the result says so, and
        which FMU it was.
    measured
        Count and time all calls of FMUs, for `Statistics.calls` of the result.
    realtime
        So many seconds of simulation are to pass in one of wall time; without it, the run is as fast as it can be.
    progress
        Called with the fraction 0 … 1 of the interval that is done.

    Returns
    -------
    Result
        The trace, how initialization went, statistics; `status` says whether the run reached its end.

    Raises
    ------
    InvalidSystem
        The system has errors that are not accepted. No binary has been loaded.
    UnknownRule, Unacceptable
        A code in `accept` is that of no rule, or of one that cannot be accepted.
    BadInputs, BadScenario
        Inputs or scenario cannot be used, with everything that is wrong with them.
    """
    with valid(path, variant, accept) as (archive, structure, accepted):
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
        return run(
            plan,
            archive,
            output=None if output is None else Path(output),
            recording=recording,
            isolated=isolated,
            limits=limits,
            measured=measured,
            realtime=realtime,
            progress=progress,
            inputs=_inputs(archive, (*parameters, *plan.stimuli.files)),
        )


def _inputs(archive: Archive, files: Sequence[Path]) -> tuple[Input, ...]:
    inside = (Input(name, archive.local_path(name)) for name in archive.names())
    return (*inside, *(Input(str(path), absolute(Path(path))) for path in files))
