"""Reports for other tools have the structure that these tools read."""

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from lxml import etree

from ssptool.documents.diagnostics import Diagnostic, Position, Severity
from ssptool.rules.catalogue import RULES
from ssptool.rules.excerpt import excerpt
from ssptool.rules.renderers import PLAIN_RENDERERS, RENDERERS
from ssptool.rules.report import Report, Skipped
from ssptool.rules.runner import check_path

HERE = Path(__file__).parent
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


# The properties that each kind of SARIF object must have, and those it may have here: OASIS SARIF 2.1.0, section 3.
SARIF: dict[str, tuple[set[str], dict[str, str]]] = {
    "log": ({"version", "runs"}, {"$schema": "str", "version": "str", "runs": "[run]"}),
    "run": (
        {"tool"},
        {
            "tool": "tool",
            "results": "[result]",
            "artifacts": "[artifact]",
            "columnKind": "str",
            "invocations": "[invocation]",
        },
    ),
    "tool": ({"driver"}, {"driver": "toolComponent"}),
    "toolComponent": ({"name"}, {"name": "str", "version": "str", "rules": "[reportingDescriptor]"}),
    "reportingDescriptor": (
        {"id"},
        {
            "id": "str",
            "shortDescription": "text",
            "fullDescription": "text",
            "help": "text",
            "defaultConfiguration": "reportingConfiguration",
            "properties": "any",
        },
    ),
    "reportingConfiguration": (set(), {"level": "level"}),
    "text": ({"text"}, {"text": "str"}),
    "result": (
        {"message"},
        {
            "message": "text",
            "ruleId": "str",
            "ruleIndex": "int",
            "level": "level",
            "locations": "[location]",
            "suppressions": "[suppression]",
        },
    ),
    "suppression": ({"kind"}, {"kind": "str", "justification": "str"}),
    "location": (set(), {"physicalLocation": "physicalLocation", "logicalLocations": "[logicalLocation]"}),
    "physicalLocation": ({"artifactLocation"}, {"artifactLocation": "artifactLocation", "region": "region"}),
    "artifactLocation": ({"uri"}, {"uri": "uri"}),
    "artifact": (set(), {"location": "artifactLocation"}),
    "region": ({"startLine"}, {"startLine": "int", "snippet": "text"}),
    "logicalLocation": (set(), {"fullyQualifiedName": "str"}),
    "invocation": (
        {"executionSuccessful"},
        {"executionSuccessful": "bool", "toolExecutionNotifications": "[notification]"},
    ),
    "notification": ({"message"}, {"message": "text", "level": "level", "locations": "[location]"}),
}
SCALARS: dict[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "int": lambda value: type(value) is int and value >= 0,
    "bool": lambda value: isinstance(value, bool),
    "level": lambda value: value in ("none", "note", "warning", "error"),
    "uri": lambda value: re.fullmatch(r"([!#$&-;=?-Z_a-z~]|%[0-9A-F]{2})*", value) and urlsplit(value) is not None,
    "any": lambda value: True,
}


def wrong_in_sarif(value: Any, kind: str, path: str = "log") -> Iterator[str]:
    if kind.startswith("["):
        if not isinstance(value, list):
            yield f"{path} is no array"
            return
        for number, one in enumerate(value):
            yield from wrong_in_sarif(one, kind.strip("[]"), f"{path}[{number}]")
    elif kind in SCALARS:
        if not SCALARS[kind](value):
            yield f"{path} is {value!r}, not {kind}"
    else:
        required, known = SARIF[kind]
        yield from (f"{path} has no {key}" for key in required - set(value))
        yield from (f"{path} has an unknown {key}" for key in set(value) - set(known))
        for key in set(value) & set(known):
            yield from wrong_in_sarif(value[key], known[key], f"{path}.{key}")


@pytest.mark.parametrize("shown", list(reports()))
def test_sarif_has_the_required_structure(shown: Report):
    log = json.loads(RENDERERS["sarif"](shown))
    assert list(wrong_in_sarif(log, "log")) == []
    assert log["version"] == "2.1.0"
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        if "ruleIndex" in result:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_sarif_names_files_on_disk_and_suppresses_what_is_ignored():
    first, _, _, _, ignored = json.loads(RENDERERS["sarif"](report()))["runs"][0]["results"]
    physical = first["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"] == "a/b/resources/v%201.ssv"
    assert physical["region"]["startLine"] == 3
    assert physical["region"]["snippet"]["text"] == LINE
    assert ignored["ruleId"] == "SSD-CONN-004"
    assert ignored["suppressions"][0]["kind"] == "external"
    assert "suppressions" not in first


def test_sarif_of_a_zip_names_the_package_and_says_where_inside():
    first = json.loads(RENDERERS["sarif"](report(None)))["runs"][0]["results"][0]
    location = first["locations"][0]
    assert location["physicalLocation"] == {"artifactLocation": {"uri": "a/b.ssp"}}
    assert location["logicalLocations"] == [{"fullyQualifiedName": f"resources/v 1.ssv:3#{PLACE.address}"}]


def test_junit_counts_cases_failures_and_skips():
    root = etree.fromstring(RENDERERS["junit"](report()).encode())
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
    assert (
        etree.fromstring(RENDERERS["junit"](report()).encode()).find("testsuite[@name='resources/�.fmu']") is not None
    )


def test_github_annotations_are_escaped_and_name_files_on_disk():
    lines = RENDERERS["github"](report()).split("\n")
    assert lines[0] == (
        "::error file=a/b/resources/v 1.ssv,line=3,title=SSV-001::100 %25 wrong:%0Afirst, second%0Arename it"
    )
    assert lines[1].startswith("::warning file=a/b/SystemStructure.ssd,line=9,title=SSD-CONN-013::")
    assert lines[2].startswith("::notice file=a/b/resources/\x01.fmu,title=PKG-022::")
    assert "1 error, 2 warnings, 1 info" in lines[-1]
    odd = Diagnostic("URI-002", Severity.ERROR, Position("a,b:c.ssd", 1), "x")
    assert RENDERERS["github"](Report("p", (odd,), folder="p")).startswith("::error file=p/a%2Cb%3Ac.ssd,line=1,")


def test_github_annotations_of_a_zip_are_at_the_package():
    first = RENDERERS["github"](report(None)).split("\n")[0]
    assert first.startswith("::error file=a/b.ssp,title=SSV-001::resources/v 1.ssv:3: 100 %25 wrong")


def test_plain_renderings_have_no_colours(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert all("\x1b" not in render(report()) for render in PLAIN_RENDERERS.values())


def test_paths_on_disk_can_be_opened(package: Callable[[Path], Path], tmp_path: Path):
    folder = package(HERE / "SSD-CONN-004" / "fail-two-outputs.ssd")
    zipped = tmp_path / "package.ssp"
    with zipfile.ZipFile(zipped, "w") as archive:
        for path in folder.rglob("*.*"):
            archive.write(path, path.relative_to(folder).as_posix())
    for subject in (folder, folder / "SystemStructure.ssd", zipped):
        found = check_path(subject)
        assert found.diagnostics
        assert all(Path(found.on_disk(one.position.file)).is_file() for one in found.diagnostics)


def test_every_rule_can_stand_in_a_sarif_log():
    everything = tuple(Diagnostic(code, Severity.ERROR, Position("a.ssd", 1), "x") for code in sorted(RULES))
    log = json.loads(RENDERERS["sarif"](Report("a.ssd", everything)))
    assert list(wrong_in_sarif(log, "log")) == []
    assert len(log["runs"][0]["tool"]["driver"]["rules"]) == len(RULES)
