"""Catalogue of rules: chapters, rules by permanent code with severity, basis, source and page, findings and fixes.

A rule is a generator with a docstring, declared once in its chapter::

    ELEMENTS = Chapter("Systems and components (SSP 2.0 §5.2, §5.4)")

    @ELEMENTS.rule("SSD-ELEM-002", severity=ERROR, basis=MUST, source="SSP 2.0 §5.2")
    def unique_names(system: ssd.System, structure: Structure) -> Iterator[Finding]:
        '''The elements of a system have different names. …'''

The type of its first parameter is the subject of the rule: the package (`Package`), one file of it (`File`;
`Unreadable` if it cannot be opened), one system structure with all that it refers to (`Structure`), or every element of
a class in the documents of a structure; then the second parameter is the structure. Rules over structures and elements
run on schema-valid documents only. The docstring is the rule's page: one sentence, the reason, the fix, and the effect
of a violation on a run if the rule can be accepted.
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
from ssptool.documents.foreign_files import ForeignZip
from ssptool.errors import UnknownName, similar_names
from ssptool.fmu.units import PhysicalUnit
from ssptool.network.conversion import define_unit

_FIX_LIKENESS = 0.75  # one typing error in a name of four letters


class SetAttribute(NamedTuple):
    """Set an attribute; None removes it."""

    element: Element
    name: str
    value: str | None


class Delete(NamedTuple):
    """Delete an element, and its container if that becomes empty."""

    element: Element


class Define(NamedTuple):
    """Add the unit that an element names to the units of its document, unless the document defines it."""

    element: Element
    root: Element
    unit: PhysicalUnit


class Rewrite(NamedTuple):
    """Replace the bytes of an unreadable file."""

    archive: Archive
    name: str
    content: bytes


class Repack(NamedTuple):
    """Give the entries of a zip in the archive plain names; an empty `name` means the archive itself."""

    archive: Archive
    name: str = ""

    def apply(self) -> None:
        if not self.name:  # an edited archive is packed again when it is saved
            first = self.archive.names()[0]
            self.archive.put(first, self.archive.read(first))
            return
        with ForeignZip(self.archive.local_path(self.name)) as packed:
            content = packed.plainly_packed()
        self.archive.put(self.name, content)


Edit = SetAttribute | Delete | Define | Rewrite | Repack


class Fix(NamedTuple):
    """Changes of attributes and elements that fix a violation.

    A fix is safe if the right answer is certain: it does not change the meaning of the document, or the document has
    only one possible meaning. All other fixes are guesses that a user should review. A fix with `choices` edits
    nothing by itself: several guesses are equally good, and the user chooses one.
    """

    edits: tuple[Edit, ...]
    safe: bool = True
    choices: tuple["Fix", ...] = ()

    @property
    def options(self) -> tuple["Fix", ...]:
        """The fixes to choose from: this one, or its choices."""
        return self.choices or (self,)

    @property
    def touched(self) -> frozenset[Element]:
        """Elements that the fix edits."""
        return frozenset(edit.element for edit in self.edits if not isinstance(edit, Rewrite | Repack))

    @property
    def title(self) -> str:
        """Effect of a fix, for users who choose fixes."""
        told = ", ".join(dict.fromkeys(map(_told, self.edits)))
        return f"{told[:1].upper()}{told[1:]}"

    def apply(self) -> None:
        for edit in self.edits:
            match edit:
                case Delete(element):
                    element.delete()
                case Rewrite(archive, name, content):
                    archive.put(name, content)
                case Repack():
                    edit.apply()
                case Define(_, root, unit):
                    if all(known.name != unit.name for known in root.every(ssc.Unit)):
                        define_unit(root, unit)
                case SetAttribute(element, name, str(value)):
                    element.set(name, value)
                case SetAttribute(element, name):
                    element.attrib.pop(name, "")


def _told(edit: Edit) -> str:
    match edit:
        case Delete(element):
            named = f" '{name}'" if (name := element.get("name")) else ""
            return f"delete <{element.tag.rpartition('}')[2]}>{named}"
        case Rewrite(_, name):
            return f"write {name} as UTF-8 that XML readers take"
        case Repack(_, name):
            return f"pack {name or 'the package'} again with plain names"
        case Define(_, _, unit):
            return f"define the unit '{unit.name}'"
        case SetAttribute(_, name, None):
            return f"delete the attribute {name}"
        case SetAttribute(_, name, value):
            return f'write {name}="{value}"'


def without(element: Element, attribute: str, *, safe: bool = True) -> Fix:
    return Fix((SetAttribute(element, attribute, None),), safe)


def rewritten(element: Element, attribute: str, value: str, *, safe: bool = True) -> Fix:
    return Fix((SetAttribute(element, attribute, value),), safe)


def deleted(element: Element, *, safe: bool = True) -> Fix:
    return Fix((Delete(element),), safe)


def repaired(archive: Archive, name: str, repair: Repair | None) -> Fix | None:
    return None if repair is None else Fix((Rewrite(archive, name, repair.content),), repair.certain)


def repeats(element: Element, other: Element) -> Fix | None:
    """Delete an element that equals another one, including `id`; None if they differ."""
    return deleted(element) if content_of(element) == content_of(other) else None


def renamed(element: Element, attribute: str, known: Collection[str]) -> Fix | None:
    """Replace a name by a known one: a safe fix if they only differ in surrounding blanks, otherwise the nearest name,
    or a choice of the nearest names. None if no name is near.
    """
    name = element.get(attribute, "")
    same = [other for other in known if other.strip() == name.strip()]
    if len(same) == 1:
        return rewritten(element, attribute, same[0])
    alike = nearest(name, tuple(sorted(set(known))), 3, _FIX_LIKENESS)
    guesses = tuple(rewritten(element, attribute, one, safe=False) for one in alike)
    return guesses[0] if len(guesses) == 1 else Fix((), False, guesses) if guesses else None


@lru_cache(maxsize=64)
def nearest(name: str, known: tuple[str, ...], number: int, likeness: float) -> tuple[str, ...]:
    """The known names most similar to a wrong one. Cached, because a wrong name often occurs many times."""
    return tuple(get_close_matches(name, known, number, likeness))


def content_of(element: etree._Element) -> object:
    """Tag, attributes, text and children of an element as a comparable value, without comments and white space."""
    children = tuple(content_of(child) for child in element.iterchildren("*"))
    return element.tag, frozenset(element.attrib.items()), children, (text_of(element) or "").strip()


Check = TypeVar("Check", bound=Callable[..., Iterator["Finding"]])

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


class Basis(StrEnum):
    """The basis of a rule. Rules with one of the last three can be switched off."""

    MUST = "must"  # a normative keyword
    TEXT = "text"  # declarative text
    XSD = "xsd"  # the schema or its documentation
    SHOULD = "should"  # a recommendation
    DERIVED = "derived"  # follows from the text
    POLICY = "policy"  # a choice of ssptool; the standard does not specify this


MUST, TEXT, XSD, SHOULD, DERIVED, POLICY = Basis


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation of a rule: its place, a message and advice.

    `attribute` is the wrong attribute, if there is one. `severity` overrides that of the rule, for rules whose
    violations differ in severity. `fix` is the automatic fix, if there is one.
    """

    place: Element | Position
    message: str
    advice: str = ""
    attribute: str = ""
    severity: Severity | None = None
    fix: Fix | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the catalogue. `severity` maps the versions of SSP for which the rule applies to severities.

    `blocks_run`: a system with such an error cannot run, even if the user accepts the finding.
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
    """Limits of other tools: tool → effect there. The rule is applied for these tools only."""

    @property
    def page(self) -> str:
        """The docstring of the rule: requirement, reason and fix."""
        return inspect.getdoc(self.find) or ""

    @property
    def title(self) -> str:
        """The rule in one sentence."""
        return " ".join(self.page.partition("\n\n")[0].split())

    @property
    def rationale(self) -> str:
        """The reason and further details; empty if the title suffices."""
        return "\n\n".join(part for part in self.page.split("\n\n")[1:] if not part.startswith(_PARAGRAPHS))

    @property
    def fix(self) -> str:
        """Advice for fixing a violation."""
        return self._paragraph("Fix: ")

    @property
    def accepted(self) -> str:
        """The effect of an accepted violation on a run; empty for rules that block a run."""
        return self._paragraph("Accepted: ")

    def _paragraph(self, start: str) -> str:
        return next((part[len(start) :] for part in self.page.split("\n\n") if part.startswith(start)), "")

    @property
    def optional(self) -> bool:
        """True if the basis is weaker than the text of the standard."""
        return self.basis in (SHOULD, DERIVED, POLICY)


TOOLS = {
    "omsimulator": "OMSimulator 3.0",
    "fmpy": "FMPy 0.3.32",
    "libcosim": "libcosim (libcosimpy 0.0.6)",
    "ecos": "ecos 0.7.2",
}
"""Other tools with known limits, and the versions in which these were found."""

RULES: dict[str, Rule] = {}
"""All rules by code; complete once `ssptool.rules.chapters` is imported."""

VERSIONS = ("1.0", "2.0")
_PARAGRAPHS = ("Fix: ", "Accepted: ")
_LIKENESS = 0.5  # a typing error in a name of two letters leaves half of it


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter of the catalogue; `section` is the default source of its rules."""

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
        """Decorator: add a generator to the catalogue.

        Parameters
        ----------
        code
            Permanent code: never reused, never renumbered.
        severity
            One severity for all versions, or one per SSP version.
        source
            The clause of the standard (default: that of the chapter).
        versions
            The SSP versions of documents that the rule applies to.
        blocks_run
            A violation makes a run impossible: no FMU, no connector, no readable document.
        tools
            For a limit of other tools: name in `TOOLS` → effect there, which is appended to the message of a finding.
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
    """Advice for an unknown name: the nearest known names; all known names if there are few."""
    matches = nearest(name, tuple(sorted(known)), 3, _LIKENESS)
    if matches:
        return "did you mean " + " or ".join(f"'{match}'" for match in matches) + "?"
    if 0 < len(known) <= 12:
        return "available: " + ", ".join(f"'{other}'" for other in sorted(known))
    return ""


def unknown_rule(code: str) -> UnknownName:
    """Error for a code that is neither a rule nor the start of one."""
    near = similar_names(code, RULES)
    more = "" if near else "; `ssptool rule --all` lists the rules"
    return UnknownName(f"no rule has the code {code!r} or one that begins with it{more}", code, near=near)
