"""A report is one page that has everything, escapes what it shows, and names what has changed since the run."""

import re
import shutil
from pathlib import Path

import pytest
from lxml import html

import ssptool
from ssptool.documents.diagnostics import Diagnostic, Position, Severity
from ssptool.results.report import report_page, run_report_content
from ssptool.results.report.content import ReportPicture
from tests.drawing.sheets.test_sheets import connector, element, system
from tests.fmus import build as fmus
from tests.results.report.tables import cells

SYSTEM = Path(__file__).parents[3] / "systems" / "dual_mass_oscillator"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("run")
    system = Path(shutil.copytree(SYSTEM, folder / "system"))
    ssptool.simulate(system, settings=ssptool.Settings(stop_time=0.1), output=folder / "r.parquet", statistics=True)
    return system, folder / "r.parquet"


def page(folder: Path, results: Path, tmp_path: Path):
    ssptool.report(folder, results, tmp_path / "r.html")
    return html.parse(tmp_path / "r.html").getroot()


def test_a_report_tells_of_system_findings_loops_run_and_origin(run, tmp_path):
    root = page(*run, tmp_path)
    assert root.xpath("//h1")[0].text == "DualMassOscillator"
    assert "completed, 0 to 0.1 s" in root.xpath("//header/p")[0].text_content()
    assert [heading.text for heading in root.xpath("//h2")] == [
        "System",
        "Findings",
        "Initialization and algebraic loops",
        "Results",
        "Run",
        "Origin",
    ]
    assert {"System1", "System2"} <= {text.text for text in root.xpath("//figure//*[name()='text']")}
    assert any("SSD-CONN-015" in item.text_content() for item in root.xpath("//ul[@class='findings']/li"))
    first = cells(root, "Algebraic loops at the start")[0]
    assert first[0] == "initialization"
    assert first[4] == "converged"
    assert ["macro steps", "100"] in cells(root, "Run statistics")
    assert any(row[1] == "fmi2DoStep" for row in cells(root, "Calls of FMI functions"))


def test_a_report_needs_nothing_from_elsewhere(run, tmp_path):
    ssptool.report(*run, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=", text) == []


def test_files_that_changed_or_vanished_since_the_run_are_named(run, tmp_path):
    system, results = run
    changed = Path(shutil.copytree(system, tmp_path / "changed"))
    with (changed / "SystemStructure.ssd").open("a") as file:
        file.write("<!-- later -->\n")
    (changed / "resources" / "System2.fmu").unlink()
    now = {row[0]: row[2] for row in cells(page(changed, results, tmp_path), "Input files")}
    assert now["SystemStructure.ssd"] == "changed since the run"
    assert now["resources/System2.fmu"] == "not there"
    assert now["resources/System1.fmu"] == "the same"
    assert "NoFlange.ssd" not in now  # another variant


def test_a_failed_run_says_why(tmp_path):
    ssptool.simulate(
        SYSTEM,
        parameters=[SYSTEM / "resources" / "heavy_flange.ssv"],
        settings=ssptool.Settings(init="fixed-point", stop_time=0.1),
        output=tmp_path / "r.csv",
    )
    root = page(SYSTEM, tmp_path / "r.csv", tmp_path)
    verdict = root.xpath("//header/p")[0]
    assert verdict.get("class") == "bad"
    assert "algebraic loop" in verdict.text_content()


def test_findings_of_other_variants_are_not_shown(tmp_path):
    """Each variant has a loop; the one that ran has that of its own file alone."""
    for variant, shown in ((None, "SystemStructure.ssd"), ("Mixed.ssd", "Mixed.ssd")):
        ssptool.simulate(SYSTEM, variant=variant, stop_time=0.01, output=tmp_path / "r.csv")
        root = page(SYSTEM, tmp_path / "r.csv", tmp_path)
        told = root.xpath("//section[h2[contains(., 'Findings')]]")[0].text_content()
        assert set(re.findall(r"\w+\.ssd", told)) == {shown}


def test_a_run_that_failed_ended_at_one_time_for_summary_and_report(tmp_path):
    system = SYSTEM.parent / "one_dof_oscillator"
    options = {"master": "iterated", "acceleration": "none", "max_iterations": 30, "step_size": 0.1}
    result = ssptool.simulate(system, variant="Newmark.ssd", settings=options, output=tmp_path / "r.csv")
    root = page(system, tmp_path / "r.csv", tmp_path)  # of the variant that ran
    assert root.xpath("//h1")[0].text == "OneDofOscillatorNewmark"
    verdict = root.xpath("//header/p")[0].text_content()
    assert result.failure.time == 0
    assert f"{result.status} at 0 s of 0 to 1 s, on 20" in verdict
    assert result.failure.message in verdict


@pytest.fixture
def broken(tmp_path) -> Path:
    """A system whose component Bad crashes its process at a parameter's time; the other is called Good."""
    folder = tmp_path / "broken"
    (folder / "resources").mkdir(parents=True)
    shutil.copy(fmus.build() / "fmi2" / "Misbehaving.fmu", folder / "resources" / "M.fmu")
    connectors = connector("u", "input") + connector("y", "output")
    parts = [element(name, connectors).replace(f"{name}.fmu", "resources/M.fmu") for name in ("Good", "Bad")]
    line = '<ssd:Connection startElement="Good" startConnector="y" endElement="Bad" endConnector="u"/>\n'
    return Path(system(folder, "".join(parts), line))


@pytest.mark.parametrize(("when", "rows"), [(0.45, 5), (-1.0, 0)], ids=["later", "at the start"])
def test_a_run_that_crashed_says_where_and_what_to_try(broken, tmp_path, when, rows):
    start_values = {"Bad.what": str(fmus.WRITE_TO_NULL), "Bad.when": str(when)}
    settings = ssptool.Settings(stop_time=1.0, step_size=0.1)
    ssptool.simulate(broken, start_values=start_values, settings=settings, output=tmp_path / "r.csv", isolated=True)
    assert len(ssptool.read_trace(tmp_path / "r.csv")) == rows
    root = page(broken, tmp_path / "r.csv", tmp_path)
    told = dict(cells(root, "Details"))
    assert told["component"] == "Bad"
    assert told["FMI function called last"].startswith("fmi2")
    assert "supplier" in told["advice"]
    (marked,) = root.xpath("//*[name()='g'][contains(@class, 'block error')]")
    assert "SIGSEGV" in marked.xpath("./*[name()='title']")[0].text
    if not rows:
        assert "nothing to plot" in root.xpath("//section[@id='results']/p")[0].text


def test_algebraic_loops_stand_out_in_the_diagram(run, tmp_path):
    loud = page(*run, tmp_path).xpath("//*[name()='path'][contains(@class, 'wire loop')]")
    assert {line.xpath("./*[name()='title']")[0].text.splitlines()[0] for line in loud} >= {
        "System1.a1 – System2.a1",
        "System2.F – System1.F",
    }


def test_only_settings_that_are_no_defaults_are_listed(run, tmp_path):
    assert cells(page(*run, tmp_path), "Settings that differ from the defaults") == [["stop time", "0.1"]]


def test_text_is_escaped_and_only_pictures_are_markup():
    evil = "<script>alert(1)</script>"
    facts = run_report_content(
        {
            "system": evil,
            "status": "completed",
            "interval": {"start": 0, "stop": 1},
            "created": "today",
            "notes": [evil],
        },
        diagrams=[ReportPicture("d", "<svg id='mine'></svg>")],
        findings=[Diagnostic("X-1", Severity.INFO, Position("a.ssd", 1), evil)],
        plots=ReportPicture("p", "<div></div>"),
        locate=lambda _: None,
    )
    text = report_page(facts)
    assert evil not in text
    assert "<svg id='mine'>" in text


def test_results_without_a_manifest_have_a_report_that_claims_nothing(run, tmp_path):
    system, _ = run
    ssptool.simulate(system, settings=ssptool.Settings(stop_time=0.1), output=tmp_path / "r.csv")
    (tmp_path / "r.csv.json").unlink()
    root = page(system, tmp_path / "r.csv", tmp_path)
    assert "killed, or another tool wrote the results" in root.xpath("//header/p")[0].text_content()
    assert "Simulated by" not in root.text_content()


def test_a_report_is_a_page(run, tmp_path):
    with pytest.raises(ValueError, match=r"\.html"):
        ssptool.report(*run, tmp_path / "r.pdf")


def test_a_report_is_shown_in_a_frame_of_a_notebook(run, tmp_path):
    report = ssptool.report(*run)
    frame = html.fragment_fromstring(report._repr_html_())
    assert frame.tag == "iframe"
    assert frame.get("srcdoc") == report.html
    report.save(tmp_path / "new" / "r.html")
    assert (tmp_path / "new" / "r.html").read_text(encoding="utf-8") == report.html


def test_a_result_in_a_file_is_reported_as_its_file(tmp_path):
    result = ssptool.simulate(SYSTEM, stop_time=0.1, output=tmp_path / "r.csv")
    assert ssptool.report(result).html == ssptool.report(SYSTEM, tmp_path / "r.csv").html
    with pytest.raises(ssptool.exceptions.WrongValue, match="in a file"):
        ssptool.report(SYSTEM, ssptool.simulate(SYSTEM, stop_time=0.1))


def test_a_report_does_not_show_the_diagram_of_another_system_than_that_of_the_run(run, tmp_path):
    other = SYSTEM.parent / "one_dof_oscillator"
    with pytest.raises(
        ValueError, match=r"r\.parquet: it is a run of 'DualMassOscillator', but .* is 'OneDofOscillator'"
    ):
        ssptool.report(other, run[1], tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()
