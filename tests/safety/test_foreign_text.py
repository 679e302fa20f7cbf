"""Hostile names, units and messages in everything that ssptool prints and writes.

Each output is read by a parser of its kind: a terminal, a CI service, HTML, SVG, JSON, CSV, XML.
"""

import contextlib
import csv
import io
import json
import re
import sys
import unicodedata
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from lxml import etree

import ssptool
from ssptool.cli.app import command
from ssptool.documents.diagnostics import Diagnostic, Position, Severity
from ssptool.foreign_text import (
    SafeStream,
    annotation,
    annotation_property,
    direct,
    html_text,
    indented,
    json_text,
    one_line,
    safe_stream,
    several_lines,
    without_commands,
)

SYSTEMS = Path(__file__).parents[2] / "systems"
HOSTILE = [
    *["\x1b[31m", "\x1b]8;;http://pwn.example\x07", "\x1b[2J", "\x9b2J", "\x90", "\x85", "\x7f", "\x00", "\b", "\x0c"],
    *["\r", "\n", "\t", "\r\n", "\u2028", "\u2029", "\u202e", "\u2066", "\u200f", "\u200b", "\ufeff", "\U000e0041"],
    *["\ud800", "\udfff", "\uffff", "\n::error::pwn", "\r\n::set-output name=pwn::1", "::error file=pwn::pwn"],
    *["##[error]pwn", "##vso[task.complete]pwn", "##teamcity[pwn]", " ", ".", "'", '"', "`", "\\", "%0A::error::pwn"],
    *["<pwn>", "</pwn>", "<script>pwn()</script>", "</script>", "</title>", "-->", "]]>", "&lt;pwn&gt;", "&#60;pwn>"],
    *['<a href="javascript:pwn()">a</a>', '" onload="pwn()', "' href='javascript:pwn()'", "javascript:pwn()"],
    *[
        "](javascript:pwn)",
        "$\\alpha$",
        "=1+pwn",
        ",",
        ";",
        "{pwn}",
        "{{pwn}}",
        "%{pwn}",
        "[m]",
        "é",
        "日本",
        "x",
        "ab",
    ],
]
texts = st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=6).map("".join)
NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
names_in_xml = texts.map(lambda text: f"n{NOT_IN_XML.sub('', text)}n")
FORMATS = ("text", "json", "sarif", "junit")
thorough = settings(max_examples=200, deadline=None, derandomize=True, database=None)
few = settings(
    max_examples=8,
    phases=[Phase.generate],
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


class Terminal:
    """A terminal that refuses all that is not text, a line break, a tab, or (where allowed) a style."""

    def __init__(self, *, styles: bool = False) -> None:
        self.styles = styles
        self.lines = [""]

    def show(self, text: str) -> "Terminal":
        state, sequence = "text", ""
        for letter in text.replace("\r\n", "\n"):
            if state == "text" and letter == "\n":
                self.lines.append("")
            elif state == "text" and letter == "\x1b" and self.styles:
                state, sequence = "escape", ""
            elif state == "escape":
                sequence += letter
                if letter.isalpha():
                    assert re.fullmatch(r"\[[0-9;]*m", sequence), f"the terminal obeys {sequence!r}"
                    state = "text"
            else:
                obeyed = letter != "\t" and unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")
                bidirectional = unicodedata.bidirectional(letter) in DIRECTIONS
                assert not obeyed, f"the terminal obeys {letter!r} in {text!r}"
                assert not bidirectional, f"{letter!r} turns the order of letters round in {text!r}"
                assert letter not in "\u200b\u200e\u200f\u061c\ufeff", f"{letter!r} is not seen in {text!r}"
                self.lines[-1] += letter
        assert state == "text", "a sequence has no end"
        return self


def commands_in(text: str) -> list[str]:
    """Lines that a CI service takes for commands, as runners of GitHub, Azure and TeamCity look for them."""
    return [
        line
        for line in re.split(r"[\n\r\x85\u2028\u2029\x0b\x0c]", text)
        if line.lstrip().startswith("::") or re.search(r"##(vso|teamcity)?\[", line, re.IGNORECASE)
    ]


def check_terminal(text: str) -> None:
    Terminal().show(text)
    assert commands_in(text) == []


class Page(HTMLParser):
    """Collects what a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.scripts: list[str] = []
        self.data: list[str] = []
        self._texts = self.scripts
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag == "script":
            self._texts = self.data if ("type", "application/json") in attrs else self.scripts
            self._texts.append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self._texts[-1] += data


def check_html(text: str, *, scripts: int | None = None) -> Page:
    """No element, attribute, address or script is from data."""
    page = Page(text)
    assert "pwn" not in page.tags
    for name, value in page.attributes:
        assert not name.startswith("on"), (name, value)
        assert "pwn" not in name
        if name in ("href", "src", "action", "formaction", "data", "xlink:href", "srcset"):
            assert value.startswith(("#", "data:image/")), value
    if scripts is not None:
        assert len(page.scripts) == scripts
    for data in page.data:
        assert "<" not in data
        json.loads(data)
    Terminal().show(re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))
    return page


def check_svg(text: str) -> None:
    root = etree.fromstring(text.encode())
    local = [etree.QName(node).localname for node in root.iter() if isinstance(node.tag, str)]
    assert not {"script", "foreignObject", "pwn"} & set(local)
    for node in root.iter():
        for name, value in node.attrib.items():
            assert not etree.QName(name).localname.startswith("on")
            if etree.QName(name).localname == "href":
                assert value.startswith(("#", "data:image/"))
    for told in root.itertext():
        Terminal().show(told)


# -- the functions ---------------------------------------------------------------------------------------------


@given(texts)
@thorough
def test_a_name_is_shown_on_one_line(text):
    shown = one_line(text)
    check = Terminal().show(shown)
    assert len(check.lines) == 1
    assert "\t" not in shown


@given(st.text())
@thorough
def test_any_text_is_shown_on_one_line(text):
    assert len(Terminal().show(one_line(text)).lines) == 1
    Terminal().show(several_lines(text.replace("\r\n", "\n")))


def test_escapes_say_which_character_it_is():
    shown = one_line("a\x1b[1m\x9b\n\u202e\ud800\U000e0041")
    assert shown == r"a\x1b[1m\x9b\n\u202e\ud800\U000e0041"


@pytest.mark.parametrize("text", ["naïve ☃ 日本 🙂 µm Ω·m %", "مرحبا", "a\u0301"])
def test_texts_of_all_languages_stay(text):
    assert one_line(text) == several_lines(text) == text


@given(texts)
@thorough
def test_no_line_is_a_command(text):
    assert commands_in(without_commands(several_lines(text))) == []


@given(st.lists(texts, max_size=8))
@thorough
def test_nothing_passes_the_standard_streams_however_it_is_parted(parts):
    buffer = io.BytesIO()
    stream = safe_stream(io.TextIOWrapper(buffer, encoding="utf-8", errors="backslashreplace"))
    for part in parts:
        assert stream.write(part) == len(part)
    stream.flush()
    shown = buffer.getvalue().decode()
    Terminal(styles=True).show(shown)
    assert commands_in(re.sub("\x1b\\[[0-9;]*m", "", shown)) == [] or "\x1b" in shown


def test_what_is_ours_passes_beside_the_gate():
    buffer = io.BytesIO()
    stream = safe_stream(io.TextIOWrapper(buffer, encoding="utf-8"))
    assert isinstance(stream, SafeStream)
    direct(stream).write("::notice::ours\n")
    stream.write("::notice::theirs\n")
    stream.flush()
    assert buffer.getvalue() == b"::notice::ours\n:\\x3anotice::theirs\n"


@given(texts)
@thorough
def test_json_gives_the_same_content_and_is_safe_to_print(text):
    written = json_text({text: [text]}, indent=1)
    check_terminal(written)
    assert json.loads(written) == {text: [text]}
    written.encode()


@given(texts)
@thorough
def test_text_in_html_stays_text(text):
    page = Page(f'<p title="{html_text(text)}">{html_text(text)}</p>')
    assert page.tags == ["p"]
    assert [name for name, _ in page.attributes] == ["title"]


@given(texts, texts)
@thorough
def test_an_annotation_is_one_command(name, message):
    line = f"::error file={annotation_property(name)},title=A::{annotation(message)}"
    Terminal().show(line)
    assert commands_in(line) == [line]
    properties, _, _ = line.removeprefix("::error ").partition("::")
    assert re.fullmatch(r"file=[^:,]*,title=A", properties)


@given(texts)
@thorough
def test_no_line_of_a_message_passes_for_another_message(text):
    first, *others = indented(f"wrong name {text}").split("\n")
    assert first.startswith("wrong name")
    assert all(line.startswith("  ") or not line.strip() for line in others)


# -- renderers of reports --------------------------------------------------------------------------------------


def report_of(name: str) -> ssptool.types.Report:
    position = Position(f"{name}.ssd", 3, f"/System[@name={name!r}]")
    found = tuple(
        Diagnostic(code, severity, position, f"the name {name} is wrong", f"write {name}")
        for code, severity in (("SSD-CONN-004", Severity.ERROR), ("SSD-GEO-001", Severity.WARNING))
    )
    return ssptool.types.Report(name, found, files=(position.file,))


@given(texts)
@thorough
def test_reports_of_hostile_names(name):
    report = report_of(name)
    for form in ("text", "full text"):
        check_terminal(without_commands(ssptool.renderers.PLAIN_REPORT_RENDERERS[form](report)))
    for form in ("json", "sarif"):
        text = ssptool.renderers.PLAIN_REPORT_RENDERERS[form](report)
        check_terminal(text)
        content = json.loads(text)
    for result in content["runs"][0]["results"]:
        assert "](" not in result["message"]["text"]
        Terminal().show(result["message"]["text"])
    junit = ssptool.renderers.PLAIN_REPORT_RENDERERS["junit"](report)
    Terminal().show(junit)
    assert {node.tag for node in etree.fromstring(junit.encode()).iter()} <= {
        *("testsuites", "testsuite", "testcase", "failure", "system-out", "skipped")
    }
    lines = ssptool.renderers.PLAIN_REPORT_RENDERERS["github"](report)
    Terminal().show(lines)
    assert len(commands_in(lines)) == len(report.diagnostics)
    assert all(re.match(r"::(error|warning|notice) file=[^:,]*,title=[A-Z0-9-]+::", one) for one in commands_in(lines))


# -- commands on a system ----------------------------------------------------------------------------------------


def write_system(folder: Path, name: str, unit: str, *, broken: bool = False) -> Path:
    """A table with such names, in an element, connectors and units; a `broken` system connects what is not there."""
    (folder / "resources").mkdir(parents=True)
    header = io.StringIO()
    csv.writer(header).writerow(["time", name, f"two{name}"])
    table = header.getvalue() + "0,1,2\r\n1,3,4\r\n"
    (folder / "resources" / "table.csv").write_text(table, encoding="utf-8", newline="")
    n, two, u = (quoteattr(each) for each in (name, f"two{name}", unit))
    n, two, u = (each.replace("\u2028", "&#x2028;") for each in (n, two, u))
    units = f'<ssd:Units><ssc:Unit name={u}><ssc:BaseUnit m="1"/></ssc:Unit></ssd:Units>'
    connectors = "".join(
        f'<ssd:Connector name={each} kind="output"><ssc:Real unit={u}/></ssd:Connector>' for each in (n, two)
    )
    nowhere = f"<ssd:Connection startElement={n} startConnector={n} endElement={two} endConnector={two}/>"
    (folder / "SystemStructure.ssd").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"'
        ' xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon" version="1.0"'
        f" name={n}><ssd:System name={n} description={n}>"
        f'<ssd:Connectors><ssd:Connector name={n} kind="output"><ssc:Real unit={u}/></ssd:Connector></ssd:Connectors>'
        f'<ssd:Elements><ssd:Component name={n} description={n} type="text/csv" source="resources/table.csv">'
        f"<ssd:Connectors>{connectors}</ssd:Connectors></ssd:Component></ssd:Elements>"
        f"<ssd:Connections><ssd:Connection startElement={n} startConnector={n} endConnector={n}/>"
        f"{nowhere if broken else ''}</ssd:Connections>"
        f"</ssd:System>{units}"
        '<ssd:DefaultExperiment startTime="0" stopTime="1"/></ssd:SystemStructureDescription>',
        encoding="utf-8",
    )
    return folder


def add_fmu(system: Path, name: str, unit: str) -> None:
    """One of ours, with other names of a variable and a unit."""
    n, u = (quoteattr(each).replace("\u2028", "&#x2028;") for each in (f"{name}v", f"{unit}u"))
    with zipfile.ZipFile(SYSTEMS / "dual_mass_oscillator/resources/System1.fmu") as fmu:
        entries = {entry: fmu.read(entry) for entry in fmu.namelist() if not entry.endswith("/")}
    description = entries["modelDescription.xml"].decode()
    for before, after in (('name="x1"', f"name={n}"), ('Unit name="m"', f"Unit name={u}"), ('unit="m"', f"unit={u}")):
        description = description.replace(before, after)
    with zipfile.ZipFile(system / "resources" / "One.fmu", "w") as fmu:
        for entry, content in (entries | {"modelDescription.xml": description.encode()}).items():
            fmu.writestr(entry, content)
    path = system / "SystemStructure.ssd"
    component = (
        f'<ssd:Component name={n} source="resources/One.fmu"><ssd:Connectors>'
        f'<ssd:Connector name={n} kind="output"/></ssd:Connectors></ssd:Component></ssd:Elements>'
    )
    path.write_text(path.read_text(encoding="utf-8").replace("</ssd:Elements>", component), encoding="utf-8")


def call(*arguments: object) -> tuple[int, str, str]:
    """The command in this process, without the gate of the standard streams: what reaches it is safe already."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["ssptool", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ending:
            command()
    finally:
        sys.argv = before
    assert ending.value.code != 70, err.getvalue()
    check_terminal(err.getvalue())
    return int(ending.value.code or 0), out.getvalue(), err.getvalue()


@given(names_in_xml, names_in_xml)
@few
def test_commands_that_look_at_a_system(tmp_path_factory, name, unit):
    system = write_system(tmp_path_factory.mktemp("hostile") / "system", name, unit)
    pages = system.parent
    broken = write_system(pages / "broken", name, unit, broken=True)
    for arguments in (
        *(
            ["validate", path, "--format", form]
            for path in (system, broken)
            for form in ("text", "json", "sarif", "junit")
        ),
        *(["graph", system, "--format", form] for form in ("text", "json", "dot")),
        ["info", system],
        *(["explain", system, each] for each in (f"{name}.{name}", name, "nothing")),
        ["info", system, "--format", "json"],
        ["explain", system, "--all"],
        ["explain", system, "--all", "--format", "json"],
        ["diff", system, write_system(pages / "other", f"{name}o", unit)],
        ["variant", "list", system],
        ["rename", system, name, f"{name}2", "--diff"],
        ["set", system, f"{name}=1", "--diff"],
        ["remove", system, name, "--diff"],
    ):
        check_terminal(call(*arguments)[1])
    _, lines, _ = call("validate", broken, "--format", "github")
    Terminal().show(lines)
    assert all(re.match(r"::(error|warning|notice) file=[^:,]*,", line) for line in commands_in(lines))
    call("draw", system, "--output", pages / "d.svg")
    call("draw", system, "--output", pages / "d.html")
    check_svg((pages / "d.svg").read_text(encoding="utf-8"))
    check_html((pages / "d.html").read_text(encoding="utf-8"), scripts=1)


@given(names_in_xml, names_in_xml)
@few
def test_commands_that_make_and_read_results(tmp_path_factory, name, unit):
    folder = tmp_path_factory.mktemp("results")
    system = write_system(folder / "system", name, unit)
    add_fmu(system, name, unit)
    check_terminal(call("plan", system)[1])
    check_terminal(call("info", system)[1])
    result = folder / "r.csv"
    status, out, err = call("run", system, "--output", result, "--step-size", 0.5)
    check_terminal(out)
    assert status == 0, err
    Terminal().show(result.read_text(encoding="utf-8"))  # a file is data: names in it may look like commands of CI
    header, *rows = csv.reader(io.StringIO(result.read_text(encoding="utf-8"), newline=""))
    assert {len(row) for row in rows} == {len(header)}
    assert f"{name}v.{name}v" in ssptool.read_trace(result).signals, "the file beside it has the names themselves"
    for arguments in (["compare", result, result], ["compare", result, result, "--format", "json"]):
        check_terminal(call(*arguments)[1])
    call("plot", result, "--output", folder / "p.html")
    check_html((folder / "p.html").read_text(encoding="utf-8"), scripts=3)
    call("plot", result, "--output", folder / "p.svg")
    check_svg((folder / "p.svg").read_text(encoding="utf-8"))
    assert call("report", system, result, "--output", folder / "r.html")[0] == 0
    check_html((folder / "r.html").read_text(encoding="utf-8"), scripts=1)
