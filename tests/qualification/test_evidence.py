"""Evidence is written, fails with what it rests on, and shows later changes."""

import json
import subprocess
import sys

import pytest

from ssptool.rules.catalogue import RULES
from tests.qualification import __main__ as command_line
from tests.qualification import report
from tests.qualification.evidence import evidence
from tests.qualification.measured import Outcome, TestRun, environment, read_outcomes, run_tests
from tests.qualification.trace import ROOT, requirements
from tests.qualification.use_cases import USE_CASES, all_evidence

SMALL = "tests/rules/test_fixes.py"


def command(*words):
    done = subprocess.run(
        [sys.executable, "-m", "tests.qualification", *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Folder, exit status and output of a run of few tests, without claims."""
    folder = tmp_path_factory.mktemp("qualification")
    return folder, *command("run", folder, SMALL, "--processes", "0", "--no-claims", "--signed-by", "A. Name, <tester>")


def written(folder):
    return json.loads((folder / report.EVIDENCE).read_text(encoding="utf-8"))


def test_a_few_tests_are_run_and_reported_and_are_no_qualification(small):
    folder, status, told = small
    found = written(folder)
    assert (status, found["verdict"]) == (1, "not tested"), told
    assert found["tests"]["passed"] > 10
    assert found["pytest_exit_status"] == 0
    assert {one["name"]: one["verdict"] for one in found["use_cases"]} == {one.name: "not tested" for one in USE_CASES}
    assert [one["id"] for one in found["requirements"]] == [one.id for one in requirements()]
    assert any(one["verdict"] == "passed" and one["tests"] for one in found["requirements"])


def test_the_environment_has_versions_and_hashes_of_python_and_native_files(small):
    found = written(small[0])["environment"]
    assert {"lxml", "numpy", "ssptool"} <= found["packages"].keys()
    assert "ssptool/version.py" in found["files"]
    assert [name for name in found["files"] if name.startswith("ssptool/engine/kernel/_kernel.")]
    assert found["files_sha256"] == environment()["files_sha256"]


def test_the_page_has_the_signature_and_each_requirement(small):
    page = (small[0] / report.PAGE).read_text(encoding="utf-8")
    assert "Signed by A. Name, &lt;tester&gt;" in page
    assert all(f"<td>{one.id}</td>" in page for one in requirements())


def test_files_that_change_while_the_tests_run_are_no_evidence(tmp_path, monkeypatch, capsys):
    states = iter([{"files": {"a.py": "before"}}, {"files": {"a.py": "after"}}])
    monkeypatch.setattr(command_line, "environment", lambda: next(states))
    monkeypatch.setattr(command_line, "run_tests", lambda *_, **__: TestRun(0, ()))
    assert command_line.main(["run", str(tmp_path), SMALL, "--no-claims"]) == 1
    assert "changed while the tests ran" in capsys.readouterr().out
    assert not (tmp_path / report.EVIDENCE).exists()


def test_what_was_changed_afterwards_is_found(small, tmp_path):
    for file in small[0].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    assert list(report.changes(tmp_path)) == []
    text = (tmp_path / report.EVIDENCE).read_text(encoding="utf-8")
    (tmp_path / report.EVIDENCE).write_text(text.replace('"not tested"', '"passed"', 1), encoding="utf-8")
    status, told = command("check", tmp_path)
    assert status == 1
    assert "evidence.json was changed" in told
    assert "signature.json is of other evidence" in told
    assert command("sign", tmp_path, "B. Name")[0] == 1
    report.write(tmp_path, json.loads(text))
    assert "Unsigned" in (tmp_path / report.PAGE).read_text(encoding="utf-8")
    page = (tmp_path / report.PAGE).read_text(encoding="utf-8")
    (tmp_path / report.PAGE).write_text(page.replace("not tested", "passed"), encoding="utf-8")
    assert list(report.changes(tmp_path)) == [
        f"{report.PAGE} does not show evidence.json and signature.json as they are now"
    ]


# -- verdicts, of evidence that is made up ----------------------------------------------------------------------------

CLAIM = {"system": "s", "claim": "c", "holds": True}


NOTHING_TO_TEST = {"PKG-019", "PKG-023", "META-007"}


def outcomes():
    """A test that passed for each requirement, rule and path of the evidence."""
    codes = {*RULES, *(one.id for one in requirements())} - NOTHING_TO_TEST
    own = {test for one in requirements() for test in one.tests}
    named = {f"tests/rules/test_catalogue.py::test_x[{code}]" for code in codes}
    files = {f"{path}::test_x" if path.endswith(".py") else f"{path}/test_x.py::test_x" for path in all_evidence()}
    return [Outcome(test, "passed", 0.0) for test in sorted(named | own | files)]


@pytest.fixture
def no_files(monkeypatch):
    """Functions that are made up have no text."""
    monkeypatch.setattr("tests.qualification.trace.named_codes", lambda file: {})


def verdict(found=None, *, ended=0, claims=(CLAIM,)):
    return evidence({}, TestRun(ended, tuple(outcomes() if found is None else found)), claims, ["all"])


def changed(name, outcome):
    every = outcomes()
    assert name in {one.test for one in every}
    return [Outcome(one.test, outcome, 0.0, "why") if one.test == name else one for one in every]


def test_all_passes_where_all_passed(no_files):
    found = verdict()
    assert found["verdict"] == "passed"
    assert {one["id"] for one in found["requirements"] if one["verdict"] == "reasoned"} == NOTHING_TO_TEST


def test_a_failed_test_fails_its_requirement_its_use_case_and_the_whole(no_files):
    found = verdict(changed("tests/rules/test_catalogue.py::test_x[SSD-CONN-002]", "failed"), ended=1)
    assert found["verdict"] == "failed"
    assert [one["id"] for one in found["requirements"] if one["verdict"] == "failed"] == ["SSD-CONN-002"]
    assert [one["code"] for one in found["rules"] if one["verdict"] == "failed"] == ["SSD-CONN-002"]
    assert [one["name"] for one in found["use_cases"] if one["verdict"] == "failed"] == ["validate"]
    assert [one["told"] for one in found["not_passed"]] == ["why"]


def test_a_skipped_test_is_no_evidence(no_files):
    found = verdict(changed("tests/rules/test_catalogue.py::test_x[SSD-CONN-002]", "skipped"))
    assert found["verdict"] == "not tested"
    assert [one["id"] for one in found["requirements"] if one["verdict"] == "not tested"] == ["SSD-CONN-002"]


def test_evidence_that_was_not_run_is_named(no_files):
    found = verdict([one for one in outcomes() if not one.test.startswith("tests/studies/")])
    assert found["verdict"] == "not tested"
    assert {one["name"]: one["not_run"] for one in found["use_cases"] if one["not_run"]} == {"study": ["tests/studies"]}


@pytest.mark.parametrize(("claims", "expected"), [((), "not tested"), ((CLAIM, {**CLAIM, "holds": False}), "failed")])
def test_a_run_needs_claims_that_hold(no_files, claims, expected):
    found = verdict(claims=claims)
    assert found["verdict"] == expected
    assert {one["name"]: one["verdict"] for one in found["use_cases"]}["run"] == expected


def test_a_run_of_tests_that_broke_off_is_no_evidence(no_files):
    assert verdict(ended=3)["verdict"] == "failed"


def test_outcomes_of_tests_are_those_of_pytest(tmp_path):
    """By node id, with the reason of those that did not pass."""
    test = tmp_path / "test_it.py"
    test.write_text(
        "import pytest\n"
        "def test_good(): pass\n"
        "def test_bad(): assert 1 == 2\n"
        "@pytest.fixture\ndef broken(): raise ValueError('broken')\n"
        "def test_error(broken): pass\n"
        "@pytest.mark.skip(reason='no such program')\ndef test_skipped(): pass\n",
        encoding="utf-8",
    )
    run = run_tests([str(test)], tmp_path, processes="0")
    assert run.ended == 1
    found = {one.test.rpartition("::")[2]: one for one in read_outcomes(tmp_path / "tests.xml")}
    assert {name: one.outcome for name, one in found.items()} == {
        "test_good": "passed",
        "test_bad": "failed",
        "test_error": "failed",
        "test_skipped": "skipped",
    }
    assert "assert 1 == 2" in found["test_bad"].told
    assert found["test_skipped"].told == "no such program"


def test_a_file_that_cannot_be_collected_is_an_outcome_that_failed(tmp_path):
    """It has no module, and its name is that of the file."""
    error = '<testcase classname="" name="tests.test_it" time="0.0"><error message="collection failure" /></testcase>'
    (tmp_path / "tests.xml").write_text(f"<testsuites><testsuite>{error}</testsuite></testsuites>", encoding="utf-8")
    assert list(read_outcomes(tmp_path / "tests.xml")) == [
        Outcome("tests.test_it", "failed", 0.0, "collection failure")
    ]
