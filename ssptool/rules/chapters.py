"""Chapters of the rule catalogue, and its pages. Importing this module registers the rules of all chapters.

The pages also list the requirements of the standard without an own rule, with the reason.
"""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from ssptool.public_calls import public
from ssptool.rules.arrays_and_clocks import CLOCKS, DIMENSIONS
from ssptool.rules.catalogue import RULES, VERSIONS, Basis, Rule, unknown_rule
from ssptool.rules.connections import CONNECTIONS, LOOPS
from ssptool.rules.connectors import CONNECTORS, DICTIONARIES
from ssptool.rules.elements import ELEMENTS, EXPERIMENT, GEOMETRY, TABLES
from ssptool.rules.fmu import FMU_COMPONENTS, FMUS
from ssptool.rules.interoperability import OTHER_TOOLS
from ssptool.rules.package import ANNOTATIONS, ENTRIES, METADATA
from ssptool.rules.parameters import BINDINGS, MAPPINGS, PARAMETER_SETS
from ssptool.rules.sources import SOURCES
from ssptool.rules.transformations import TRANSFORMATIONS
from ssptool.rules.units import ENUMERATIONS, UNITS
from ssptool.rules.xml import FILES

CHAPTERS = (
    ENTRIES,
    FILES,
    ANNOTATIONS,
    ENUMERATIONS,
    UNITS,
    DIMENSIONS,
    CLOCKS,
    TRANSFORMATIONS,
    METADATA,
    ELEMENTS,
    CONNECTORS,
    CONNECTIONS,
    LOOPS,
    DICTIONARIES,
    BINDINGS,
    PARAMETER_SETS,
    MAPPINGS,
    SOURCES,
    FMU_COMPONENTS,
    TABLES,
    FMUS,
    GEOMETRY,
    EXPERIMENT,
    OTHER_TOOLS,
)
"""Chapters in the order of the standard."""


_SCHEMA = "the schema demands it: XML-004, or XML-005 in inline content"
_VALID = "other rules check it: XML-001 to XML-011, VER-001, VER-002"

ELSEWHERE: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "ANN-001": ("`Annotations` holds at least one `Annotation`, each with a type.", _SCHEMA),
        "ANN-004": ("An annotation of SSP 1.0 has no text content.", _SCHEMA),
        "ANN-005": ("An annotation has at most one child element.", _SCHEMA),
        "ENUM-003": ("Values of enumeration items are 32-bit integers in 1.0, 64-bit ones in 2.0.", _SCHEMA),
        "META-001": ("`MetaData` has a kind and a type, `Signature` a role and a type.", _SCHEMA),
        "PKG-010": ("`SystemStructure.ssd` is a valid system structure description.", _VALID),
        "PKG-011": ("Every other `.ssd` at the root of a package is a valid system structure description.", _VALID),
        "PKG-023": ("Versions of SSP and FMI may be mixed in a package.", "a permission, with nothing to report"),
        "SSB-002": ("A dictionary entry has exactly one type.", _SCHEMA),
        "SSD-CTR-002": ("The kind of a connector is one of those that its version of SSP has.", _SCHEMA),
        "SSD-ROOT-001": ("There is exactly one root system.", _SCHEMA),
        "SSM-005": (
            "A transformation suits the types of parameter and target.",
            "other rules check it: TRF-001 to TRF-010",
        ),
        "SSV-002": ("A parameter has exactly one type, and that is not Clock.", _SCHEMA),
        "SSV-003": ("The value of a parameter is in the range of its type.", _SCHEMA),
        "SSV-011": ("Parameters that match nothing are legal.", "a permission; SSD-PAR-023 mentions them"),
        "TRF-011": ("A connection or mapping entry has at most one transformation.", _SCHEMA),
        "TYPE-001": ("A connector has at most one type, entries and parameters exactly one.", _SCHEMA),
        "UNIT-003": ("A unit has a `BaseUnit`, with integer exponents.", _SCHEMA),
        "XML-010": ("The children of an element stand in the order of the schema.", _SCHEMA),
    }
)
"""Code → requirement of the standard, and the check that covers it."""


_WIDTH = 100
BASES = {
    Basis.MUST: "required by the standard (a normative keyword)",
    Basis.TEXT: "stated in the text of the standard",
    Basis.XSD: "stated in the schema of the standard, or in its documentation",
    Basis.SHOULD: "a recommendation of the standard",
    Basis.DERIVED: "a consequence of the standard",
    Basis.POLICY: "a choice of ssptool; the standard does not specify this",
}


@public
def rule_page(code: str) -> str:
    """The page of a rule: requirement, reason, fix, severity, basis and source.

    Raises
    ------
    UnknownName
        No rule has this code.
    """
    code = code.upper()
    if code in ELSEWHERE:
        title, reason = ELSEWHERE[code]
        return f"{code}: {title}\n\nNo rule of its own checks this: {reason}."
    if code not in RULES:
        raise unknown_rule(code)
    rule = RULES[code]
    facts = [("Severity", _severity(rule)), ("Basis", f"{rule.basis}: {BASES[rule.basis]}"), ("Source", rule.source)]
    facts += [("Switch", _switch(rule)), *([("Run", _run(rule))] if _run(rule) else [])]
    parts = [f"{code}: {rule.title}", *map(_filled, rule.rationale.split("\n\n")), _filled(f"Fix: {rule.fix}")]
    parts.append("\n".join(_fact(name, value) for name, value in facts))
    return "\n\n".join(part for part in parts if part)


@public
def rule_list() -> str:
    """One line for each rule."""
    return "\n".join(f"{code:<14}{RULES[code].title}" for code in sorted(RULES))


@public
def catalogue_page() -> str:
    """The catalogue in Markdown: the rules by chapter, and the requirements without a rule of their own."""
    return "\n".join(_catalogue())


def _catalogue() -> Iterator[str]:
    yield from (
        "# Rules",
        "",
        "<!-- Generated by `make docs` from the rules themselves; do not edit. -->",
        "",
        f"`ssptool validate` applies {len(RULES)} rules. `ssptool rule CODE` prints the entry of a rule. Codes never",
        "change. `--ignore CODE`, or `ignore` in `ssptool.toml`, switches off rules with the basis `should`, `derived`",
        "or `policy`. The standard requires the other rules: reports count their findings even if they are ignored.",
        "The [glossary](glossary.md) explains the terms.",
        "",
        "ssptool does not run a system with errors. `--accept CODE` accepts the errors of a rule; its entry states the",
        "effect on the run. Errors of rules that `ssptool.toml` ignores are also accepted. Rules marked",
        "`blocks run` cannot be accepted, because a run needs a system that complies with them.",
        "",
    )
    yield from (f"- `{basis}`: {meaning}" for basis, meaning in BASES.items())
    for chapter in CHAPTERS:
        rules = [rule for rule in RULES.values() if rule.chapter == chapter]
        if rules:
            yield from ("", f"## {chapter.title}")
            for rule in sorted(rules, key=lambda one: one.code):
                yield from _entry(rule)
    yield from (
        "",
        "## Not checked by a rule of its own",
        "",
        "| Code | Requirement of the standard | Check |",
    )
    yield "|---|---|---|"
    yield from (f"| {code} | {title} | {reason} |" for code, (title, reason) in sorted(ELSEWHERE.items()))
    yield ""


def _entry(rule: Rule) -> Iterable[str]:
    facts = f"{_severity(rule)} · {rule.basis} · {rule.source}" + (" · blocks run" if rule.blocks_run else "")
    texts = (*rule.rationale.split("\n\n"), f"Fix: {rule.fix}", rule.accepted and f"Accepted: {rule.accepted}")
    parts = [_joined(part) for part in texts if part]
    return ("", f"### {rule.code}", "", f"**{rule.title}** ({facts})", *(line for part in parts for line in ("", part)))


def _severity(rule: Rule) -> str:
    stated = {version: rule.severity[version] for version in VERSIONS if version in rule.severity}
    if len(stated) == len(VERSIONS) and len(set(stated.values())) == 1:
        return f"{next(iter(stated.values()))}"
    return ", ".join(f"{severity} in SSP {version}" for version, severity in stated.items())


def _switch(rule: Rule) -> str:
    if rule.tools:
        return f"--for {','.join(rule.tools)} switches it on"
    if rule.optional:
        return f"--ignore {rule.code} switches it off"
    return f"--ignore {rule.code} hides the findings; the summary still counts them"


def _fact(name: str, value: str) -> str:
    return textwrap.fill(f"{name + ':':<10}{value}", _WIDTH, subsequent_indent=10 * " ", break_on_hyphens=False)


def _run(rule: Rule) -> str:
    """Text: whether a system with a violation can run, and the effect of the violation."""
    if rule.blocks_run:
        return "a system with this error cannot be run; --accept does not help"
    return f"--accept {rule.code} runs a system all the same: {_joined(rule.accepted)}" if rule.accepted else ""


def _joined(text: str) -> str:
    return " ".join(text.split())


def _filled(text: str) -> str:
    return textwrap.fill(_joined(text), _WIDTH, break_long_words=False, break_on_hyphens=False)
