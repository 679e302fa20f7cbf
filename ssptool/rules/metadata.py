"""Rules on metadata, signatures and annotations."""

import re
from collections.abc import Iterator
from hashlib import sha3_256

from ssptool.documents import ssc, ssd
from ssptool.documents.ssc import MetaSourceBase
from ssptool.documents.vocabulary import media_type
from ssptool.rules.catalogue import DERIVED, ERROR, INFO, MUST, POLICY, SHOULD, TEXT, WARNING, Chapter, Finding
from ssptool.rules.subjects import Reach, Structure, resolve

METADATA = Chapter("Metadata and signatures (SSP 2.0 §4.5.4, §4.5.5)", section="SSP 2.0 §4.5.4, §4.5.5")
SRMD_TYPE = "application/x-srmd-meta-data"
SRMD_ROOT = "{http://ssp-standard.org/SSPTraceability1/SimulationResourceMetaData}SimulationResourceMetaData"
_TOKEN = r"[A-Za-z0-9!#$&^_.+\-]+"
_MEDIA_TYPE = re.compile(rf"{_TOKEN}/{_TOKEN}(\s*;.*)?")


@METADATA.rule("META-002", severity=ERROR, basis=MUST, versions=["2.0"])
def one_place_of_metadata(data: ssc.MetaData | ssc.Signature, structure: Structure) -> Iterator[Finding]:
    """Metadata, and a signature, is either written inline or named by `source`.

    Fix: remove the attribute or the `Content`; with neither there is nothing.

    Accepted: a run does not read metadata.
    """
    if data.source is not None and data.content is not None:
        yield Finding(data, "there is a source, and Content too", "remove one of them", "source")
    if data.source is None and data.content is None:
        yield Finding(data, "there is neither a source nor Content", "add one of them")


@METADATA.rule("META-003", severity=ERROR, basis=TEXT, versions=["2.0"])
def base_resource(data: ssc.MetaData | ssc.Signature, structure: Structure) -> Iterator[Finding]:
    """Only what has a source itself can be the base of a URI.

    `sourceBase="resource"` looks beside or inside the file that the enclosing element refers to.

    Fix: write `sourceBase="file"`, or leave it away.

    Accepted: a run does not read metadata.
    """
    if data.source_base is MetaSourceBase.RESOURCE:
        parent = data.getparent()
        kinds = (ssd.Component, ssd.ParameterBinding, ssd.ParameterMapping, ssd.SignalDictionary, ssc.MetaData)
        if not (isinstance(parent, kinds) and parent.source):
            yield Finding(data, "the element around it has no source", "", "sourceBase")


@METADATA.rule("META-004", severity=ERROR, basis=TEXT, source="SSP 2.0 §4.5.5", versions=["2.0"])
def base_metadata(signature: ssc.Signature, structure: Structure) -> Iterator[Finding]:
    """Only the signature of metadata can have that as the base of its URI.

    Fix: write `sourceBase="file"`, or leave it away.

    Accepted: a run does not read metadata.
    """
    inside = isinstance(signature.getparent(), ssc.MetaData)
    if signature.source_base is MetaSourceBase.META_DATA and not inside:
        yield Finding(signature, "the signature is not in MetaData", "", "sourceBase")


@METADATA.rule("META-005", severity=ERROR, basis=MUST, source="SSP 2.0 §4.5.4", versions=["2.0"])
def inline_resource_metadata(data: ssc.MetaData, structure: Structure) -> Iterator[Finding]:
    """Inline metadata of the type `application/x-srmd-meta-data` is one `srmd:SimulationResourceMetaData`.

    Content of any other type may be any XML.

    Fix: put that element around it, or state the type that the content has.

    Accepted: a run does not read metadata.
    """
    if data.content is not None and media_type(data.type) == SRMD_TYPE:
        found = [child.tag for child in data.content.iterchildren("*")]
        if found != [SRMD_ROOT]:
            names = ", ".join(tag.rpartition("}")[2] for tag in found[:3]) or "empty"
            yield Finding(data.content, f"the content is {names}, where one SimulationResourceMetaData is expected")


@METADATA.rule("META-006", severity=WARNING, basis=DERIVED, versions=["2.0"])
def media_types_of_metadata(data: ssc.MetaData | ssc.Signature, structure: Structure) -> Iterator[Finding]:
    """The type of metadata and signatures is a media type, such as `application/xml`.

    Fix: write `application/octet-stream` if nothing else fits.
    """
    if not _MEDIA_TYPE.fullmatch(data.type):
        yield Finding(data, f"'{data.type}' is no media type", "", "type")


@METADATA.rule(
    "META-101", severity=INFO, basis=POLICY, source="SSP 2.0 §4.5.5 leaves open how to verify", versions=["2.0"]
)
def signatures_are_not_verified(signature: ssc.Signature, structure: Structure) -> Iterator[Finding]:
    """That a signature is there does not say that it is valid: ssptool verifies none.

    The standard has a place for signatures and no procedure; each type needs its own, and a key that is trusted.

    Fix: verify it with the tool that signed.
    """
    what = "these metadata" if isinstance(signature.getparent(), ssc.MetaData) else "the element around it"
    message = f"a signature of the type '{signature.type}' for the {signature.role} of {what} was not verified"
    yield Finding(signature, message, "verify it with the tool that signed")


@METADATA.rule("META-102", severity=WARNING, basis=DERIVED, source="SSP Traceability 1.0, SRMD", versions=["2.0"])
def checksums(data: ssc.MetaData, structure: Structure) -> Iterator[Finding]:
    """The file that inline resource metadata describe has the checksum that these state.

    Else it is not the file that was described. SHA3-256 is verified; that of another type, or of a file outside the
    package, is only said to be there (an information).

    Fix: find out which of the two is the wrong one; describe the file again if it was changed on purpose.
    """
    described = None if data.content is None else data.content.find(SRMD_ROOT)
    if described is None or not (stated := described.get("checksum")):
        return
    kind, uri = described.get("checksumType", ""), described.get("data", "")
    reference = resolve(uri, data.position.file, structure.archive.resolve)
    if kind.upper() != "SHA3-256" or not uri or reference.reach is not Reach.INSIDE:
        message = f"the checksum of '{uri}' ({kind or 'of no stated type'}) was not verified"
        yield Finding(data, message, "only SHA3-256 of files of the package is verified", severity=INFO)
    elif not structure.archive.has(reference.entry):
        yield Finding(data, f"there is no file '{reference.entry}', whose checksum is stated")
    elif (found := sha3_256(structure.archive.read(reference.entry)).hexdigest()) != stated.strip().lower():
        yield Finding(data, f"the checksum of '{reference.entry}' is {found}, and {stated} is stated")


@METADATA.rule("TYPE-003", severity=ERROR, basis=MUST, source="SSP 2.0 §4.5.1; RFC 2045")
def media_types_of_binaries(binary: ssc.Binary, structure: Structure) -> Iterator[Finding]:
    """The `mime-type` of a binary is a media type, parameters allowed.

    Fix: write `application/octet-stream` if nothing else fits.

    Accepted: the bytes pass as they are.
    """
    if not _MEDIA_TYPE.fullmatch(binary.mime_type):
        yield Finding(binary, f"'{binary.mime_type}' is no media type", "", "mime-type")


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
