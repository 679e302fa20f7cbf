"""Run as recorded in a manifest: its system, settings, stimuli and parameters.

Manifests come with results and are untrusted. Nothing else in them is used: the caller states files to write, the
environment, options of processes, and readable folders.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import NoneType
from typing import Any

from ssptool.documents.outside import never_read
from ssptool.engine.method_names import AUTO, JACOBI, ImplementationName, IntegratorName
from ssptool.engine.ode.integrator import RETREATED
from ssptool.engine.recording.formats import misfits
from ssptool.engine.run.manifest import INSIGHT
from ssptool.engine.run.methods import SIMULATION, STATED
from ssptool.engine.settings import Settings
from ssptool.engine.stimuli.inputs import Inputs
from ssptool.errors import abbreviated, similar_names
from ssptool.results.reproduction import CannotReproduce
from ssptool.rules.used_files import beyond_reach, system_beyond_reach

_SCALAR = (str, int, float, bool)
_TEXT_OR_NONE = (str, NoneType)
_ARGUMENTS: Mapping[str, Any] = {
    "variant?": _TEXT_OR_NONE,
    "parameters?": [str],
    "start_values?": {"*": _SCALAR},
    "inputs?": (Mapping, list, str, NoneType),
    "interpolation?": ({"*": str}, str, NoneType),
    "scenario?": _TEXT_OR_NONE,
    "accept?": [str],
    "record?": [str],
    "every?": int,
    "output_step?": (int, float, NoneType),
    "units?": ({"*": str}, str),
    "saved?": _TEXT_OR_NONE,
}
"""Arguments that are used, with their types."""

_INPUTS: Mapping[str, Any] = {"source": (Mapping, list, str), "interpolation": str, "columns": {"*": str}}
_CONSTANTS: Mapping[str, Any] = {"*": _SCALAR}

_CALLERS = frozenset({"system", "allow_outside", "settings_file", "compile"})
"""Arguments of a run that the caller of a repetition states; `system` is read separately."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """Run of a manifest.

    Attributes
    ----------
    system
        Path of the system at the time of the run.
    settings
        Its settings, without logs.
    arguments
        Keywords of `simulate`: stimuli, parameters, accepted rules and recorded rows.
    files
        Files that the arguments name.
    hashes
        Name of an input of the run → its SHA-256.
    """

    system: Path
    settings: Settings
    arguments: Mapping[str, Any]
    files: tuple[Path, ...]
    hashes: tuple[tuple[str, str], ...]


def recorded_run(result: Path, manifest: Mapping[str, Any]) -> RecordedRun:
    """The run of a manifest from `read_manifest`.

    Raises
    ------
    CannotReproduce
        An argument or a setting is unknown, or has another type.
    WrongArgument
        The value of a setting is not allowed.
    """
    given, settings = manifest["arguments"], manifest["settings"]
    known = {name.removesuffix("?") for name in _ARGUMENTS}
    _refuse_unknown(result, "argument", given, known | _CALLERS)
    _refuse_unknown(result, "setting", settings, {one.name for one in fields(Settings)})
    stated = {name: value for name, value in given.items() if name in known}
    if faults := [*misfits(stated, _ARGUMENTS, "it"), *_faults_of_inputs(stated.get("inputs"))]:
        raise CannotReproduce(f"{result}: the arguments in its manifest are damaged: {faults[0]}")
    if not isinstance(given.get("system"), str):
        raise CannotReproduce(f"{result}: its manifest does not name the system")
    values = {**stated, "inputs": _inputs(stated.get("inputs"))}
    return RecordedRun(
        Path(given["system"]),
        _settings(settings, manifest.get("choices", ()), manifest.get("notes", ())),
        values,
        tuple(_files(stated)),
        tuple((one["name"], one["sha256"]) for one in manifest.get("inputs", ())),
    )


def _settings(given: Mapping[str, Any], choices: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> Settings:
    """Settings of a run without its logs. The choices of co-simulation, integrator and parallel steps are kept, because
    the ssptool that made the result may have had other defaults. An integrator that was replaced during the run was a
    default, and is kept as such.
    """
    settings = Settings.of({name: value for name, value in given.items() if name not in INSIGHT}, {})
    chosen = {one.get("setting"): one for one in choices if isinstance(one, Mapping)}
    kind, method = chosen.get("implementation", {}), chosen.get("integrator", {})
    by_steps = SIMULATION.words in str(kind.get("value")) and kind.get("reason") != STATED
    if settings.implementation is ImplementationName.AUTO and by_steps:
        settings = replace(settings, implementation=ImplementationName.CS)
    kept = method.get("value") in tuple(IntegratorName) and not any(RETREATED in str(note) for note in notes)
    if settings.integrator is None and kept:
        settings = replace(settings, integrator=IntegratorName(method["value"]))
    if settings.master == AUTO and chosen.get("master", {}).get("value") == JACOBI:
        settings = replace(settings, master=JACOBI)
    return settings


def _refuse_unknown(result: Path, kind: str, found: Mapping[str, Any], known: set[str]) -> None:
    if unknown := [name for name in found if name not in known]:
        near = similar_names(unknown[0], known, 1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        raise CannotReproduce(
            f"{result}: its manifest has the {kind} {abbreviated(map(repr, unknown))}{meant}, which reproduce does not "
            "take from a manifest; run the system again to get results with a manifest of this version"
        )


def _faults_of_inputs(stated: Any) -> Iterator[str]:
    match stated:
        case list():
            for one in stated:
                yield from _faults_of_inputs(one)
        case Mapping() if stated.keys() == _INPUTS.keys():
            yield from misfits(stated, _INPUTS, "inputs")
            yield from _faults_of_inputs(stated["source"])
        case Mapping():
            yield from misfits(stated, _CONSTANTS, "inputs")
        case str() | None:
            return
        case _:
            yield f"inputs has {type(stated).__name__}"


def _inputs(stated: Any) -> Any:
    """Inputs as the caller gave them."""
    if isinstance(stated, list):
        return [_inputs(one) for one in stated]
    if isinstance(stated, Mapping) and stated.keys() == _INPUTS.keys():
        return Inputs(_inputs(stated["source"]), stated["interpolation"], stated["columns"])
    return stated


def _files(arguments: Mapping[str, Any]) -> Iterator[Path]:
    yield from map(Path, arguments.get("parameters", ()))
    yield from _input_files(arguments.get("inputs"))
    yield from (Path(arguments[name]) for name in ("scenario", "saved") if arguments.get(name))


def _input_files(stated: Any) -> Iterator[Path]:
    match stated:
        case str():
            yield Path(stated)
        case list():
            for one in stated:
                yield from _input_files(one)
        case Mapping() if stated.keys() == _INPUTS.keys():
            yield from _input_files(stated["source"])


def require_readable_files(
    result: Path | str, files: Sequence[Path], hashes: Sequence[str], folder: Path, allowed: Sequence[Path]
) -> None:
    """Reject files that a manifest of results in a folder may not name; see `beyond_reach`.

    Raises
    ------
    CannotReproduce
        The message names the file, and the option that allows its folder.
    """
    for file in files:
        if never_read(file):
            raise CannotReproduce(f"{result}: its manifest names {file}, a file of the kernel, which is never read")
        if file.is_file() and beyond_reach(file, folder, allowed, hashes):
            raise CannotReproduce(
                f"{result}: its manifest names {file}, which is not the file of the run, and lies outside the working "
                f"folder and that of the results; if the run may read it: --allow-outside {file.parent}"
            )


def require_readable_system(
    result: Path | str,
    system: Path,
    variant: str | None,
    hashes: Sequence[str],
    folder: Path,
    allowed: Sequence[Path],
    option: str = "--system",
) -> None:
    """Reject a system that a manifest of results in a folder may not name; see `system_beyond_reach`.

    Raises
    ------
    CannotReproduce
        The message names the system, and the option that states it.
    """
    if system.exists() and system_beyond_reach(system, variant, folder, allowed, hashes):
        raise CannotReproduce(
            f"{result}: its manifest names the system {system}, which is not unchanged since the run, and lies outside "
            f"the working folder and that of the results; if it is the right system: {option} {system}"
        )
