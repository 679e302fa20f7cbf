"""Validate systems, and open systems for the other functions.

`valid` opens a system, and raises `InvalidSystem` if it has errors that the caller does not accept. The package `rules`
contains the checks.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ForwardRef, NamedTuple, Self, TypeAlias, TypedDict, TypeVar, Unpack

from ssptool.api.kept_systems import OpenedSystem, opened_system
from ssptool.arguments import WrongArgument as WrongArgument
from ssptool.arguments import flag, paths, text, texts, unknown_argument
from ssptool.arguments import path as system_path
from ssptool.documents.archive import LONE_SUFFIXES, Archive
from ssptool.documents.diagnostics import Diagnostic
from ssptool.documents.document import Document
from ssptool.documents.foreign_files import require_file
from ssptool.errors import UnknownName
from ssptool.option_words import InterpolationWord
from ssptool.public_calls import public
from ssptool.rules.renderers import PLAIN_RENDERERS as PLAIN_REPORT_RENDERERS
from ssptool.rules.renderers import RENDERERS as REPORT_RENDERERS
from ssptool.rules.report import Report, joined
from ssptool.rules.report import summary as report_summary
from ssptool.rules.runner import check_path, found_in
from ssptool.rules.selection import (
    Acceptance,
    InvalidSettings,
    RuleChoice,
    SettingsFile,
    Switches,
    acceptable,
    caller_switches,
    judge,
    unused_acceptance,
)
from ssptool.working_directory import absolute

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ssptool.engine.stimuli.inputs import InputData
    from ssptool.engine.stimuli.scenario import Scenario

Files: TypeAlias = Path | str | Sequence[Path | str]
"""One path, or several."""

Codes: TypeAlias = str | Sequence[str]
"""One code of a rule, or several."""

StartValues: TypeAlias = "Mapping[str, ArrayLike]"
"""Full name → a number, Boolean, string, bytes, or a list or array of these."""

NO_START_VALUES: StartValues = {}


class SystemOptions(TypedDict, total=False):
    """Keywords of functions that accept a system, its values, inputs and scenario; see `simulate`."""

    variant: str | None
    parameters: Files
    start_values: StartValues
    inputs: "InputData | None"
    interpolation: InterpolationWord | Mapping[str, InterpolationWord] | None
    scenario: "Scenario | Path | str | None"
    allow_outside: Files
    settings_file: SettingsFile


class ValidateOptions(TypedDict, total=False):
    """Keywords of `validate` and `fix`; see `validate`."""

    variant: str | None
    select: Codes
    ignore: Codes
    strict: bool | None
    tools: str | Sequence[str]
    allow_outside: Files
    settings_file: SettingsFile


DEFAULTS: Mapping[str, Any] = {
    **dict.fromkeys((*SystemOptions.__annotations__, *ValidateOptions.__annotations__)),
    **dict.fromkeys(("parameters", "accept", "select", "ignore", "tools", "allow_outside"), ()),
    "start_values": NO_START_VALUES,
    "settings": None,
    "settings_file": True,
    "sandbox": None,
}
"""Defaults of keywords that several functions share."""

Done = TypeVar("Done")
Public = TypeVar("Public", bound=Callable[..., Any])


def shows(names: Iterable[str], options: Any, rest: Any = None) -> Callable[[Public], Public]:
    """Decorator of a function with `**options: Unpack[options]`: `help` and notebooks show the named keywords with
    their types and defaults, before the function's own keywords. Type checkers read the annotation.

    Keywords of `rest`, another typed dictionary, stay together.
    """
    annotations = options.__annotations__
    keywords = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=DEFAULTS[name], annotation=_shown(annotations[name]))
        for name in names
    ]

    def decorated(function: Public) -> Public:
        signature = inspect.signature(function)
        *own, last = signature.parameters.values()
        first = [one for one in own if one.kind is not Parameter.KEYWORD_ONLY]
        others = [] if rest is None else [last.replace(annotation=f"Unpack[{rest.__name__}]")]
        parameters = [*first, *keywords, *own[len(first) :], *others]
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return decorated


def _shown(annotation: Any) -> Any:
    return annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else annotation


def refuse_unknown(function: Callable[..., Any], options: Iterable[str], settings: Sequence[str] = ()) -> None:
    """
    Raises
    ------
    WrongType
        A keyword is neither an argument of a function that `shows` its keywords nor one of the settings.
    """
    own = [name for name in inspect.signature(function).parameters if name != "options"]
    for name in options:
        if name not in own and name not in settings:
            raise unknown_argument(function.__name__, name, [*own, *settings])


class ValidSystem(NamedTuple):
    """An open archive, a structure in it, the accepted findings, the selections of the caller, the names of the
    documents of the structure, and the data that are kept between calls.
    """

    archive: Archive
    structure: Document
    accepted: Acceptance
    switches: Switches
    documents: tuple[str, ...]
    opened: OpenedSystem


class InvalidSystem(Exception):
    """The system has errors and is not run; `report` lists them, and `accept` the codes that would let it run."""

    def __init__(self, report: Report, refused: Sequence[Diagnostic] | None = None, advice: str = "") -> None:
        errors = report.errors if refused is None else tuple(refused)
        self.report = replace(report, diagnostics=errors)
        self.accept = tuple(dict.fromkeys(one.code for one in errors)) if all(map(acceptable, errors)) else ()
        self._advice = advice
        super().__init__(self.rendered())

    def rendered(self, width: int | None = None) -> str:
        """Lines of the message, with foreign text escaped, wrapped as by `render_text`."""
        from ssptool.rules.report_text import render_text

        count = len(self.report.diagnostics)
        what = f"{count} errors" if count > 1 else "an error"
        # Warnings and fixes are what `ssptool validate` is for.
        told = render_text(replace(self.report, fixable={}), colour=False, width=width)
        accept = f"To run it all the same: --accept {','.join(self.accept)}" if self.accept else ""
        head = f"{self.report.subject} has {what} and cannot be run"
        return "\n\n".join(filter(None, [head, told, accept, self._advice]))


def open_archive(path: Path | str, allow_outside: Files = (), settings_file: SettingsFile = True) -> Archive:
    """Open an archive for reading, without parts that are not readable as SSP.

    The archive may read outside files in these folders, and in folders that the settings of the caller allow.
    """
    outside = switches_of(path, allow_outside, settings_file).outside
    return Archive.open(path, outside=outside, inside=True, partial=True, reading=True)


def switches_of(
    system: Path | str, allow_outside: Files = (), settings_file: SettingsFile = True, **own: Any
) -> Switches:
    """Selections of the caller and of the settings file."""
    choice = RuleChoice(**own, allow_outside=paths("allow_outside", allow_outside))
    if not isinstance(settings_file, bool):
        settings_file = system_path("settings_file", settings_file)
    return caller_switches(system_path("system", system), settings_file, choice)


@contextmanager
def valid(
    path: Path | str,
    variant: str | None,
    accept: Codes = (),
    allow_outside: Files = (),
    settings_file: SettingsFile = True,
    *,
    keep: bool = False,
) -> Iterator[ValidSystem]:
    """Open an archive and a structure in it whose errors are all accepted.

    Errors of rules that the settings file of the caller ignores by name are also accepted. With `keep`, the system
    stays open for later calls, and must not be edited.

    Raises
    ------
    InvalidSystem
        The system has errors that are not accepted.
    UnknownName, WrongValue
        A code in `accept` matches no rule, or a rule whose errors cannot be accepted.
    """
    switches = switches_of(path, allow_outside, settings_file)
    codes = texts("accept", accept, "a code of a rule")
    with opened_system(path, variant, switches.outside, keep=keep) as opened:
        archive, structure, report = opened.archive, opened.structure, opened.report
        refused, accepted = judge(report, codes, switches)
        if refused:
            raise InvalidSystem(report, refused, unused_acceptance(report, refused, codes, switches))
        documents = (archive.default,) if archive.is_generated else report.files
        yield ValidSystem(archive, structure, accepted, switches, documents, opened)


def parameter_files(given: Files) -> tuple[Path, ...]:
    """Paths of the `.ssv` files that the caller gives as one path or several.

    Raises
    ------
    WrongArgument
        The argument has values instead of paths.
    FileNotFoundError
        A file does not exist.
    """
    if isinstance(given, Mapping):
        raise WrongArgument("parameters", given, "files of type .ssv; values are given as start_values={name: value}")
    found = paths("parameters", given)
    for path in found:
        if not path.is_file():
            require_file(path)
            raise FileNotFoundError(f"{path} does not exist; parameters are files of type .ssv")
    return found


__all__ = [
    "PLAIN_REPORT_RENDERERS",
    "REPORT_RENDERERS",
    "InvalidSettings",
    "Report",
    "UnknownName",
    "report_summary",
    "validate",
]


def validate_scope(
    system: Path | str,
    variant: str | None = None,
    select: Codes = (),
    ignore: Codes = (),
    strict: bool | None = None,
    tools: str | Sequence[str] = (),
    allow_outside: Files = (),
    settings_file: SettingsFile = True,
) -> tuple[str | None, Switches]:
    """Variant to check (None: all), and the selections of the caller: from `ValidateOptions` and the settings file."""
    if variant is not None:
        text("variant", variant)
    codes = "a code of a rule, such as 'FMU-102',"
    switches = switches_of(
        system,
        allow_outside,
        settings_file,
        select=texts("select", select, codes),
        ignore=texts("ignore", ignore, codes),
        strict=None if strict is None else flag("strict", strict),
        tools=texts("tools", tools, "the name of a tool, such as 'fmpy',"),
    )
    return variant, switches


@public
@shows(ValidateOptions.__annotations__, ValidateOptions)
def validate(system: Files, **options: Unpack[ValidateOptions]) -> Report:
    """Check systems and documents: all errors and warnings, with file, line, reason and fix. No FMU is loaded.

    Without `variant`, all SSDs at the root of the package are checked. A file that cannot be opened is also a finding.
    An `.ssv`, `.ssm` or `.ssb` is checked by its schema, and by the rules that need no system.

    For a list, or a folder that contains systems, there is one report, with paths relative to the working folder. A
    parameter set, mapping or dictionary of one of these systems is checked only together with its system.

    Defaults of `select`, `ignore`, `strict` and `tools` come from the settings file: the nearest `ssptool.toml`, or
    `[tool.ssptool]` in `pyproject.toml`, in the working folder or above. Settings files of the system are not used.

    Parameters
    ----------
    select, ignore
        Apply only, or all except, rules with these codes or beginnings of codes; the longest match decides. Findings
        of rules that the standard requires are always counted, as `withheld` in the report. If `select` excludes
        errors of these rules, they are `unaccepted`, and the report is not `ok`.
    strict
        Treat warnings as errors.
    tools
        Also report constructs that these tools cannot read: omsimulator, fmpy, libcosim or ecos
        (docs/interoperability.md).
    allow_outside
        Folders outside of the system in which it may read files. An unpacked folder or an .ssd may also read files in
        the working folder, and in the repository that contains it. Files in /proc, /sys and /dev are never read.
    settings_file
        Use this settings file; False: none.

    Raises
    ------
    UnknownName
        A code matches no rule, or a tool is unknown.
    InvalidSettings
        The settings file has an unknown key or a wrong value.
    """
    refuse_unknown(validate, options)
    subjects = Subjects.of(system)
    reports = list(subjects.each(lambda path: _checked(path, options), lambda report: report))
    return reports[0] if subjects.alone else joined(reports)


class Subjects(NamedTuple):
    """Systems and documents at one path or several; `alone`: the only one, if the caller named it directly."""

    found: tuple[Path, ...]
    alone: bool

    @classmethod
    def of(cls, system: Files) -> Self:
        given = paths("system", system)
        found = tuple(dict.fromkeys(each for path in given for each in found_in(path)))
        return cls(found, isinstance(system, Path | str) and found == tuple(given))

    def each(self, do: Callable[[Path], Done], report: Callable[[Done], Report]) -> Iterator[Done]:
        """Results of `do` for each subject. Documents come last, except those that the report of a system covers."""
        covered: set[Path] = set()
        for path in sorted(self.found, key=lambda path: path.suffix.lower() in LONE_SUFFIXES):
            if absolute(path).resolve() not in covered:
                done = do(path)
                yield done
                judged = report(done)
                covered |= {absolute(Path(judged.on_disk(file))).resolve() for file in judged.files}


def _checked(system: Path, options: ValidateOptions) -> Report:
    variant, switches = validate_scope(system, **options)
    return check_path(system, variant, switches=switches, outside=switches.outside)
