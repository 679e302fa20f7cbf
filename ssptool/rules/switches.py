"""Which findings are shown: rules selected and ignored by code, warnings raised to errors."""

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from ssptool.dataclass import dataclass
from ssptool.documents.diagnostics import Diagnostic, Severity
from ssptool.rules.catalogue import RULES, TOOLS, near
from ssptool.rules.chapters import CHAPTERS as CHAPTERS  # so that the catalogue is complete
from ssptool.wrong_usage import WrongUsage


class UnknownRule(WrongUsage, LookupError):
    """A code, or the beginning of one, that no rule has."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.advice = near(code, RULES) or "`ssptool rule --all` lists the rules"
        super().__init__(f"no rule has the code {code!r} or one that starts with it; {self.advice}")

    def __str__(self) -> str:
        return str(self.args[0])


class UnknownTool(WrongUsage, LookupError):
    """The name of a tool whose limits are not known."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.advice = f"known: {', '.join(TOOLS)}"
        super().__init__(f"the limits of {tool!r} are not known; {self.advice}")

    def __str__(self) -> str:
        return str(self.args[0])


class Shown(StrEnum):
    """What happens to what a rule finds."""

    LISTED = "listed"
    WITHHELD = "not listed, but counted: the rule rests on the words of the standard"
    DROPPED = "switched off"


@dataclass(frozen=True, slots=True)
class Choice:
    """What one place, a file or a command line, says. `select` and `ignore` are codes or beginnings of codes.

    Of two that match a code the longer counts, and of equal ones `ignore`; with a selection everything else is off.
    `tools` are those whose limits are respected (names in `TOOLS`), `allow_outside` folders in which a zip may read
    files around it.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    strict: bool | None = None
    tools: tuple[str, ...] = ()
    allow_outside: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        for tool in self.tools:
            if tool not in TOOLS:
                raise UnknownTool(tool)
        for prefix in (*self.select, *self.ignore):
            if not prefix or not any(code.startswith(prefix) for code in RULES):
                raise UnknownRule(prefix)

    def wants(self, code: str) -> bool | None:
        """Whether the findings of a rule are wanted; None if nothing is said about it."""
        selected, ignored = _longest(self.select, code), _longest(self.ignore, code)
        if selected or ignored:
            return selected > ignored
        return False if self.select and not is_limit(code) else None


@dataclass(frozen=True, slots=True)
class Switches:
    """What all places say, the strongest first: the command line, then a settings file."""

    choices: tuple[Choice, ...] = ()

    @property
    def strict(self) -> bool:
        return next((choice.strict for choice in self.choices if choice.strict is not None), False)

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools whose limits are respected, of the strongest place that names any."""
        return next((choice.tools for choice in self.choices if choice.tools), ())

    def shown(self, code: str) -> Shown:
        """Rules on the words of the standard are never lost silently; findings that no rule has are always listed."""
        rule = RULES.get(code)
        wanted = next((wants for choice in self.choices if (wants := choice.wants(code)) is not None), True)
        if wanted or rule is None:
            return Shown.LISTED
        return Shown.DROPPED if rule.optional else Shown.WITHHELD

    def apply(self, diagnostics: Iterable[Diagnostic]) -> tuple[tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
        """Those that are listed, raised to errors if that is wanted, and those that are withheld."""
        listed, withheld = [], []
        for diagnostic in diagnostics:
            match self.shown(diagnostic.code):
                case Shown.LISTED:
                    listed.append(_raised(diagnostic) if self.strict else diagnostic)
                case Shown.WITHHELD:
                    withheld.append(diagnostic)
                case Shown.DROPPED:
                    pass
        return tuple(listed), tuple(withheld)


EVERYTHING = Switches()


def is_limit(code: str) -> bool:
    """Whether a rule is a limit of other tools: `tools` switches it on, whatever is selected."""
    rule = RULES.get(code)
    return rule is not None and bool(rule.tools)


def _longest(prefixes: tuple[str, ...], code: str) -> int:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=0)


def _raised(diagnostic: Diagnostic) -> Diagnostic:
    return replace(diagnostic, severity=Severity.ERROR) if diagnostic.severity is Severity.WARNING else diagnostic
