"""Tools with larger answers than a run: studies, exported FMUs, and HTML reports."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

import ssptool
from ssptool.cli.mcp_server.folder import Folder, plain_path
from ssptool.cli.mcp_server.pages import Answer
from ssptool.cli.mcp_server.tools import (
    MEMORY,
    NOTHING,
    TIMEOUT,
    Accept,
    Inputs,
    Parameters,
    Patterns,
    Scenario,
    Settings,
    StartValues,
    System,
    Variant,
    keywords,
)
from ssptool.cli.settings_options import EXPORTED
from ssptool.engine.recording.formats import open_writer
from ssptool.errors import WrongUsage
from ssptool.foreign_text import json_text
from ssptool.studies.definition import RunEffort, Study
from ssptool.studies.study_file import study_from
from ssptool.tempfiles import TemporaryFolder

MIB = 2**20


def _both_ways(names: Sequence[str]) -> WrongUsage:
    """A study file together with arguments that it contains."""
    return WrongUsage(f"study: the file states {', '.join(names)}: leave out these arguments, or leave out file")


def _writes_logs() -> WrongUsage:
    """A study whose runs write files of messages."""
    return WrongUsage("study: fmu_log is not available here, because each run would write a file; leave it out")


class JobTools:
    """The tools that run studies, and that write FMUs and reports."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def study(
        self,
        system: System = "",
        factors: Annotated[
            Mapping[str, Any],
            Field(
                description="What differs between runs, by full name: a list of values, or "
                '{"low": 0.1, "high": 2, "count": 5}, with "unit" if it is not that of the variable.'
            ),
        ] = NOTHING,
        results: Annotated[
            Mapping[str, str],
            Field(
                description='Numbers of each run by name: {"peak": "max(\\"System1.x1\\")"}; also final, mean, rms, at.'
            ),
        ] = NOTHING,
        design: Annotated[
            Mapping[str, Any],
            Field(description='Default: all combinations. Or {"kind": "lhs", "runs": 20, "seed": 1}, sobol, morris, …'),
        ] = NOTHING,
        file: Annotated[str, Field(description="A study file (.toml) of the folder, instead of the arguments.")] = "",
        variant: Variant = "",
        settings: Settings = NOTHING,
        start_values: StartValues = NOTHING,
        parameters: Parameters = (),
        inputs: Inputs = "",
        scenario: Scenario = "",
        accept: Accept = (),
        timeout: Annotated[float, Field(gt=0, description="Wall time after which a run is ended [s].")] = TIMEOUT,
        memory_limit: Annotated[float, Field(gt=0, description="Memory that a run may take [MiB].")] = MEMORY,
        output: Annotated[
            str, Field(description="Keep the results in this folder (needs `ssptool mcp --results`).")
        ] = "",
    ) -> Answer:
        """Run a system many times with varied parameters, and compute results of each run. Answers with the runs, the
        ranges, sensitivities or the optimum, and the name of the study (study1, …), by which `results` and `report`
        read it.
        """
        self._folder.require_sandbox()
        given = {
            **keywords(variant, settings, start_values, parameters, inputs, scenario, accept),
            "factors": dict(factors),
            "results": dict(results),
            "design": dict(design),
        }
        stated = {name: value for name, value in given.items() if value not in (None, {}, [])}
        study = self._defined(file, system, stated)
        found = ssptool.study(
            replace(study, effort=_limited(study.effort, timeout, int(memory_limit * MIB))),
            self._folder.output(output) or self._folder.place_of_study(),
            sandbox=self._folder.sandbox,
            progress=self._progress,
        )
        text, _, _ = found.text().partition("\nresults: ")  # what follows are a path and commands of a shell
        return f"{text}\nin memory: {self._folder.keep(found)}"

    def _defined(self, file: str, system: str, stated: Mapping[str, Any]) -> Study:
        """The study of a file, or of a system and the arguments of a call. Raises WrongUsage."""
        if file:
            if system or stated:
                raise _both_ways([*(["system"] if system else []), *stated])
            study = ssptool.studies.read_study(plain_path(file))
        else:
            path = self._folder.system(system)
            study = study_from({"name": path.resolve().stem, "system": str(path), **_listed(stated)})
        if study.settings.fmu_log is not None:
            raise _writes_logs()
        return study

    def _progress(self, done: float) -> None:
        self._folder.go_on()
        self._folder.tell(done)

    def export(
        self,
        output: Annotated[str, Field(description="FMU to write, NAME.fmu (needs `ssptool mcp --results`).")],
        system: System = "",
        variant: Variant = "",
        fmi: Annotated[Literal[2, 3], Field(description="Version of FMI.")] = 2,
        interface: Annotated[
            Literal["cs", "me", "both"], Field(description="Offer co-simulation, model exchange, or both.")
        ] = "cs",
        expose: Annotated[
            Sequence[str],
            Field(description='Variables of components that the FMU has, too: patterns such as "System1.*".'),
        ] = (),
        settings: Annotated[
            Mapping[str, Any], Field(description=f"Settings of the coupling, as for `run`: {', '.join(EXPORTED)}.")
        ] = NOTHING,
        start_values: StartValues = NOTHING,
        parameters: Parameters = (),
        accept: Accept = (),
    ) -> Answer:
        """Export a system as one FMU, which has the values of `run` with the same settings. No FMU is loaded."""
        given = keywords(variant, settings, start_values, parameters, "", "", accept, known=EXPORTED)
        target = self._folder.output(output)
        if target is None:
            raise WrongUsage("export: output is the name of the FMU, such as plant.fmu")
        made = ssptool.export(
            self._folder.system(system),
            target,
            fmi=fmi,
            interface=interface,
            expose=list(expose),
            **{name: one for name, one in given.items() if name not in ("inputs", "scenario")},
        )
        return str(made)

    def report(
        self,
        run: Annotated[
            str, Field(description="A run or study, such as run1 or study1, a result file, or the folder of a study.")
        ],
        output: Annotated[str, Field(description="Report to write, NAME.html (needs `ssptool mcp --results`).")],
        signals: Patterns = (),
    ) -> Answer:
        """Write a report about a run or a study, as one HTML file: diagram, findings, plots, statistics, origin."""
        found, target = self._folder.result(run), self._folder.output(output)
        if target is None:
            raise WrongUsage("report: output is the name of the report, such as plant.html")
        with TemporaryFolder() as folder:
            source = _stored(found, Path(folder)) if isinstance(found, ssptool.Result) else found
            ssptool.report(source, None, target, signals=list(signals))
        return f"report of {run}: {target.as_posix()}"


def _limited(effort: RunEffort, timeout: float, memory: int) -> RunEffort:
    """The effort of a study with limits of time [s] and memory [byte] for each run."""
    return replace(effort, timeout=min(timeout, effort.timeout or timeout), memory=effort.memory or memory)


def _listed(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Entries of a study file: paths as texts, and inputs as a list."""
    found = {name: [str(one) for one in value] if name == "parameters" else value for name, value in stated.items()}
    if "inputs" in found:
        found["inputs"] = [str(found["inputs"])]
    if "scenario" in found:
        found["scenario"] = str(found["scenario"])
    return found


def _stored(result: "ssptool.Result", folder: Path) -> Path:
    """The rows and the manifest of a run in memory, as a file."""
    trace, file = result.trace, folder / "run.csv"
    writer = open_writer(file, trace.columns, trace.contents)
    writer.write(np.column_stack([trace.t, trace.cells]))
    writer.close(json_text(result.manifest))
    return file
