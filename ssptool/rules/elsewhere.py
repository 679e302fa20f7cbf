"""What the standard says that no rule of its own checks, and why; codes as in the catalogue, never given to a rule."""

from collections.abc import Mapping
from types import MappingProxyType

_SCHEMA = "the schema says so: reported as XML-004, or XML-005 in inline content, with the place and what is allowed"
_VALID = "reported under the code that says what is wrong with that file: XML-001 to XML-011, VER-001, VER-002"

ELSEWHERE: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "ANN-001": ("`Annotations` holds at least one `Annotation`, each with a type.", _SCHEMA),
        "ANN-004": ("An annotation of SSP 1.0 has no text content.", _SCHEMA),
        "ANN-005": ("An annotation has at most one child element.", _SCHEMA),
        "ENUM-003": ("Values of enumeration items are 32-bit integers in 1.0, 64-bit ones in 2.0.", _SCHEMA),
        "META-001": ("`MetaData` has a kind and a type, `Signature` a role and a type.", _SCHEMA),
        "PKG-010": ("`SystemStructure.ssd` is a valid system structure description.", _VALID),
        "PKG-011": ("So is every other `.ssd` at the root of a package.", _VALID),
        "PKG-023": ("Versions of SSP and FMI may be mixed in a package.", "a permission: there is nothing to report"),
        "SSB-002": ("A dictionary entry has exactly one type.", _SCHEMA),
        "SSD-CTR-002": ("The kind of a connector is one of those that its version of SSP has.", _SCHEMA),
        "SSD-ROOT-001": ("There is exactly one root system.", _SCHEMA),
        "SSM-005": (
            "A transformation suits the types of parameter and target.",
            "by the rules TRF-001 to TRF-010",
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
"""Code → what the standard says, and where that is checked instead."""
