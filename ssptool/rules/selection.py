"""Selection of rules by options and settings files, and accepted errors."""

import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ssptool.arguments import ACCURACIES, WantedAccuracy, WrongArgument, accuracy_of, boxing
from ssptool.confinement import is_outside
from ssptool.documents.archive import DEFAULT_STRUCTURE
from ssptool.documents.diagnostics import Diagnostic, Position, Severity
from ssptool.documents.foreign_files import read_bytes, require_file
from ssptool.documents.vocabulary import SETTINGS_FILE
from ssptool.errors import UnknownName, WrongValue, abbreviated, counted
from ssptool.foreign_text import TOO_DEEP, too_deep
from ssptool.network.network import UnsupportedFeature
from ssptool.option_words import Boxing
from ssptool.rules.catalogue import RULES, TOOLS, near, unknown_rule
from ssptool.rules.chapters import CHAPTERS as CHAPTERS
from ssptool.rules.report import Report
from ssptool.working_directory import absolute, shown


class Shown(StrEnum):
    """The treatment of a rule's findings."""

    LISTED = "listed"
    WITHHELD = "hidden, but counted: the rule rests on the words of the standard"
    DROPPED = "switched off"


@dataclass(frozen=True, slots=True)
class RuleChoice:
    """Selection by one source: a settings file or a command line. `select` and `ignore` are codes or starts of codes.

    The longest match counts; `ignore` overrides an equal `select`. With a selection, all other rules are off. `tools`
    are names in `TOOLS` whose limits are checked, `allow_outside` folders in which a zip may read files outside it,
    `accuracy` the default accuracy check of runs, `sandbox` their default sandbox, `file` the settings file.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    strict: bool | None = None
    tools: tuple[str, ...] = ()
    allow_outside: tuple[Path, ...] = ()
    accuracy: WantedAccuracy | None = None
    sandbox: Boxing | None = None
    file: Path | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for tool in self.tools:
            if tool not in TOOLS:
                raise UnknownName(f"no limits are known for the tool {tool!r}", tool, TOOLS)
        for prefix in (*self.select, *self.ignore):
            if not prefix or not any(code.startswith(prefix) for code in RULES):
                raise unknown_rule(prefix)

    def wants(self, code: str) -> bool | None:
        """True if the findings of a rule are selected; None if neither list matches it."""
        selected, ignored = _longest(self.select, code), _longest(self.ignore, code)
        if selected or ignored:
            return selected > ignored
        return False if self.select and not is_limit(code) else None

    def ignores(self, code: str) -> bool:
        """True if `ignore` matches a rule; false if `select` merely leaves it out."""
        return self.wants(code) is False and _longest(self.ignore, code) > 0


class Judged(NamedTuple):
    """Diagnostics after selection.

    `listed` are shown. `withheld` are only counted; they are findings of rules based on the text of the standard.
    `unaccepted` are the errors among these that are not ignored, but left out by `select`.
    """

    listed: tuple[Diagnostic, ...]
    withheld: tuple[Diagnostic, ...]
    unaccepted: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Switches:
    """Selections of a caller in order of precedence: the command line, then a settings file.

    `unused` is a settings file next to or above the checked files. It is not the caller's, so it has no effect.
    """

    choices: tuple[RuleChoice, ...] = ()
    unused: RuleChoice | None = None

    @property
    def strict(self) -> bool:
        return next((choice.strict for choice in self.choices if choice.strict is not None), False)

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools of the first selection that lists any."""
        return next((choice.tools for choice in self.choices if choice.tools), ())

    @property
    def outside(self) -> tuple[Path, ...]:
        """Folders outside of a zip whose files it may read."""
        return tuple(folder for choice in self.choices for folder in choice.allow_outside)

    @property
    def accuracy(self) -> WantedAccuracy | None:
        """Accuracy check of runs in the first selection that states one; None if none does."""
        return next((choice.accuracy for choice in self.choices if choice.accuracy is not None), None)

    @property
    def sandbox(self) -> Boxing | None:
        """The sandbox of runs, as the first selection states it; None if none does."""
        return next((choice.sandbox for choice in self.choices if choice.sandbox is not None), None)

    @property
    def with_unused(self) -> "Switches":
        """Switches as they would be if `unused` were the settings file of the caller."""
        own = tuple(choice for choice in self.choices if choice.file is None)
        return Switches(own if self.unused is None else (*own, self.unused))

    def ignores(self, code: str) -> bool:
        """True if the first selection that concerns a rule ignores it by name, so that its findings are accepted."""
        deciding = next((choice for choice in self.choices if choice.wants(code) is not None), None)
        return deciding is not None and deciding.ignores(code)

    def shown(self, code: str) -> Shown:
        """Treatment of a code. Findings of rules based on the text of the standard are at least counted; codes without
        a rule are always listed.
        """
        rule = RULES.get(code)
        wanted = next((wants for choice in self.choices if (wants := choice.wants(code)) is not None), True)
        if wanted or rule is None:
            return Shown.LISTED
        return Shown.DROPPED if rule.optional else Shown.WITHHELD

    def apply(self, diagnostics: Iterable[Diagnostic]) -> Judged:
        """Separate diagnostics to list (as errors with `strict`) from those to withhold.

        The last diagnostic describes what the settings in `unused` would change.
        """
        found = tuple(diagnostics)
        judged = self._separated(found)
        changes = () if self.unused is None else tuple(_changes(self, judged, self.with_unused._separated(found)))
        if not changes or self.unused is None:
            return judged
        file = shown(self.unused.file) if self.unused.file else ""
        message = f"{file} comes with the system and is not used; it would {'; '.join(changes)}"
        advice = f"if you trust it, use it with --settings {file}"
        said = Diagnostic(UNUSED_SETTINGS, Severity.INFO, Position(""), message, advice)
        return judged._replace(listed=(*judged.listed, said))

    def _separated(self, diagnostics: Iterable[Diagnostic]) -> Judged:
        listed, withheld, unaccepted = [], [], []
        for diagnostic in diagnostics:
            match self.shown(diagnostic.code):
                case Shown.LISTED:
                    listed.append(_raised(diagnostic) if self.strict else diagnostic)
                case Shown.WITHHELD:
                    withheld.append(diagnostic)
                    if diagnostic.severity is Severity.ERROR and not self.ignores(diagnostic.code):
                        unaccepted.append(diagnostic)
                case Shown.DROPPED:
                    pass
        return Judged(tuple(listed), tuple(withheld), tuple(unaccepted))


UNUSED_SETTINGS = "SETTINGS"
"""Code of the diagnostic on a settings file without effect. It is not a rule, so it cannot be switched off."""


def _changes(used: Switches, now: Judged, other: Judged) -> Iterator[str]:
    """Effects of other settings on findings, tools and folders, as verbs with objects."""
    listed, others = Counter(one.code for one in now.listed), Counter(one.code for one in other.listed)
    for verb, codes in (("hide", listed - others), ("show", others - listed)):
        if codes:
            named = ", ".join(sorted(codes)[:3]) + (", …" if len(codes) > 3 else "")
            yield f"{verb} {counted(codes.total(), 'finding')} ({named})"
    if used.strict != used.with_unused.strict and any(
        one.severity is Severity.WARNING for one in (*now.listed, *other.listed)
    ):
        yield "leave warnings as they are" if used.strict else "raise warnings to errors"
    if tools := [tool for tool in used.with_unused.tools if tool not in used.tools]:
        yield f"check limits of {', '.join(tools)}"
    if folders := [folder for folder in used.with_unused.outside if folder not in used.outside]:
        yield f"let a package read files in {', '.join(str(shown(folder)) for folder in folders)}"


EVERYTHING = Switches()
NO_CHOICE = RuleChoice()


def is_limit(code: str) -> bool:
    """True if a rule is a limit of other tools, which only `tools` switches on."""
    rule = RULES.get(code)
    return rule is not None and bool(rule.tools)


def _longest(prefixes: tuple[str, ...], code: str) -> int:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=0)


def _raised(diagnostic: Diagnostic) -> Diagnostic:
    return replace(diagnostic, severity=Severity.ERROR) if diagnostic.severity is Severity.WARNING else diagnostic


OWN_FILE, PROJECT_FILE = SETTINGS_FILE, "pyproject.toml"
KEYS = ("select", "ignore", "strict", "for", "allow-outside", "accuracy", "sandbox")
_EXAMPLES = {"for": ("tools", "fmpy"), "allow-outside": ("folders", "../fmus")}


class InvalidSettings(Exception):
    """An invalid entry of a settings file: `path`, `line` (0: the file as a whole), message and advice."""

    def __init__(self, path: Path, line: int, message: str, advice: str = "") -> None:
        place = f"{path}:{line}" if line else f"{path}"
        super().__init__(f"{place}: {message}" + (f" ({advice})" if advice else ""))
        self.path, self.line, self.message, self.advice = path, line, message, advice


SettingsFile: TypeAlias = Path | str | bool
"""A settings file; True: the nearest one from the working directory upwards; False: none."""


def caller_switches(subject: Path, settings_file: SettingsFile = True, own: RuleChoice = NO_CHOICE) -> Switches:
    """The selections of a caller: its `own`, then those of its settings file.

    The settings file is the nearest one from the working directory upwards that is not in the folder of the subject
    itself. A file nearer to the subject becomes `unused`.

    Raises
    ------
    InvalidSettings
        The settings file does not exist, is not TOML, or has an unknown key, a value of the wrong type, or an unknown
        code.
    """
    here, home = _real(Path()), _real(subject)
    folder = home if home.is_dir() else home.parent
    inside = folder if home.is_dir() or home.name == DEFAULT_STRUCTURE else None
    of_caller = None
    if not isinstance(settings_file, bool):
        of_caller = _named(absolute(Path(settings_file)))
    elif settings_file:
        of_caller = _nearest(here, inside)
    unused = None
    with suppress(InvalidSettings):  # an unreadable file would change nothing
        unused = _nearest(folder)
    if unused is not None:
        with suppress(InvalidSettings):  # with --settings or --no-settings, callers know which file is not used
            known = [choice.file for choice in (of_caller, _nearest(here, inside)) if choice is not None]
            unused = None if unused.file in known else unused
    return Switches((own,) if of_caller is None else (own, of_caller), unused)


def _real(path: Path) -> Path:
    """Absolute path without links and "..", so that its parents are the folders above it."""
    return absolute(path).resolve()


def _nearest(start: Path, left_out: Path | None = None) -> RuleChoice | None:
    """Settings in the nearest file from a folder upwards, except in the folder `left_out` and below it."""
    folders = [start, *start.parents]
    if left_out in folders:
        del folders[: folders.index(left_out) + 1]
    for folder in folders:
        for name in (OWN_FILE, PROJECT_FILE):
            path = os.path.join(folder, name)  # noqa: PTH118 (few are there, and this is asked before each run)
            if not is_outside(path) and os.path.isfile(path) and (choice := _read(Path(path))) is not None:  # noqa: PTH113
                return choice
    return None


def _named(path: Path) -> RuleChoice:
    """Settings in a file that the caller chose."""
    if not path.is_file():
        require_file(path)
        raise InvalidSettings(path, 0, "there is no such file", "--no-settings goes without")
    choice = _read(path)
    if choice is None:
        raise InvalidSettings(path, 1, "there are no settings of ssptool", "write [tool.ssptool]")
    return choice


def _read(path: Path) -> RuleChoice | None:
    """Settings in a file; None if it has none of ssptool."""
    text = read_bytes(path).decode("utf-8-sig", errors="replace")
    if path.name == PROJECT_FILE and "ssptool" not in text:
        return None  # most pyproject.toml files have no settings of ssptool, so their errors do not matter
    return _stated(path, text)


def read_settings_text(path: Path, text: str) -> RuleChoice | None:
    """The settings in the text of a file; None if it has none of ssptool. Raises InvalidSettings."""
    return _stated(path, text)


@lru_cache(maxsize=8)  # opening, validating and running a system read the same file, which takes milliseconds to parse
def _stated(path: Path, text: str) -> RuleChoice | None:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        place = re.search(r"at line (\d+)", str(problem))
        line = int(place[1]) if place else text.count("\n") + 1
        raise InvalidSettings(path, line, f"not valid TOML: {problem}") from None
    except RecursionError:
        raise InvalidSettings(path, 1, TOO_DEEP) from None
    if too_deep(content):
        raise InvalidSettings(path, 1, TOO_DEEP)
    if path.name == PROJECT_FILE or "tool" in content:
        # ssptool.toml may have the header that pyproject.toml needs.
        tool = content.get("tool", {})
        if not isinstance(tool, dict) or "ssptool" not in tool:
            if path.name == PROJECT_FILE:
                return None
            raise InvalidSettings(path, _line(text, "tool"), "there is no setting 'tool'", "write [tool.ssptool]")
        content = tool["ssptool"]
        if not isinstance(content, dict):
            raise InvalidSettings(path, _line(text, "ssptool"), "tool.ssptool is not a table", "write [tool.ssptool]")
    return _choice(path, text, content)


def _choice(path: Path, text: str, content: dict[str, Any]) -> RuleChoice:
    for key, value in content.items():
        line = _line(text, key, ours=True)
        if key not in KEYS:
            raise InvalidSettings(path, line, f"there is no setting {key!r}", near(key, KEYS))
        if key == "strict" and not isinstance(value, bool):
            raise InvalidSettings(path, line, f"strict is {value!r}", "it is true or false")
        if key not in ("strict", "accuracy", "sandbox") and not _is_list_of_texts(value):
            items, example = _EXAMPLES.get(key, ("codes", "SSD-GEO"))
            advice = f'it is a list of {items}, such as {key} = ["{example}"]'
            raise InvalidSettings(path, line, f"{key} is {value!r}", advice)
        try:
            if key == "for":
                RuleChoice(tools=tuple(value))
            elif key in ("select", "ignore"):
                RuleChoice(select=tuple(value))
            elif key == "accuracy":
                content = {**content, key: accuracy_of(key, value)}
            elif key == "sandbox":
                boxing(value)
        except WrongArgument:
            allowed = ACCURACIES if key == "accuracy" else "true, false or 'best'"
            raise InvalidSettings(path, line, f"{key} is {value!r}", f"it is {allowed}") from None
        except UnknownName as problem:
            raise InvalidSettings(path, line, str(problem)) from None
    select, ignore, tools = (tuple(content.get(key, ())) for key in ("select", "ignore", "for"))
    folders = tuple(path.parent / folder for folder in content.get("allow-outside", ()))
    accuracy, sandbox = content.get("accuracy"), content.get("sandbox")
    return RuleChoice(select, ignore, content.get("strict"), tools, folders, accuracy, sandbox, path)


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _line(text: str, key: str, ours: bool = False) -> int:
    """Line number of a key; with `ours` after the header of ssptool's table."""
    lines = text.split("\n")
    headers = (number for number, line in enumerate(lines) if re.match(r"\s*\[tool\.ssptool\]", line))
    first = next(headers, 0) if ours else 0
    stated = re.compile(rf"""\s*(\[+\s*)?(tool\.ssptool\.)?["']?{re.escape(key)}["']?\s*[.=\]]""")
    return next((number for number in range(first, len(lines)) if stated.match(lines[number])), first) + 1


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Accepted errors, and the codes of their rules."""

    findings: tuple[Diagnostic, ...] = ()
    codes: frozenset[str] = frozenset()

    def notes(self, unsupported: Iterable[UnsupportedFeature] = ()) -> Iterator[str]:
        """Sentences, one for each rule, with the number of accepted findings, the first position and the effect.

        For rules on parameters, they list the variables whose values are left out, from the `unsupported` features.
        """
        counts = Counter(finding.code for finding in self.findings)
        left_out = self._left_out(unsupported)
        for code, count in counts.items():
            first = next(finding for finding in self.findings if finding.code == code)
            if names := left_out.get(code):
                left = f"{counted(len(names), 'value')} left out"
                yield f"{left}: {abbreviated(names)} (accepted {code}, first at {first.position})"
                continue
            more = f", {count} findings" if count > 1 else ""
            meaning = " ".join(RULES[code].accepted.split()).rstrip(".")
            yield f"accepted {code} ({first.position}{more}): {meaning or first.message}"

    def _left_out(self, unsupported: Iterable[UnsupportedFeature]) -> Mapping[str, Mapping[str, None]]:
        """Rule on parameters → variables that get no value because of its accepted findings."""
        codes = {finding.position: finding.code for finding in self.findings if finding.code in _VALUES}
        found: dict[str, dict[str, None]] = {}
        for one in unsupported:
            stated = [code for code in one.rules if code in self.codes & _VALUES]
            if stated and one.signal is not None:
                code = codes.get(one.position, stated[0])
                found.setdefault(code if code in stated else stated[0], {})[str(one.signal)] = None
        return found


_VALUES = frozenset({"SSD-PAR-017", "SSD-PAR-018", "SSD-PAR-021", "SSD-PAR-022"})
"""Rules whose accepted findings leave out the value of a parameter."""

NOTHING_ACCEPTED = Acceptance()


def judge(report: Report, accept: Iterable[str], switches: Switches) -> tuple[tuple[Diagnostic, ...], Acceptance]:
    """Separate the errors that prevent a run from accepted ones.

    Parameters
    ----------
    report
        All findings, without any selection.
    accept
        Codes of rules, or starts of codes.
    switches
        Selections of the caller; errors of rules that they ignore by name are accepted.

    Raises
    ------
    UnknownName
        No rule has such a code.
    WrongValue
        The errors of a rule cannot be accepted.
    """
    asked = accepted_codes(accept)
    refused, accepted = [], []
    for finding in report.diagnostics:
        error = finding.severity is Severity.ERROR
        ignored = error and acceptable(finding) and switches.ignores(finding.code)
        if finding.code in asked or ignored:
            accepted.append(finding)
        elif error:
            refused.append(finding)
    return tuple(refused), Acceptance(tuple(accepted), asked | {finding.code for finding in accepted})


def unused_acceptance(report: Report, refused: Iterable[Diagnostic], accept: Iterable[str], switches: Switches) -> str:
    """Text on rejected findings that a settings file accepts which is not the caller's; empty if there are none."""
    if switches.unused is None or switches.unused.file is None:
        return ""
    still, _ = judge(report, accept, switches.with_unused)
    codes = ", ".join(dict.fromkeys(one.code for one in refused if one not in still))
    file = shown(switches.unused.file)
    return f"{file} would accept {codes}; if you trust it, use it with --settings {file}" if codes else ""


def accepted_codes(accept: Iterable[str]) -> frozenset[str]:
    """The codes of rules that match. Raises as `judge`."""
    codes = set[str]()
    for prefix in accept:
        meant = [code for code in RULES if prefix and code.startswith(prefix)]
        if not meant:
            raise unknown_rule(prefix)
        if prefix in RULES and RULES[prefix].blocks_run:
            reason = "a system with this error cannot be run"
            raise WrongValue(f"{prefix} cannot be accepted: {reason}; see `ssptool rule {prefix}`")
        codes.update(code for code in meant if not RULES[code].blocks_run)
    return frozenset(codes)


def acceptable(finding: Diagnostic) -> bool:
    """True if a system with this error can run; false for codes without a rule, because a file is then unreadable."""
    return finding.code in RULES and not RULES[finding.code].blocks_run
