"""Apply the catalogue: run each rule over its subjects, and stamp what it finds with code, severity and place."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from ssptool.documents.diagnostics import Diagnostic, Position, Severity
from ssptool.documents.element import Element
from ssptool.rules.catalogue import RULES, TOOLS, VERSIONS, Finding, Rule, rules_over
from ssptool.rules.fixes import Fix
from ssptool.rules.subjects import File, Package, Structure, Unreadable
from ssptool.rules.trees import foreign_elements

INTERNAL = "INTERNAL"
"""The code of a rule that failed: a fault of ours, not of the document."""


class Run:
    """One pass over a package.

    `unguarded` lets a rule that fails raise, as tests want it; else the failure becomes a finding of its own and the
    other rules go on. `tools` are those whose limits are to be respected.
    """

    def __init__(self, *, unguarded: bool, tools: Collection[str] = ()) -> None:
        self._unguarded = unguarded
        self._tools = tools
        self._files: dict[str, File] = {}
        self.fixes: dict[Diagnostic, Fix] = {}
        """How to mend what was found, where a program can."""

    def package(self, package: Package) -> set[Diagnostic]:
        self._files = {file.name: file for file in package.files}
        return set(self._package(package))

    def unreadable(self, unreadable: Unreadable) -> Iterator[Diagnostic]:
        """What kept a file from being opened; under codes that no rule has, as the reader said it."""
        yield from self._apply(rules_over(Unreadable), "", unreadable)
        yield from (problem for problem in unreadable.problems if problem.code not in RULES)

    def _package(self, package: Package) -> Iterator[Diagnostic]:
        versions = [structure.version for structure in package.structures if structure.file.valid]
        yield from self._apply(rules_over(Package), max(versions, default=""), package)
        for file in package.files:
            if file.problems:
                yield from self.unreadable(Unreadable(file.problems, package.archive, file.name))
            else:
                yield from self._apply(rules_over(File), file.version, file)
        for structure in package.structures:
            if structure.file.valid:
                yield from self._structure(structure)

    def _structure(self, structure: Structure) -> Iterator[Diagnostic]:
        yield from self._apply(rules_over(Structure), structure.version, structure)
        for root in structure.roots():
            version = root.get("version", "")
            foreign = foreign_elements(root)
            for element in root.iter(*_judged()):
                kind = Element if element in foreign else type(element)
                yield from self._apply(rules_over(kind), version, element, structure)

    def _apply(self, rules: Iterable[Rule], version: str, subject: Any, *context: Structure) -> Iterator[Diagnostic]:
        for rule in rules:
            if (version in VERSIONS and version not in rule.severity) or not self._concerns(rule):
                continue
            try:
                for finding in rule.find(subject, *context):
                    diagnostic = self._stamped(rule, version, finding)
                    if finding.fix is not None:
                        self.fixes.setdefault(diagnostic, finding.fix)
                    yield diagnostic
            except Exception as problem:
                if self._unguarded:
                    raise
                yield _internal(rule, subject, problem)

    def _concerns(self, rule: Rule) -> bool:
        return not rule.tools or not rule.tools.keys().isdisjoint(self._tools)

    def _stamped(self, rule: Rule, version: str, finding: Finding) -> Diagnostic:
        severity = rule.severity.get(version) or max(rule.severity.values(), key=_weight)
        place = self._position(finding.place, finding.attribute)
        effects = [f"{TOOLS[tool]} {rule.tools[tool]}" for tool in rule.tools if tool in self._tools]
        message = f"{finding.message}: {'; '.join(effects)}" if effects else finding.message
        return Diagnostic(rule.code, finding.severity or severity, place, message, finding.advice)

    def _position(self, place: Element | Position, attribute: str) -> Position:
        if isinstance(place, Position):
            return place
        position = place.position
        file = self._files.get(position.file)
        line = file.document.line_of(place) if file is not None and file.document is not None else position.line
        address = f"{position.address.rstrip('/')}/@{attribute}" if attribute else position.address
        return Position(position.file, line, address)


def _judged(kind: type[Element] = Element) -> Iterator[str]:
    """The tags of the kinds of elements that there are rules for."""
    for below in kind.__subclasses__():
        if below.qualified_name and rules_over(below):
            yield below.qualified_name
        yield from _judged(below)


def _weight(severity: Severity) -> int:
    return [Severity.INFO, Severity.WARNING, Severity.ERROR].index(severity)


def _internal(rule: Rule, subject: Any, problem: Exception) -> Diagnostic:
    """A failed rule leaves the document unjudged, which is no reason to refuse it, but to be told."""
    position = subject.position if isinstance(subject, Element) else Position("")
    message = f"the rule {rule.code} could not be applied: {type(problem).__name__}: {problem}"
    advice = "this is a fault of ssptool, please report it; the other rules were applied"
    return Diagnostic(INTERNAL, Severity.WARNING, position, message, advice)
