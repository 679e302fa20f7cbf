"""A report as JUnit XML, which continuous integration shows as test results.

There is one suite per file, and in it one case per rule that found something there; a file without findings is one
case that passed. Errors are failures; warnings and information are output of a case that passed.
"""

import re
from collections import defaultdict
from collections.abc import Iterable

from lxml import etree

from ssptool.documents.diagnostics import Diagnostic, Severity
from ssptool.rules.catalogue import RULES
from ssptool.rules.report import Report

# What XML 1.0 cannot hold, not even escaped; it may come from a name that a damaged archive has.
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def render_junit(report: Report) -> str:
    """The report as one `testsuites` element."""
    root = etree.Element("testsuites", name=_clean(report.subject))
    found, withheld = _by_file(report.diagnostics), _by_file(report.withheld)
    for file in dict.fromkeys((*report.files, *found, *withheld)) or [report.subject]:
        root.append(_suite(report, file, found.get(file, {}), withheld.get(file, {})))
    for skipped in report.skipped:
        suite = etree.SubElement(root, "testsuite", name=_clean(skipped.file))
        case = etree.SubElement(suite, "testcase", classname=_clean(skipped.file), name="rules on its content")
        etree.SubElement(case, "skipped", message=_clean(skipped.reason))
        _count(suite)
    _count(root)
    return etree.tostring(root, pretty_print=True, xml_declaration=True, encoding="UTF-8").decode().rstrip("\n")


ByCode = dict[str, list[Diagnostic]]


def _by_file(diagnostics: Iterable[Diagnostic]) -> dict[str, ByCode]:
    found: dict[str, ByCode] = defaultdict(lambda: defaultdict(list))
    for diagnostic in diagnostics:
        found[diagnostic.position.file][diagnostic.code].append(diagnostic)
    return found


def _suite(report: Report, file: str, found: ByCode, withheld: ByCode) -> etree._Element:
    suite = etree.Element("testsuite", name=_clean(file))
    for code, diagnostics in found.items():
        case = _case(suite, report, file, code)
        errors = [one for one in diagnostics if one.severity is Severity.ERROR]
        for error in errors:
            failure = etree.SubElement(case, "failure", type=code, message=_clean(error.message))
            failure.text = _clean(str(error))
        others = [one for one in diagnostics if one not in errors]
        if others:
            etree.SubElement(case, "system-out").text = _clean("\n".join(map(str, others)))
    for code, diagnostics in withheld.items():
        reason = f"ignored, with {len(diagnostics)} findings"
        etree.SubElement(_case(suite, report, file, code), "skipped", message=reason)
    if not len(suite):
        etree.SubElement(suite, "testcase", classname=_clean(file), name="no findings")
    _count(suite)
    return suite


def _case(suite: etree._Element, report: Report, file: str, code: str) -> etree._Element:
    title = f"{code}: {RULES[code].title}" if code in RULES else code
    return etree.SubElement(
        suite, "testcase", classname=_clean(file), name=_clean(title), file=_clean(report.on_disk(file))
    )


def _count(element: etree._Element) -> None:
    """State how many cases are below, in how many ways."""
    cases = list(element.iter("testcase"))
    failed = sum(case.find("failure") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    for name, number in (("tests", len(cases)), ("failures", failed), ("errors", 0), ("skipped", skipped)):
        element.set(name, str(number))


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("�", text)
