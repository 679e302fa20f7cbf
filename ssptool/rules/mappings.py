"""Parameter mappings (SSP 2.0 §7)."""

from collections.abc import Iterator

from ssptool.documents import ssm
from ssptool.rules.catalogue import ERROR, MUST, POLICY, WARNING, Chapter, Finding
from ssptool.rules.fixes import repeats
from ssptool.rules.subjects import Structure

MAPPINGS = Chapter("Parameter mappings (SSP 2.0 §7)")


@MAPPINGS.rule("SSM-001", severity=ERROR, basis=MUST, source="SSP 2.0 §7.1")
def distinct_targets(mapping: ssm.ParameterMapping, structure: Structure) -> Iterator[Finding]:
    """The entries of a mapping have different targets.

    Of two values for one target nobody can tell which holds. One source may have several targets.

    Fix: delete one of the entries.

    Accepted: the last entry of the target counts.
    """
    first: dict[str, ssm.MappingEntry] = {}
    for entry in mapping.entries:
        other = first.setdefault(entry.target, entry)
        if other is not entry:
            message = f"'{entry.target}' is the target of '{other.source}' too (line {other.position.line})"
            yield Finding(entry, message, "delete one of the entries", "target", fix=repeats(entry, other))


@MAPPINGS.rule("SSM-006", severity=WARNING, basis=POLICY, source="SSP 2.0 §7.1.1; the schema admits empty names")
def filled_entries(entry: ssm.MappingEntry, structure: Structure) -> Iterator[Finding]:
    """Source and target of a mapping entry are not empty.

    An empty name matches nothing; perhaps a template was not filled in.

    Fix: write the names.
    """
    for attribute, name in (("source", entry.source), ("target", entry.target)):
        if not name.strip():
            yield Finding(entry, f"the {attribute} is empty", "", attribute)
