"""Which findings are shown: what the command line and the settings of a project select, ignore and raise."""

from collections.abc import Callable
from pathlib import Path

import pytest

import ssptool
from ssptool.documents.diagnostics import Severity
from ssptool.exceptions import InvalidSettings, UnknownName
from ssptool.rules.catalogue import RULES
from ssptool.rules.selection import UNUSED_SETTINGS, RuleChoice, Shown, Switches, caller_switches

HERE = Path(__file__).parent
EMPTY_ELEMENT = HERE / "SSD-CONN-013" / "fail-empty-element.ssd"  # a warning by our policy
TWO_OUTPUTS = HERE / "SSD-CONN-004" / "fail-two-outputs.ssd"  # an error that the standard's words demand


def codes(report) -> set[str]:
    return {found.code for found in report.diagnostics}


@pytest.mark.parametrize(
    ("choices", "listed"),
    [
        ([], True),
        ([RuleChoice()], True),
        ([RuleChoice(ignore=("SSD-CONN",))], False),
        ([RuleChoice(ignore=("SSD-CONN",), select=("SSD-CONN-013",))], True),
        ([RuleChoice(ignore=("SSD-CONN-013",), select=("SSD-CONN",))], False),
        ([RuleChoice(ignore=("SSD",), select=("SSD",))], False),
        ([RuleChoice(select=("SSD",))], True),
        ([RuleChoice(select=("URI",))], False),
        ([RuleChoice(select=("SSD-CONN",)), RuleChoice(ignore=("SSD-CONN-013",))], True),
        ([RuleChoice(select=("URI",)), RuleChoice(select=("SSD",))], False),
        ([RuleChoice(ignore=("URI",)), RuleChoice(select=("SSD",))], True),
    ],
)
def test_the_longer_code_wins_and_the_command_line_over_the_file(choices: list[RuleChoice], listed: bool):
    assert Switches(tuple(choices)).shown("SSD-CONN-013") is (Shown.LISTED if listed else Shown.DROPPED)


@pytest.mark.parametrize("code", sorted(RULES))
def test_rules_on_the_words_of_the_standard_are_withheld_and_others_dropped(code: str):
    shown = Switches((RuleChoice(ignore=(code,)),)).shown(code)
    assert shown is (Shown.DROPPED if RULES[code].basis in ("should", "derived", "policy") else Shown.WITHHELD)


def test_a_fault_of_ours_cannot_be_switched_off():
    assert Switches((RuleChoice(select=("URI",)),)).shown("INTERNAL") is Shown.LISTED


@pytest.mark.parametrize("code", ["", "XYZ", "SSD-CONN-999", "ssd"])
def test_a_code_that_no_rule_starts_with_is_an_error(code: str):
    with pytest.raises(UnknownName, match="no rule"):
        RuleChoice(ignore=(code,))


def test_strict_raises_warnings_to_errors_and_nothing_else(package: Callable[[Path], Path]):
    folder = package(EMPTY_ELEMENT)
    relaxed, strict = ssptool.validate(folder), ssptool.validate(folder, strict=True)
    assert {one.severity for one in relaxed.diagnostics if one.code == "SSD-CONN-013"} == {Severity.WARNING}
    assert {one.severity for one in strict.diagnostics if one.code == "SSD-CONN-013"} == {Severity.ERROR}
    assert relaxed.infos == strict.infos


def test_an_optional_rule_can_be_switched_off(package: Callable[[Path], Path]):
    report = ssptool.validate(package(EMPTY_ELEMENT), ignore=["SSD-CONN-013"])
    assert "SSD-CONN-013" not in codes(report)
    assert report.withheld == ()


def test_what_the_standard_demands_is_withheld_and_said_in_every_format(package: Callable[[Path], Path]):
    report = ssptool.validate(package(TWO_OUTPUTS), ignore=["SSD-CONN-004"])
    assert report.ok
    assert {one.code for one in report.withheld} == {"SSD-CONN-004"}
    for name, render in ssptool.renderers.PLAIN_REPORT_RENDERERS.items():
        assert "ignored" in render(report) or name == "json"
        assert "SSD-CONN-004" in render(report) or name == "github"


def stated(subject: Path, settings_file: Path | bool = True) -> RuleChoice:
    """What the settings file of a caller states."""
    return caller_switches(subject, settings_file).choices[-1]


def settings_found(report) -> list[str]:
    return [found.message for found in report.diagnostics if found.code == UNUSED_SETTINGS]


def test_an_unselected_error_that_the_standard_demands_keeps_the_report_from_being_ok(package):
    folder = package(TWO_OUTPUTS)
    report = ssptool.validate(folder, select=["UNIT"])
    assert not report.errors and not report.ok
    assert [one.code for one in report.unaccepted] == ["SSD-CONN-004"]
    assert (
        "not selected although required by the standard: SSD-CONN-004 (1)"
        in ssptool.renderers.PLAIN_REPORT_RENDERERS["text"](report)
    )
    assert ssptool.validate(folder, select=["UNIT"], ignore=["SSD-CONN-004"]).ok


def test_settings_are_found_upwards_from_the_working_folder(package, tmp_path: Path, monkeypatch):
    folder = package(EMPTY_ELEMENT)
    (tmp_path / "ssptool.toml").write_text('ignore = ["SSD-CONN-013"]\nstrict = true\n')
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    assert "SSD-CONN-013" not in codes(ssptool.validate(folder))
    assert "SSD-CONN-013" not in codes(ssptool.validate(folder / "SystemStructure.ssd"))
    assert stated(folder) == RuleChoice((), ("SSD-CONN-013",), True)
    assert "SSD-CONN-013" in codes(ssptool.validate(folder, select=["SSD-CONN-013"], strict=False))


@pytest.mark.parametrize("place", ["package", "."])
def test_settings_that_come_with_the_subject_decide_nothing_and_are_named(
    package, place: str, tmp_path_factory, monkeypatch
):
    folder = package(TWO_OUTPUTS)
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    before = ssptool.validate(folder)
    file = folder.parent / place / "ssptool.toml"
    file.write_text('ignore = ["SSD-CONN-004"]\nstrict = true\nfor = ["fmpy"]\nallow-outside = ["fmus"]\n')
    for subject in (folder, folder / "SystemStructure.ssd"):
        report = ssptool.validate(subject)
        assert [one for one in report.diagnostics if one.code != UNUSED_SETTINGS] == list(before.diagnostics)
        (message,) = settings_found(report)
        assert f"{file} comes with the system" in message.replace("/./", "/")
        assert "hide 1 finding (SSD-CONN-004)" in message and "check limits of fmpy" in message and "fmus" in message
    trusted = ssptool.validate(folder, settings_file=file)
    assert "SSD-CONN-004" not in codes(trusted) and not settings_found(trusted)
    with pytest.raises(ssptool.exceptions.InvalidSystem, match=r"ssptool\.toml would accept SSD-CONN-004"):
        ssptool.plan(folder)


def test_settings_inside_the_system_are_not_those_of_a_caller_who_works_there(package, tmp_path, monkeypatch):
    folder = package(TWO_OUTPUTS)
    (folder / "ssptool.toml").write_text('ignore = ["SSD-CONN-004"]\n')
    (tmp_path / "ssptool.toml").write_text("strict = true\n")
    monkeypatch.chdir(folder)
    for subject in (".", "SystemStructure.ssd", folder):
        report = ssptool.validate(subject)
        assert "SSD-CONN-004" in codes(report)
        (message,) = settings_found(report)
        assert message.startswith(
            "ssptool.toml comes with the system and is not used; it would hide 1 finding (SSD-CONN-004)"
        )
    assert caller_switches(folder).strict
    assert not settings_found(ssptool.validate(tmp_path / "package", settings_file=folder / "ssptool.toml"))


def test_broken_settings_of_the_subject_do_not_stop_anything(package, tmp_path, monkeypatch):
    folder = package(EMPTY_ELEMENT)
    (folder / "ssptool.toml").write_text("ignore =")
    assert not settings_found(ssptool.validate(folder))


def test_no_settings(package, tmp_path: Path, monkeypatch):
    folder = package(EMPTY_ELEMENT)
    (tmp_path / "ssptool.toml").write_text('ignore = ["SSD-CONN-013"]\n')
    monkeypatch.chdir(tmp_path)
    assert "SSD-CONN-013" not in codes(ssptool.validate(folder))
    report = ssptool.validate(folder, settings_file=False)
    assert "SSD-CONN-013" in codes(report) and not settings_found(report)


@pytest.mark.parametrize("text", [None, "[tool.other]\nx = 1\n"])
def test_settings_that_a_caller_names_must_be_there(package, text: str | None, tmp_path: Path):
    file = tmp_path / "pyproject.toml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(InvalidSettings, match=r"no such file|write \[tool\.ssptool\]"):
        ssptool.validate(package(EMPTY_ELEMENT), settings_file=file)


def test_a_project_file_counts_if_it_has_our_table(tmp_path: Path, monkeypatch):
    project, inner = tmp_path / "pyproject.toml", tmp_path / "inner"
    project.write_text('[tool.ssptool]\nignore = ["SSD-CONN"]\n')
    inner.mkdir()
    monkeypatch.chdir(inner)
    system = inner / "package.ssp"
    (inner / "pyproject.toml").write_text('[tool.other]\nssptool = 1\n[project]\nname = "ssptool-user"\n')
    assert stated(system).ignore == ("SSD-CONN",)
    (inner / "ssptool.toml").write_text("")
    assert stated(system) == RuleChoice()


def test_a_file_of_our_own_may_have_the_header_of_a_project_file(tmp_path: Path):
    (tmp_path / "ssptool.toml").write_text('[tool.ssptool]\nstrict = true\nignore = ["URI"]\n')
    expected = RuleChoice(ignore=("URI",), strict=True)
    assert stated(tmp_path / "system.ssp", tmp_path / "ssptool.toml") == expected


@pytest.mark.parametrize(
    ("name", "text", "line", "words"),
    [
        ("ssptool.toml", 'strict = true\nignroe = ["URI"]\n', 2, "did you mean 'ignore'"),
        ("ssptool.toml", "strict = 1\n", 1, "true or false"),
        ("ssptool.toml", '\nselect = "URI"\n', 2, "a list of codes"),
        ("ssptool.toml", 'ignore = ["URI", 3]\n', 1, "a list of codes"),
        ("ssptool.toml", 'ignore = [\n "UIR-002"]\n', 1, "URI-002"),
        ("ssptool.toml", "strict = true\nstrict =\n", 2, "not valid TOML"),
        ("ssptool.toml", "[validate]\nstrict = true\n", 1, "'validate'"),
        ("pyproject.toml", "[tool.a]\nlimit = 1\n[tool.ssptool]\nlimit = 2\n", 4, "'limit'"),
        ("pyproject.toml", "[tool]\nssptool = 1\n", 2, "write [tool.ssptool]"),
        ("ssptool.toml", "[tool.ssptol]\nstrict = true\n", 1, "write [tool.ssptool]"),
        ("ssptool.toml", "[tool.ssptool]\n\nignroe = []\n", 3, "did you mean 'ignore'"),
    ],
)
def test_wrong_settings_are_told_with_file_and_line(name: str, text: str, line: int, words: str, tmp_path: Path):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InvalidSettings) as told:
        caller_switches(tmp_path / "system.ssp", path)
    assert (told.value.path, told.value.line) == (path, line)
    assert words in str(told.value)
    assert str(told.value).startswith(f"{path}:{line}: ")
