"""Catalogue of rules: chapters, rules by permanent code with severity, basis, source and page, findings and fixes.

A rule is a generator with a docstring, declared once in its chapter::

    ELEMENTS = Chapter("Systems and components (SSP 2.0 §5.2, §5.4)")

    @ELEMENTS.rule("SSD-ELEM-002", severity=ERROR, basis=MUST, source="SSP 2.0 §5.2")
    def unique_names(system: ssd.System, structure: Structure) -> Iterator[Finding]:
        '''The elements of a system have different names. …'''

The type of its first parameter says what it runs over: the package (`Package`), one file of it (`File`; `Unreadable`
if it cannot be opened), one system structure with all that it refers to (`Structure`), or every element of a class in
the documents of a structure; then the second parameter is the structure. Rules over structures and elements may rely
on schema-valid documents: for others they are not run. The docstring is the rule's page: one sentence, the reason,
how to fix it; and of a rule that can be accepted, what a run makes of a violation.
"""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from functools import cache, lru_cache
from types import MappingProxyType, UnionType
from typing import NamedTuple, TypeVar

from lxml import etree

from ssptool.documents import ssc
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Position, Severity
from ssptool.documents.document import Repair
from ssptool.documents.element import Element, text_of
from ssptool.errors import WrongUsage
from ssptool.fmu.units import PhysicalUnit
from ssptool.network.conversion import define_unit

_FIX_LIKENESS = 0.75  # one slip in a name of four letters


class SetAttribute(NamedTuple):
    """An attribute with another value; None: without it."""

    element: Element
    name: str
    value: str | None


class Delete(NamedTuple):
    """An element goes, and a container that becomes empty with it."""

    element: Element


class Define(NamedTuple):
    """The unit that an element names is added to those that its document defines, where it is not there yet."""

    element: Element
    root: Element
    unit: PhysicalUnit


class Rewrite(NamedTuple):
    """A file that cannot be read gets other bytes."""

    archive: Archive
    name: str
    content: bytes


Edit = SetAttribute | Delete | Define | Rewrite


class Fix(NamedTuple):
    """Changes of attributes and elements that mend a violation.

    A fix is safe if the right answer is certain: it keeps what the document means, or the document can mean only one
    thing. All other fixes are guesses, which somebody should look at.
    """

    edits: tuple[Edit, ...]
    safe: bool = True

    @property
    def touched(self) -> frozenset[Element]:
        """The elements that it edits."""
        return frozenset(edit.element for edit in self.edits if not isinstance(edit, Rewrite))

    def apply(self) -> None:
        for edit in self.edits:
            match edit:
                case Delete(element):
                    element.delete()
                case Rewrite(archive, name, content):
                    archive.put(name, content)
                case Define(_, root, unit):
                    if all(known.name != unit.name for known in root.every(ssc.Unit)):
                        define_unit(root, unit)
                case SetAttribute(element, name, str(value)):
                    element.set(name, value)
                case SetAttribute(element, name):
                    element.attrib.pop(name, "")


def without(element: Element, attribute: str, *, safe: bool = True) -> Fix:
    return Fix((SetAttribute(element, attribute, None),), safe)


def rewritten(element: Element, attribute: str, value: str, *, safe: bool = True) -> Fix:
    return Fix((SetAttribute(element, attribute, value),), safe)


def deleted(element: Element, *, safe: bool = True) -> Fix:
    return Fix((Delete(element),), safe)


def repaired(archive: Archive, name: str, repair: Repair | None) -> Fix | None:
    return None if repair is None else Fix((Rewrite(archive, name, repair.content),), repair.certain)


def repeats(element: Element, other: Element) -> Fix | None:
    """Delete an element that says word for word what another says already; ids, to which others refer, count."""
    return deleted(element) if content_of(element) == content_of(other) else None


def renamed(element: Element, attribute: str, known: Collection[str]) -> Fix | None:
    """Write the known name that is meant: certainly if it differs in blanks around it only, else perhaps the nearest.

    None if none, or more than one, is near.
    """
    name = element.get(attribute, "")
    same = [other for other in known if other.strip() == name.strip()]
    if len(same) == 1:
        return rewritten(element, attribute, same[0])
    alike = nearest(name, tuple(sorted(set(known))), 2, _FIX_LIKENESS)
    return rewritten(element, attribute, alike[0], safe=False) if len(alike) == 1 else None


@lru_cache(maxsize=64)
def nearest(name: str, known: tuple[str, ...], number: int, likeness: float) -> tuple[str, ...]:
    """The names most like a wrong one, which often stands in many places; to compare it with all others is slow."""
    return tuple(get_close_matches(name, known, number, likeness))


def content_of(element: etree._Element) -> object:
    """Everything that an element says, in a form that can be compared; comments and white space aside."""
    children = tuple(content_of(child) for child in element.iterchildren("*"))
    return element.tag, frozenset(element.attrib.items()), children, (text_of(element) or "").strip()


Check = TypeVar("Check", bound=Callable[..., Iterator["Finding"]])

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


class Basis(StrEnum):
    """What a rule rests on. Rules on the last three are ours to switch off."""

    MUST = "must"  # a normative keyword
    TEXT = "text"  # declarative text
    XSD = "xsd"  # the schema or its documentation
    SHOULD = "should"  # a recommendation
    DERIVED = "derived"  # follows from the text
    POLICY = "policy"  # our proposal where the standard is silent


MUST, TEXT, XSD, SHOULD, DERIVED, POLICY = Basis


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule saw: where, what is wrong there, and what to try.

    `attribute` names the attribute of the element that is to blame, if it is one. `severity` is for the few rules
    whose violations differ in weight (their pages say how); else that of the rule holds. `fix` mends it, if a program
    can.
    """

    place: Element | Position
    message: str
    advice: str = ""
    attribute: str = ""
    severity: Severity | None = None
    fix: Fix | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of the catalogue. `severity` holds one per version of SSP that the rule concerns.

    `blocks_run`: a system with such an error cannot be run, even if the user accepts the finding.
    """

    code: str
    chapter: "Chapter"
    severity: Mapping[str, Severity]
    basis: Basis
    source: str
    subject: type | UnionType
    find: Callable[..., Iterator[Finding]]
    blocks_run: bool = False
    tools: Mapping[str, str] = field(default_factory=dict)
    """For a limit of other tools: tool → the effect there. Such a rule is applied for these tools only."""

    @property
    def page(self) -> str:
        """What the rule demands, why, and how to fix a violation."""
        return inspect.getdoc(self.find) or ""

    @property
    def title(self) -> str:
        """The rule in one sentence."""
        return " ".join(self.page.partition("\n\n")[0].split())

    @property
    def rationale(self) -> str:
        """Why it is demanded, and what else is to be known; empty if the title says all."""
        return "\n\n".join(part for part in self.page.split("\n\n")[1:] if not part.startswith(_PARAGRAPHS))

    @property
    def fix(self) -> str:
        """How to mend a violation."""
        return self._paragraph("Fix: ")

    @property
    def accepted(self) -> str:
        """Of a rule that does not block a run: what becomes of a violation in a system that is run all the same."""
        return self._paragraph("Accepted: ")

    def _paragraph(self, start: str) -> str:
        return next((part[len(start) :] for part in self.page.split("\n\n") if part.startswith(start)), "")

    @property
    def optional(self) -> bool:
        """Whether it rests on less than the words of the standard."""
        return self.basis in (SHOULD, DERIVED, POLICY)


TOOLS = {
    "omsimulator": "OMSimulator 3.0",
    "fmpy": "FMPy 0.3.32",
    "libcosim": "libcosim (libcosimpy 0.0.6)",
    "ecos": "ecos 0.7.2",
}
"""Other tools whose limits are known, each with the version in which they were seen."""

RULES: dict[str, Rule] = {}
"""All rules by code; complete once `ssptool.rules.chapters` is imported."""

VERSIONS = ("1.0", "2.0")
_PARAGRAPHS = ("Fix: ", "Accepted: ")
_LIKENESS = 0.5  # a slip in a name of two letters still leaves half of it


@dataclass(frozen=True, slots=True)
class Chapter:
    """A heading of the catalogue, and the clause of the standard that its rules rest on if they name none."""

    title: str
    section: str = ""

    def rule(
        self,
        code: str,
        *,
        severity: Severity | Mapping[str, Severity],
        basis: Basis,
        source: str = "",
        versions: Collection[str] = VERSIONS,
        blocks_run: bool = False,
        tools: Mapping[str, str] = MappingProxyType({}),
    ) -> Callable[[Check], Check]:
        """Enter a generator into the catalogue.

        Parameters
        ----------
        code
            Permanent: never reused, never renumbered.
        severity
            One for all, or one per SSP version.
        source
            The clause of the standard that says so; that of the chapter if none is given.
        versions
            The SSP versions of documents that the rule concerns.
        blocks_run
            Without what the rule demands there is nothing to run: no FMU, no connector, no readable document.
        tools
            For a limit of other tools: name in `TOOLS` → what happens there, to end the message of a finding.
        """
        severities = severity if isinstance(severity, Mapping) else dict.fromkeys(versions, severity)

        def enter(find: Check) -> Check:
            if code in RULES:
                raise ValueError(f"two rules have the code {code}")
            subject = next(iter(find.__annotations__.values()))
            RULES[code] = Rule(code, self, severities, basis, source or self.section, subject, find, blocks_run, tools)
            rules_over.cache_clear()
            return find

        return enter


@cache
def rules_over(kind: type) -> tuple[Rule, ...]:
    """The rules for values of this class, in the order of their codes."""
    found = (entry for entry in RULES.values() if issubclass(kind, entry.subject))
    return tuple(sorted(found, key=lambda entry: entry.code))


def near(name: str, known: Collection[str]) -> str:
    """Advice for a name that is not known: the nearest known ones, or else all of them if they are few."""
    matches = nearest(name, tuple(sorted(known)), 3, _LIKENESS)
    if matches:
        return "did you mean " + " or ".join(f"'{match}'" for match in matches) + "?"
    if 0 < len(known) <= 12:
        return "there are " + ", ".join(f"'{other}'" for other in sorted(known))
    return ""


class UnknownRule(WrongUsage, LookupError):
    """A code, or the beginning of one, that no rule has."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.advice = near(code, RULES) or "`ssptool rule --all` lists the rules"
        super().__init__(f"no rule has the code {code!r} or one that starts with it; {self.advice}")

    def __str__(self) -> str:
        return str(self.args[0])
