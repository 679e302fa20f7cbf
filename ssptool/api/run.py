"""Plan and simulate systems from start to stop.

`simulate` makes a `Plan`, which `plan` returns without loading a binary, carries it out, and returns a `Result`.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from posixpath import normpath
from typing import Any, Literal, NamedTuple, TypeVar, Unpack

from ssptool.api.check import (
    DEFAULTS,
    Codes,
    SystemOptions,
    parameter_files,
    refuse_unknown,
    shows,
    switches_of,
    valid,
)
from ssptool.api.kept_systems import KeptPlan
from ssptool.arguments import (
    AccuracyName,
    WantedAccuracy,
    WrongArgument,
    accuracy_by_default,
    accuracy_of,
    boxing,
    count,
    flag,
    mapping,
    number,
    path,
    seconds,
    start_value_texts,
    texts,
)
from ssptool.child_processes import passing
from ssptool.documents.archive import Archive
from ssptool.documents.foreign_files import read_bytes
from ssptool.documents.storage import NESTING_MARK
from ssptool.documents.uri import UP
from ssptool.documents.vocabulary import OWN_FMUS
from ssptool.engine.assembly.instances import EarlierRuns, Sources, with_libraries
from ssptool.engine.planning.plan import Plan as Plan
from ssptool.engine.planning.plan_text import plan_text as plan_text
from ssptool.engine.recording.formats import read_manifest as read_manifest
from ssptool.engine.recording.formats import read_trace as read_trace
from ssptool.engine.run.accuracy import AccuracyMethod
from ssptool.engine.run.accuracy_check import AccuracyCheck, Refined
from ssptool.engine.run.execution import Job
from ssptool.engine.run.make_plan import planned
from ssptool.engine.run.manifest import Arguments, Input, Provenance
from ssptool.engine.run.recorder import Recording
from ssptool.engine.run.result import NO_UNITS, UNITS
from ssptool.engine.run.result import Result as Result
from ssptool.engine.run.saved import continued
from ssptool.engine.run.summary import summary_text as summary_text
from ssptool.engine.settings import Limits, SettingsOptions, present_names
from ssptool.engine.settings import Settings as Settings
from ssptool.engine.simulate import Run
from ssptool.engine.trace import Trace as Trace
from ssptool.errors import ContradictingSettings
from ssptool.fmu.processes import AVAILABLE, MISSING
from ssptool.option_words import AccuracyWord, Boxing
from ssptool.public_calls import public
from ssptool.rules.selection import Acceptance
from ssptool.sandbox import check_sandbox
from ssptool.sandbox import wanted as wanted_sandbox
from ssptool.working_directory import absolute

MIB = 1 << 20
"""Bytes of a mebibyte, in which memory is limited."""


class RunOptions(SystemOptions, SettingsOptions, total=False):
    """Keywords of `simulate`, `plan` and `SteppedRun`; `simulate` says what each means."""

    accept: Codes
    settings: Settings | Mapping[str, object] | None


class BoxedOptions(RunOptions, total=False):
    """Keywords of functions that call FMUs one by one, from the process of the program; see `simulate`."""

    sandbox: Boxing | None


SHOWN = (*SystemOptions.__annotations__, "accept", "settings")
BOXED = (*SHOWN, "sandbox")


@public
@shows(SHOWN, RunOptions, SettingsOptions)
def plan(system: Path | str, **options: Unpack[RunOptions]) -> Plan:
    """Plan a run to its last call, without loading a binary.

    The arguments are those of `simulate`; so are the errors.

    Examples
    --------
    >>> ssptool.plan("systems/dual_mass_oscillator", master="jacobi").choices
    """
    with opened_plan(plan, system, options, keep=True) as opened:
        return opened.plan


@public
@shows(SHOWN, RunOptions, SettingsOptions)
def simulate(
    system: Path | str,
    *,
    output: Path | str | None = None,
    record: str | list[str] | tuple[str, ...] = (),
    every: int = 1,
    output_step: float | str | None = None,
    units: Mapping[str, str] | Literal["display"] = NO_UNITS,
    keep: bool = True,
    isolated: bool | None = None,
    timeout: float | str | None = None,
    step_timeout: float | str | None = None,
    memory_limit: float | None = None,
    sandbox: Boxing | None = None,
    realtime: float | None = None,
    statistics: bool = False,
    accuracy: AccuracyWord | float | None = None,
    save: Path | str | None = None,
    saved: Path | str | None = None,
    progress: Callable[[float], None] | None = None,
    go_on: Callable[[], None] | None = None,
    compile: bool = False,
    env: str | list[str] | tuple[str, ...] = (),
    **options: Unpack[RunOptions],
) -> Result:
    """Initialize and co-simulate a system.

    The FMUs run in the process of the program: a crash of an FMU ends the program. With `isolated=True`, or a limit,
    they run in a child process, as in `ssptool run`.

    The system stays open for later calls in this process. ssptool reads it again if one of its files has changed.

    Parameters
    ----------
    system
        An `.ssp` file, the folder of an unpacked one, or an `.ssd` file.
    start_time, stop_time, step_size, master, tolerance, ...
        The fields of `Settings`, each as a keyword; `help(ssptool.Settings)` describes them. Times are seconds, or
        strings with a unit ("10ms", "2min"); words are strings ("jacobi").
    settings
        The same fields as a `Settings` object or a mapping. Keywords override them.
    variant
        Name or file of the SSD to run (default: SystemStructure.ssd).
    parameters
        Apply these `.ssv` files over the parameter sets of the system; the last file wins.
    start_values
        Values of parameters and start values by full name, in the unit of the variable. They override all other
        values. Numbers (also of numpy), Booleans, strings or bytes; lists or arrays for array variables.
    inputs
        Drive unconnected inputs: the path of a CSV file, a frame of pandas or polars, a numpy array with fields, or a
        mapping of full names to constants, functions of time, `Table` or `Function`. `Inputs` adds an interpolation. A
        list combines several of these.
    interpolation
        Interpolate between the rows of `inputs`: "linear" or "hold"; or a mapping of full names to one of them.
    scenario
        Override, bias or reset variables at given times: a file as in libcosim, or a `Scenario`.
    accept
        Codes of rules, or beginnings of codes: run the system in spite of their findings. `ssptool rule` states the
        effect, and the manifest lists them. Errors of rules that the settings file ignores are also accepted.
    allow_outside, settings_file
        Folders outside of the system in which it may read files, and another settings file (False: none), as in
        `validate`.
    output
        Write the trace to this file while the run advances: .csv, .parquet, .mat, .h5 or .mf4.
    record
        Record only signals that match one of these patterns of full names, such as "*.x1" (default: inputs and
        outputs).
    every, output_step
        Record only each n-th row, or only rows at this distance in time [s]; both sides of events in any case.
    units
        Units of recorded signals by patterns of full names, `{"*.w": "rpm"}`, in the file and in the result;
        "display": the display units that the FMUs define.
    keep
        Keep the trace in memory, for `Result.trace`.
    isolated
        Run the FMUs in a child process. If it crashes, hangs or exceeds a limit, the result names the FMU. The default
        is a child process only if there is a limit.
    timeout, step_timeout, memory_limit
        Limits of the child process: wall time of the run and of one macro step [s], and memory [MiB].
    sandbox
        Run the FMUs in a child process without network, which reads only its FMUs and the folders of the operating
        system, and writes only to a temporary folder and the logs of the run. Linux only. "best": as much of this as
        the system can close; `ssptool.doctor()` lists what is missing. The default is SSPTOOL_SANDBOX in the
        environment, then `sandbox` of ssptool.toml, then False.
    realtime
        Simulated seconds per second of wall time (default: as fast as possible).
    statistics
        Count and time all calls of FMUs, for `Result.statistics`.
    accuracy
        Estimate the error of the result by further runs with half and a quarter of the macro step, for
        `Result.accuracy`; with a smaller tolerance for adaptive steps, and if model exchange integrates all FMUs.
        "check": always. "auto": only if the run took less than two seconds, and only for the first run of a system
        with the same settings in this process. "off": never. A number such as 1e-3: choose the step or the tolerance
        for this error, relative to the range of each signal; `result.accuracy.met` is True if it was reached. The
        default is `accuracy` of ssptool.toml, then the environment variable SSPTOOL_ACCURACY, then "auto".
    save
        Write the state at the stop time to this file, from which another run can continue (`saved`), or a `Simulation`.
        Not if the run ends early.
    saved
        Continue from this file of `save` or `Simulation.save`, until a later stop time. System, start values, inputs
        and settings must be the same; the accuracy is not estimated. The results have the same bits as those of one
        run; an integrator of model exchange restarts at the saved state.
    progress
        Called with the finished fraction 0 … 1 of the interval; again from 0 if smaller steps replace a default step
        (`accuracy`).
    go_on
        Called every few milliseconds, also during calls of FMUs. An exception that it raises ends the run. The FMUs
        run in a child process.
    compile
        Compile FMUs that have C or C++ sources but no library for this platform, with the compiler of this machine
        (or CC and CXX). Libraries are cached in the folder of the user (or SSPTOOL_CACHE); the FMUs do not change.
    env
        Names of further environment variables for the processes of FMUs (docs/untrusted_fmus.md).

    Returns
    -------
    Result
        `result["System1.x1"]` is a signal, `result.t` the times [s]; `result.ok` is True if the run reached its end.

    Raises
    ------
    InvalidSystem
        The system has errors that are not accepted. No binary has been loaded.
    UnknownName, WrongValue
        A code in `accept` matches no rule, or a rule that cannot be accepted.
    BadData
        Inputs or scenario are not valid; the message lists all errors.
    MissingBinary
        An FMU has no library for this platform.
    UnusableFmu
        The sources of an FMU cannot be compiled.
    WrongUsage
        A variable in `env` is not set.
    NoSandbox
        This system does not support a sandbox.
    ContradictingSettings
        Two settings contradict each other.
    NotSavable
        An FMU cannot save its state, for `save`.
    UnusableFile
        The file of `saved` is damaged, or belongs to another system or to other settings.
    WrongArgument, WrongType
        An argument is not valid; the message contains its name, the value and the allowed values.

    Examples
    --------
    >>> result = ssptool.simulate("systems/dual_mass_oscillator", stop_time=1, start_values={"System1.m1": 2.0})
    >>> result["System1.x1"][-1]
    """
    recording = _recording(output, keep, record, every, output_step, units)
    setting = switches_of(system, settings_file=options.get("settings_file", True)).sandbox
    limits = replace(
        limits_of(timeout, step_timeout, memory_limit, sandbox, setting),
        go_on=_callable("go_on", go_on, "a function without arguments"),
    )
    apart = None if isolated is None else flag("isolated", isolated)
    limited = limits_of_child(limits, apart)
    asked = None if accuracy is None else accuracy_of("accuracy", accuracy)
    begin = None if saved is None else path("saved", saved)
    with opened_plan(simulate, system, options, keep=True) as opened:
        wanted = accuracy_by_default(opened.accuracy) if asked is None else asked
        made, sources, replan = opened.built(flag("compile", compile))
        state, inputs = None, opened.inputs()
        if begin is not None:
            wanted = _unchecked(wanted)
            made, state = continued(absolute(begin), made, replan, recording.signals)
            inputs = (*inputs, Input(str(begin), absolute(begin)))
        checks = _Checks(wanted, opened.identity(absolute(path("system", system)), inputs, recording.signals))
        job = Job(
            made,
            sources,
            measured=flag("statistics", statistics),
            realtime=None if realtime is None else number("realtime", realtime),
            saved=state,
            save=None if save is None else path("save", save),
            repeats=apart is not False,
        )
        arguments = opened.arguments.beside(
            record=recording.signals,
            every=every,
            output_step=recording.output_step,
            units=recording.units,
            compile=compile,
            saved=None if begin is None else str(absolute(begin)),
        )
        one = Run(
            job,
            recording,
            limited,
            progress=_callable("progress", progress),
            provenance=Provenance(inputs, arguments),
            check=checks.next(replan),
            kept=opened.earlier if state is None else None,
        )
        with passing(texts("env", env, "the name of an environment variable")):
            result = one.result()
        checks.keep(result)
        return result


def _unchecked(wanted: WantedAccuracy) -> AccuracyName:
    """No check of the accuracy, unless one is asked for. Raises ContradictingSettings."""
    if wanted not in (AccuracyName.OFF, AccuracyName.AUTO):
        raise ContradictingSettings(
            f"accuracy {wanted} of a run from a saved state",
            "it is estimated by runs with smaller steps, which cannot begin there",
            "use --accuracy off, and check the accuracy of a run from the start",
        )
    return AccuracyName.OFF


def _recording(
    output: Path | str | None,
    keep: bool,
    record: str | list[str] | tuple[str, ...],
    every: int,
    output_step: float | str | None,
    units: Mapping[str, str] | Literal["display"],
) -> Recording:
    """Raises WrongArgument."""
    return Recording(
        None if output is None else path("output", output),
        flag("keep", keep),
        texts("record", record, "a pattern such as '*.x1'"),
        count("every", every),
        None if output_step is None else seconds("output_step", output_step),
        "display" if units == "display" else dict(mapping("units", units, UNITS)),
    )


class _OpenedPlan(NamedTuple):
    """An open system, the plan of its run, the arguments that it was made with, the documents of its SSD, the files of
    parameters, a function that makes the plan with other settings, what is kept between calls, the accuracy that the
    settings file of the caller asks for, and the sandbox of FMUs that are called from this process.
    """

    archive: Archive
    plan: Plan
    arguments: Arguments
    documents: tuple[str, ...]
    parameters: tuple[Path, ...]
    replan: Callable[..., Plan]
    kept: KeptPlan
    accuracy: WantedAccuracy | None
    sandbox: Boxing
    earlier: EarlierRuns | None

    def box(self) -> Boxing:
        """The sandbox of FMUs that are called from this process.

        Raises
        ------
        NoSandbox
        ContradictingSettings
            FMUs cannot have a process of their own here.
        """
        check_sandbox(self.sandbox)
        if self.sandbox and not AVAILABLE:
            raise ContradictingSettings(
                f"sandbox = {self.sandbox}", MISSING, "use sandbox=False (--no-sandbox) if you trust the FMUs"
            )
        return self.sandbox

    def built(self, compiled: bool) -> tuple[Plan, Sources, Callable[..., Plan]]:
        """The plan, the sources of its FMUs, and what makes it with other settings; `compiled`: of FMUs without a
        library their C sources are compiled.
        """
        if not compiled:
            return self.plan, self.archive, self.replan

        def replan(settings: Settings) -> Plan:
            return with_libraries(self.replan(settings=settings), self.archive)[0]

        return (*with_libraries(self.plan, self.archive), replan)

    def inputs(self) -> tuple[Input, ...]:
        """Every file that the run uses: documents, FMUs and tables of the system, and those that were given.

        An unpacked FMU is all its files, a nested package is one file.
        """
        if self.kept.inputs is None:
            self.kept.inputs = tuple(self._inputs())
        return self.kept.inputs

    def _inputs(self) -> Iterator[Input]:
        plan = self.plan
        fmus = (one.source for one in plan.instances if one.source not in OWN_FMUS)
        sources = [*fmus, *(one.source for one in plan.network.tables.values())]
        for name in dict.fromkeys(one.partition(NESTING_MARK)[0] for one in (*self.documents, *sources)):
            path = self.archive.local_path(name)
            files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else (path,)
            for file in files:
                inside = normpath(f"{name}/{file.relative_to(path).as_posix()}")
                yield Input(str(file) if name.startswith(UP) else inside, file)
        yield from (Input(str(file), absolute(file)) for file in (*self.parameters, *plan.stimuli.files))

    def identity(self, system: Path, inputs: Sequence[Input], signals: Sequence[str]) -> Hashable:
        """All that the accuracy of a run depends on: the system and its files, the settings, and recorded signals.

        Values of parameters and start values are not part of it.
        """
        values = {absolute(one) for one in self.parameters}
        packed = system.is_file() and system.suffix.lower() != ".ssd"
        files = [system] if packed else [one.path for one in inputs if one.path not in values]
        states = ((str(one), one.stat().st_mtime_ns, one.stat().st_size) for one in files)
        return (str(system), self.documents, repr(self.plan.settings), *signals, *states)


@contextmanager
def opened_plan(
    function: Callable[..., Any], system: Path | str, options: Mapping[str, Any], *, keep: bool = False
) -> Iterator[_OpenedPlan]:
    """An open system, and the plan of its run with all that a caller gave to a public function.

    With `keep` both are those of an earlier call, if nothing has changed.
    """
    options = present_names(options)
    refuse_unknown(function, options, list(SettingsOptions.__annotations__))
    given = {**DEFAULTS, **options}
    keywords = {name: value for name, value in options.items() if name in SettingsOptions.__annotations__}
    settings = Settings.of(given["settings"], keywords)
    files = parameter_files(given["parameters"])
    values = start_value_texts("start_values", given["start_values"])
    judged_by = given["allow_outside"], given["settings_file"]
    with valid(system, given["variant"], given["accept"], *judged_by, keep=keep) as checked:
        archive, structure, accepted, switches, documents, opened = checked
        replan = partial(
            planned,
            archive,
            structure,
            parameters=files,
            start_values=values,
            inputs=given["inputs"],
            interpolation=given["interpolation"],
            scenario=given["scenario"],
            accepted=accepted,
        )
        driven = any(given[name] is not None for name in ("inputs", "interpolation", "scenario"))
        key = partial(_plan_key, settings, files, values, accepted, driven)
        made = opened.plan(key, lambda: replan(settings=settings))
        known = {name: given[name] for name in SystemOptions.__annotations__}
        known |= {"system": path("system", system), "parameters": files, "start_values": values}
        known |= {name: _as_paths(given[name]) for name in ("inputs", "scenario")}
        # What the settings file accepts and allows stands here, so that the run can be repeated without that file.
        codes = (*texts("accept", given["accept"], "a code of a rule"), *(one.code for one in accepted.findings))
        known |= {"accept": list(dict.fromkeys(codes)), "allow_outside": list(switches.outside), "settings_file": False}
        arguments = Arguments.of(known)
        yield _OpenedPlan(
            *(archive, made.plan, arguments, documents, files, replan, made),
            *(switches.accuracy, wanted_sandbox(boxing(given["sandbox"]), switches.sandbox), opened.earlier),
        )


def _plan_key(
    settings: Settings, files: Sequence[Path], values: Mapping[str, str], accepted: Acceptance, driven: bool
) -> Hashable:
    """All that a plan depends on, beside its system; None where it is `driven` by what may change unseen."""
    if driven:
        return None
    contents = tuple((str(file), read_bytes(absolute(file))) for file in files)
    return repr(settings), contents, tuple(values.items()), accepted


def _as_paths(given: object) -> object:
    """Texts, alone or in a list, are paths; anything else is what it is."""
    if isinstance(given, list | tuple):
        return [_as_paths(one) for one in given]
    return Path(given) if isinstance(given, str) else given


def limits_of(
    timeout: object, step_timeout: object, memory_limit: object, sandbox: object, setting: Boxing | None
) -> Limits:
    """Limits of a child process, from times [s] and memory [MiB] as a caller states them. Raises NoSandbox."""
    asked = wanted_sandbox(boxing(sandbox), setting)
    check_sandbox(asked)  # before anything foreign is compiled
    return Limits(
        None if timeout is None else seconds("timeout", timeout),
        None if step_timeout is None else seconds("step_timeout", step_timeout),
        None if memory_limit is None else int(number("memory_limit", memory_limit) * MIB),
        asked,
    )


def limits_of_child(limits: Limits, isolated: bool | None) -> Limits | None:
    """Limits of the child process that calls the FMUs; None: this process calls them, the default without a limit.

    Raises ContradictingSettings.
    """
    limited = limits != Limits()
    if limited and isolated is False:
        raise ContradictingSettings(
            "limits or a sandbox without isolation",
            "they need a child process for the FMUs",
            "leave out isolated=False, or the limits",
        )
    return limits if limited or isolated else None


class _Checks(NamedTuple):
    """The check of a run, and those of earlier runs in this process.

    Unless checks are asked for, one suffices for all runs with the same `identity`.
    """

    wanted: WantedAccuracy
    identity: Hashable

    def next(self, replan: Callable[..., Plan]) -> AccuracyCheck:
        """The check of the next run."""
        if isinstance(self.wanted, float):
            return AccuracyCheck(replan, asked=True, wanted=self.wanted)
        if self.wanted is AccuracyName.AUTO:
            return AccuracyCheck(replan, **_CHECKED.get(self.identity, {}))
        checked = self.wanted is AccuracyName.CHECK
        return AccuracyCheck(replan, asked=checked, only_growth=not checked)

    def keep(self, result: Result) -> None:
        """Keep what was found for later runs."""
        if result.accuracy.method is not AccuracyMethod.NOT_CHECKED:
            _CHECKED[self.identity] = {"earlier": result.accuracy, "refined": _refined(result)}


def _refined(result: Result) -> Refined | None:
    """The step or the error of adaptive steps that a run had instead of the default step."""
    if not result.accuracy.default:
        return None
    setting = "step_size" if result.settings.adaptive is None else "adaptive"
    return Refined(setting, getattr(result.settings, setting), result.accuracy.default)


_CHECKED: dict[Hashable, dict[str, Any]] = {}
"""Arguments of `AccuracyCheck` from the last run that was checked in this process, by what they depend on."""


Function = TypeVar("Function", bound=Callable[..., None])


def _callable(
    name: str, value: Function | None, expected: str = "a function that takes the fraction 0 … 1 that is done"
) -> Function | None:
    if value is not None and not callable(value):
        raise WrongArgument(name, value, expected)
    return value
