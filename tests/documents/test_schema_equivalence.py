"""Our schemas give the verdicts of the official ones, document by document.

Official are the files that FMPy (SSP 1.0) and pyssp_standard (SSP 2.0) install.
"""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import fmpy
import pyssp_standard
import pytest
from lxml import etree

from ssptool.documents.document import Document
from ssptool.documents.schema import DocumentPart, load_schema, schema_findings
from ssptool.documents.vocabulary import NSMAP, SSC
from tests.documents.schema_corpus import FORMATS, INLINE_ROOTS, VERSIONS, Sample, attribute_corpus, corpus

OFFICIAL = {
    "1.0": Path(fmpy.__file__).parent / "ssp" / "schema",
    "2.0": Path(pyssp_standard.__file__).parent / "resources" / "ssp2",
}
FILES = {
    "ssd": "SystemStructureDescription.xsd",
    "ssv": "SystemStructureParameterValues.xsd",
    "ssm": "SystemStructureParameterMapping.xsd",
    "ssb": "SystemStructureSignalDictionary.xsd",
}
INT64 = re.compile(r"\s*[+-]?[0-9]{1,30}\s*", re.ASCII)


@cache
def official_schema(version: str, format: str) -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(OFFICIAL[version] / FILES[format]))


def officially_valid(version: str, format: str, text: bytes) -> bool:
    """The official verdict, after its one known error: 2.0.0 has 32-bit enumeration items, 2.0.1 corrects to 64."""
    root = etree.fromstring(text)
    if version == "2.0":
        for item in root.iter(f"{{{SSC}}}Item"):
            value = item.get("value", "")
            if INT64.fullmatch(value) and -(2**63) <= int(value) < 2**63:
                item.set("value", "0")
    return bool(official_schema(version, format).validate(root))


def ours(version: str, format: str, text: bytes) -> bool:
    return bool(load_schema(version, format).validate(etree.fromstring(text)))


def differences(samples: list[Sample]) -> list[str]:
    return [
        f"{', '.join(sample.mutations) or 'unchanged'}: officially {official}\n{sample.text.decode()}"
        for sample in samples
        if (official := officially_valid(sample.schema_version, sample.format, sample.text))
        is not ours(sample.schema_version, sample.format, sample.text)
    ]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("format", FORMATS)
def test_random_documents_get_the_official_verdict(format, version):
    samples = list(corpus(format, version, valid=150, mutated=450))
    assert differences(samples) == []

    verdicts = Counter(ours(version, format, sample.text) for sample in samples)
    print(f"{format} {version}: {verdicts[True]} valid, {verdicts[False]} invalid documents")
    assert min(verdicts.values()) >= 150


@pytest.mark.parametrize("version", VERSIONS)
def test_each_attribute_missing_or_nasty_gets_the_official_verdict(version):
    samples = list(attribute_corpus(version))
    assert differences(samples) == []

    verdicts = Counter(ours(version, sample.format, sample.text) for sample in samples)
    print(f"attributes {version}: {verdicts[True]} valid, {verdicts[False]} invalid documents")
    assert min(verdicts.values()) >= 3000


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("format", FORMATS)
def test_what_the_grammar_writes_is_officially_valid(format, version):
    """Otherwise the corpus would not test what is allowed."""
    refused = [
        sample.text
        for sample in corpus(format, version, valid=150, mutated=0)
        if not officially_valid(version, format, sample.text)
    ]
    assert refused == []


@pytest.mark.parametrize("value", ["2147483648", "-2147483649", "9223372036854775807", "-9223372036854775808"])
def test_only_enumeration_items_of_64_bits_differ_from_the_schema_of_ssp_2_0_0(value):
    text = f"""<ssb:SignalDictionary xmlns:ssb="{NSMAP["ssb"]}" xmlns:ssc="{SSC}" version="2.0"><ssb:Enumerations>
        <ssc:Enumeration name="e"><ssc:Item name="i" value="{value}"/></ssc:Enumeration>
        </ssb:Enumerations></ssb:SignalDictionary>"""
    assert not official_schema("2.0", "ssb").validate(etree.fromstring(text))
    assert ours("2.0", "ssb", text.encode())
    assert not ours("1.0", "ssb", text.replace("2.0", "1.0").encode())


@pytest.mark.parametrize("version", VERSIONS)
def test_type_names_of_the_official_schemas_are_unknown_here(version):
    """The second known difference: types are named by xsi:type only, which no SSP document needs."""
    text = f"""<d:SystemStructureDescription xmlns:d="{NSMAP["ssd"]}" version="{version}" name="n"><d:System name="s"
        xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="d:TSystem"/></d:SystemStructureDescription>"""
    assert officially_valid(version, "ssd", text.encode())
    assert not ours(version, "ssd", text.encode())


@pytest.mark.parametrize("version", VERSIONS)
def test_findings_are_those_of_the_document_and_of_each_inline_document(version):
    """Each part is valid by the official schema of its own format and version, or there are findings in it."""
    verdicts: Counter[tuple[DocumentPart, bool]] = Counter()
    for number, sample in enumerate(corpus("ssd", version, valid=100, mutated=400)):
        root = Document("sample.ssd", sample.text).root
        for inline in inline_documents(root):
            inline.set("version", ("1.0", "2.0", "3.0")[number % 3])
        ids = root.xpath("//@id")
        if len(set(ids)) < len(ids):
            continue  # ids are unique across inline content too, which the official schemas cannot know
        found = {finding.part for finding in schema_findings(root, version)} - {DocumentPart.INLINE_METADATA}
        expected = set()
        if not officially_valid(version, "ssd", etree.tostring(root)):
            expected.add(DocumentPart.DOCUMENT)
        if found - {DocumentPart.DOCUMENT} or not expected:
            # libxml2 does not look behind a misplaced element, so inline content is compared if all else is in order.
            inline_valid = all(inline_officially_valid(inline, version) for inline in inline_documents(root))
            expected |= set() if inline_valid else {DocumentPart.INLINE}
        assert found == expected, (sample.mutations, etree.tostring(root, encoding=str))
        verdicts.update((part, part in found) for part in (DocumentPart.DOCUMENT, DocumentPart.INLINE))
    assert all(
        verdicts[part, outcome] >= 10
        for part in (DocumentPart.DOCUMENT, DocumentPart.INLINE)
        for outcome in (True, False)
    ), verdicts


def inline_documents(root):
    return [element for element in root.iterdescendants("*") if element.tag in INLINE_ROOTS]


def inline_officially_valid(element, version_of_document):
    own = element.get("version")
    version = own if own in VERSIONS else version_of_document
    return officially_valid(version, INLINE_ROOTS[element.tag], etree.tostring(element, with_tail=False))
