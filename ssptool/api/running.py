"""What a run would do, and the run."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ssptool.api.opening import NO_OVERRIDES, valid
from ssptool.api.understanding import flatten
from ssptool.documents.archive import Archive
from ssptool.engine.call_sequence import call_sequence as call_sequence
from ssptool.engine.limits import Limits as Limits
from ssptool.engine.manifest import Input
from ssptool.engine.plan import Plan, make_plan
from ssptool.engine.recording.files import read_manifest as read_manifest
from ssptool.engine.recording.files import read_trace as read_trace
from ssptool.engine.settings import Settings as Settings
from ssptool.engine.simulate import Recording as Recording
from ssptool.engine.simulate import Result, run
from ssptool.network.flatten import build_network


def plan(
    path: Path | str,
    *,
    variant: str | None = None,
    parameters: Sequence[Path] = (),
    overrides: Mapping[str, str] = NO_OVERRIDES,
    settings: Settings | None = None,
) -> Plan:
    """What a run would do, resolved to the last call, made without loading a binary."""
    network = flatten(path, variant=variant, parameters=parameters, overrides=overrides)
    return make_plan(network, settings or Settings())


def simulate(
    path: Path | str,
    *,
    variant: str | None = None,
    parameters: Sequence[Path] = (),
    overrides: Mapping[str, str] = NO_OVERRIDES,
    settings: Settings | None = None,
    output: Path | None = None,
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
        The system has errors. No binary has been loaded.
    """
    with valid(path, variant) as (archive, structure):
        network = build_network(archive, structure, overrides=overrides, parameter_files=parameters)
        return run(
            make_plan(network, settings or Settings()),
            archive,
            output=output,
            recording=recording,
            isolated=isolated,
            limits=limits,
            measured=measured,
            realtime=realtime,
            progress=progress,
            inputs=_inputs(archive, parameters),
        )


def _inputs(archive: Archive, parameters: Sequence[Path]) -> tuple[Input, ...]:
    inside = (Input(name, archive.local_path(name)) for name in archive.names())
    return (*inside, *(Input(str(path), path) for path in parameters))
