"""Annotations (SSP 2.0 §4.2)."""

import re
from collections.abc import Iterator

from ssptool.documents import ssc
from ssptool.rules.catalogue import ERROR, MUST, SHOULD, WARNING, Chapter, Finding
from ssptool.rules.subjects import Structure

ANNOTATIONS = Chapter("Annotations (SSP 2.0 §4.2)")

REVERSE_DOMAIN = re.compile(r"[A-Za-z0-9\-]+(\.[A-Za-z0-9_\-]+)+")
RESERVED = ("org.modelica", "org.ssp-standard")
LAYERED_STANDARDS = ("org.ssp-standard.ssp-traceability",)
"""What the Modelica Association has published under the reserved names so far."""


def reserved(name: str) -> bool:
    """Whether a name is in a domain of the standard's owner, and not one that the owner has published."""
    inside = any(name == domain or name.startswith(domain + ".") for domain in RESERVED)
    return inside and not name.startswith(LAYERED_STANDARDS)


@ANNOTATIONS.rule("ANN-002", severity=WARNING, basis=SHOULD, source="SSP 2.0 §4.2, §2.1.3")
def reverse_domain(annotation: ssc.Annotation, structure: Structure) -> Iterator[Finding]:
    """The type of an annotation is a reverse domain name, such as `com.example.tool`.

    Names under a domain that its author owns cannot clash with those of others.

    Fix: put a reversed domain of yours before the name.
    """
    if not REVERSE_DOMAIN.fullmatch(annotation.type):
        advice = f"for example com.example.{annotation.type.strip() or 'tool'}"
        yield Finding(annotation, f"'{annotation.type}' is not a reverse domain name", advice, "type")


@ANNOTATIONS.rule("ANN-003", severity=ERROR, basis=MUST, source="SSP 2.0 §4.2")
def reserved_types(annotation: ssc.Annotation, structure: Structure) -> Iterator[Finding]:
    """Types under `org.modelica` and `org.ssp-standard` are left to the standard itself.

    Readers take them for what the standard defines.

    Fix: use a reversed domain of your own.

    Accepted: a run does not read annotations.
    """
    if reserved(annotation.type):
        yield Finding(annotation, f"'{annotation.type}' is reserved for layered standards of SSP", "", "type")
