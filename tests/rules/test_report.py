"""The mechanism: how findings are stamped, sorted, kept apart from faults of ours, and shown."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ssptool.documents import ssd
from ssptool.documents.diagnostics import Diagnostic, Position, Severity
from ssptool.documents.schema import violated_places
from ssptool.documents.vocabulary import NSMAP
from ssptool.errors import UnknownName
from ssptool.renderers import REPORT_RENDERERS
from ssptool.rules import report as report_module
from ssptool.rules import xml
from ssptool.rules.catalogue import ERROR, INFO, MUST, RULES, WARNING, Chapter, Finding, near, rules_over
from ssptool.rules.report import Skipped, SourceLine, excerpt
from ssptool.rules.report_text import render_text
from ssptool.rules.runner import check_path
from ssptool.rules.selection import RuleChoice, Switches
from ssptool.rules.subjects import Structure
from ssptool.types import Report

HERE = Path(__file__).parent
TWO_OUTPUTS = HERE / "SSD-CONN-004" / "fail-two-outputs.ssd"
PLACE = Position("SystemStructure.ssd", 7, "/System/Elements/Component[@name='A']/@source")
LINE = '      <ssd:Component name="A" source="A.fmu"/>'


@pytest.fixture
def failing_rule() -> Iterator[str]:
    """A rule of ours that has a fault."""

    def fails(component: ssd.Component, structure: Structure) -> Iterator[Finding]:
        """A page. Fix: none."""
        yield Finding(component, str(1 // 0))

    Chapter("Tests").rule("TEST-001", severity=ERROR, basis=MUST, source="nowhere")(fails)
    yield "TEST-001"
    del RULES["TEST-001"]
    rules_over.cache_clear()


def test_a_rule_that_fails_is_reported_and_takes_no_other_along(failing_rule: str, package: Callable[[Path], Path]):
    report = check_path(package(TWO_OUTPUTS))
    codes = {found.code for found in report.diagnostics}
    assert {"INTERNAL", "SSD-CONN-004"} <= codes
    told = next(found for found in report.diagnostics if found.code == "INTERNAL")
    assert failing_rule in told.message
    assert "ZeroDivisionError" in told.message


def test_a_rule_that_fails_raises_if_asked_to(failing_rule: str, package: Callable[[Path], Path]):
    with pytest.raises(ZeroDivisionError):
        check_path(package(TWO_OUTPUTS), unguarded=True)


def test_a_code_is_given_once():
    with pytest.raises(ValueError, match="SSD-CONN-004"):
        Chapter("Tests").rule("SSD-CONN-004", severity=ERROR, basis=MUST)(RULES["SSD-CONN-004"].find)


def test_ignored_codes_are_not_listed(package: Callable[[Path], Path]):
    switches = Switches((RuleChoice(ignore=("SSD-CONN-004",)),))
    assert check_path(package(TWO_OUTPUTS), switches=switches, unguarded=True).ok


@pytest.mark.parametrize(("name", "severity"), [("fail-empty", ERROR), ("fail-empty-1.0", WARNING)])
def test_the_severity_may_depend_on_the_version(name: str, severity: Severity, package: Callable[[Path], Path]):
    report = check_path(package(HERE / "SSD-COMP-002" / f"{name}.ssd"), unguarded=True)
    assert [one.severity for one in report.diagnostics if one.code == "SSD-COMP-002"] == [severity]


def test_a_parameter_meant_for_an_element_is_a_warning(package: Callable[[Path], Path]):
    misspelt = check_path(package(HERE / "SSD-PAR-023" / "fail-misspelt.ssd"), unguarded=True)
    assert [one.severity for one in misspelt.diagnostics if one.code == "SSD-PAR-023"] == [WARNING]
    assert "'steps'" in misspelt.warnings[0].advice


def test_a_parameter_meant_for_nothing_here_is_an_information(package: Callable[[Path], Path]):
    stray = check_path(package(HERE / "SSD-PAR-023" / "fail-matches-nothing.ssd"), unguarded=True)
    assert [one.severity for one in stray.diagnostics if one.code == "SSD-PAR-023"] == [INFO]


def test_reports_of_equal_packages_are_equal(package: Callable[[Path], Path]):
    folder = package(TWO_OUTPUTS)
    assert check_path(folder) == check_path(folder)


def test_what_is_not_there_raises(tmp_path: Path, package: Callable[[Path], Path]):
    with pytest.raises(FileNotFoundError):
        check_path(tmp_path / "none.ssp")
    with pytest.raises(UnknownName, match="Case"):
        check_path(package(TWO_OUTPUTS), "Kase")


@pytest.mark.parametrize(
    ("address", "marked"),
    [
        ("/System/Elements/Component[@name='A']/@source", 'source="A.fmu"'),
        ("/System/Elements/Component[@name='A']", '<ssd:Component name="A" source="A.fmu"/>'),
        ("/System/Elements/Component[@name='B']", LINE.strip()),
        ("/System/Elements/Component[@name='A']/@type", '<ssd:Component name="A" source="A.fmu"/>'),
        ("", LINE.strip()),
    ],
)
def test_the_excerpt_marks_the_attribute_or_else_the_element(address: str, marked: str):
    shown = excerpt(LINE, Position("a.ssd", 1, address))
    assert shown.text[shown.start : shown.end] == marked


def test_the_excerpt_tells_elements_of_one_line_apart():
    line = '<ssd:Connector name="x" kind="input"/><ssd:Connector name="y" kind="input"/>'
    shown = excerpt(line, Position("a.ssd", 1, "/System/Connectors/Connector[@name='y']/@kind"))
    assert (shown.start, shown.text[shown.start : shown.end]) == (line.rindex("kind"), 'kind="input"')


def test_the_excerpt_tells_elements_without_a_name_by_what_is_around_them():
    line = '<ssd:Connector name="x"><ssc:Real unit="a"/></ssd:Connector><ssd:Connector name="y"><ssc:Real unit="b"/>'
    shown = excerpt(line, Position("a.ssd", 1, "/System/Connectors/Connector[@name='y']/Real/@unit"))
    assert shown.text[shown.start : shown.end] == 'unit="b"'


def test_the_excerpt_follows_a_start_tag_to_the_line_of_the_attribute():
    lines = ['\t<ssd:Component name="A"', '\t  type="t"', '\t  source="A.fmu">', '<x source="B.fmu"/>']
    for attribute, line, marked in (("source", 9, 'source="A.fmu"'), ("implementation", 7, lines[0].strip())):
        at = Position("a.ssd", 7, f"/System/Elements/Component[@name='A']/@{attribute}")
        shown = excerpt(lines[0], at, lines[1:])
        assert (shown.line, shown.text[shown.start : shown.end]) == (line, marked)
    closed = excerpt(lines[0] + ">", Position("a.ssd", 7, "/Component[@name='A']/@source"), lines[1:])
    assert closed.line == 7


def test_a_long_line_is_searched_for_tags_once_and_kept_in_parts(monkeypatch):
    """Each of many findings on one line has the columns of its tag; the work is one search of the line."""
    tags = [f'<ssd:Connector name="ä{number}" kind="x"/>' for number in range(2_000)]
    text = "".join(tags)
    searched: list[int] = []
    pattern = report_module._TAG

    class Counted:
        def finditer(self, line):
            searched.append(len(line))
            return pattern.finditer(line)

    monkeypatch.setattr(report_module, "_TAG", Counted())
    line, at = SourceLine(text), 0
    for number, tag in enumerate(tags):
        address = f"/System/Connectors/Connector[@name='ä{number}']/@kind"
        shown = excerpt(line, Position("a.ssd", 1, address))
        assert (shown.start, shown.end) == (at + tag.index("kind"), at + len(tag) - 2)
        assert shown.text[slice(*shown.place)] == 'kind="x"' == text[shown.start : shown.end]
        assert len(shown.text) <= 4_000 and text[shown.shift :].startswith(shown.text)
        assert shown.passed == "ä" * text.count("ä", 0, shown.shift)
        at += len(tag)
    assert searched == [len(text)]


def test_a_long_line_without_a_known_place_is_shown_in_part():
    shown = excerpt("<!-- " + "x" * 100_000, Position("a.ssd", 1, "/System/Connectors"))
    assert (shown.start, shown.end, shown.shift) == (0, 100_005, 0)
    assert len(shown.text) <= 4_000 and shown.place == (0, len(shown.text))


def test_the_excerpt_of_a_file_in_utf_16_is_legible(package: Callable[[Path], Path]):
    path = package(Path(__file__).parent / "SSD-CONN-004" / "fail-two-outputs.ssd")
    structure = path / "SystemStructure.ssd"
    text = structure.read_text(encoding="utf-8")
    root = text[text.index("<", text.startswith("<?xml")) :]
    structure.write_bytes(f"<?xml version='1.0' encoding='UTF-16'?>\n{root}".encode("utf-16"))
    found = check_path(path)
    assert [found.excerpts[each.position].text for each in found.diagnostics if each.code == "XML-002"] == [
        "<?xml version='1.0' encoding='UTF-16'?>"
    ]


def report() -> Report:
    wrong = Diagnostic("URI-002", Severity.ERROR, PLACE, "there is no file 'A.fmu'", "did you mean 'B.fmu'?")
    aside = Diagnostic("PKG-022", Severity.INFO, Position("resources/B.fmu"), "no system structure refers to this file")
    skipped = (Skipped("resources/v.ssv", "it is not valid"),)
    return Report("dmo.ssp", (wrong, aside), ("SystemStructure.ssd",), skipped, {PLACE: excerpt(LINE, PLACE)})


def test_text_shows_the_place_the_line_what_is_marked_and_a_summary():
    assert render_text(report(), colour=False).split("\n") == [
        "error URI-002 SystemStructure.ssd:7",
        "    there is no file 'A.fmu'",
        '     7 | <ssd:Component name="A" source="A.fmu"/>',
        "       |                         ~~~~~~~~~~~~~~",
        "    Hint: did you mean 'B.fmu'?",
        "",
        "info PKG-022 resources/B.fmu",
        "    no system structure refers to this file",
        "",
        "skipped resources/v.ssv: it is not valid",
        "1 error, 1 info in SystemStructure.ssd, resources/B.fmu",
    ]


@pytest.mark.parametrize("width", [40, 80, 120, None])
def test_lines_are_broken_where_the_terminal_ends_and_the_mark_stays_below_what_it_marks(width: int | None):
    words = " ".join(["word"] * 60)
    line = "\t" + "<!-- aside -->" * 9 + LINE.strip() + "<!-- aside -->" * 9
    wrong = Diagnostic("URI-002", Severity.ERROR, PLACE, words, words)
    lines = render_text(
        Report("a.ssp", (wrong,), (), (), {PLACE: excerpt(line, PLACE)}), colour=False, width=width
    ).split("\n")
    number = next(number for number, text in enumerate(lines) if " | " in text)
    source, marks = lines[number : number + 2]
    marked = source[marks.index("~") :][: marks.count("~")]
    if width is None:
        assert len(lines) == 7
    else:
        assert max(map(len, lines)) <= width
        assert all(text.startswith("    ") for text in lines[1:number])
    assert marked == 'source="A.fmu"'
    assert " ".join(" ".join(lines[1:number]).split()) == words


def test_colours_are_for_terminals_only():
    assert "\x1b[" in render_text(report(), colour=True)
    assert "\x1b[" not in render_text(report(), colour=False)


def test_a_message_with_brackets_is_shown_as_it_is():
    odd = Diagnostic("FMU-002", Severity.ERROR, Position("a.ssd", 1), "no variable '[bold]vec[1]'")
    assert "'[bold]vec[1]'" in render_text(Report("a.ssd", (odd,)), colour=True)


def test_a_clean_report_says_so():
    assert (
        render_text(Report("dmo.ssp", (), ("SystemStructure.ssd",)), colour=False)
        == "no findings in SystemStructure.ssd"
    )


def test_json_holds_everything_with_sorted_keys():
    text = REPORT_RENDERERS["json"](report())
    content = json.loads(text)
    assert text == json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False)
    assert content["ok"] is False
    assert content["counts"] == {"error": 1, "warning": 0, "info": 1}
    assert content["skipped"] == [{"file": "resources/v.ssv", "reason": "it is not valid"}]
    first, second = content["diagnostics"]
    assert (first["code"], first["severity"], first["file"], first["line"]) == ("URI-002", "error", PLACE.file, 7)
    assert first["rule"] == RULES["URI-002"].title
    assert second["line"] is None


def test_a_misspelt_name_gets_the_nearest_and_another_all_if_they_are_few():
    assert near("m7", ["m1", "time"]) == "did you mean 'm1'?"
    assert near("zzz", ["b", "a"]) == "available: 'a', 'b'"
    assert near("zzz", [str(number) for number in range(99)]) == ""


def test_of_a_code_a_hundred_are_shown_unless_all_are_wanted():
    many = tuple(
        Diagnostic("XML-004", Severity.ERROR, Position("a.ssd", line), f"wrong {line}") for line in range(1, 131)
    )
    shown, whole = (render_text(Report("a.ssd", many), colour=False, each=each) for each in (False, True))
    assert (shown.count("error XML-004"), whole.count("error XML-004")) == (100, 130)
    assert "30 more of XML-004" in shown and "130 errors" in shown


def test_an_inline_document_of_1_0_is_read_once_as_2_0_for_all_its_findings(tmp_path: Path, monkeypatch):
    wrong = "".join(f'<ssv:Parameter name="p{n}" x="1"><ssv:Real value="1"/></ssv:Parameter>' for n in range(5))
    names = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in NSMAP.items())
    (tmp_path / "a.ssd").write_text(
        f'<ssd:SystemStructureDescription {names} version="1.0" name="d"><ssd:System name="s"><ssd:ParameterBindings>'
        '<ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version="1.0" name="p"><ssv:Parameters>'
        f"{wrong}</ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding>"
        "</ssd:ParameterBindings></ssd:System></ssd:SystemStructureDescription>"
    )
    read = []

    def counting(root, version):
        read.append((root.tag.rpartition("}")[2], version))
        return violated_places(root, version)

    monkeypatch.setattr(xml, "violated_places", counting)
    found = check_path(tmp_path / "a.ssd")
    assert [one.code for one in found.diagnostics].count("XML-005") == 5
    assert read.count(("ParameterSet", "2.0")) == 1
