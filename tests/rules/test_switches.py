"""Which findings are shown: what the command line and the settings of a project select, ignore and raise."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import ssptool
from ssptool import InvalidSettings, UnknownRule
from ssptool.documents.diagnostics import Severity
from ssptool.rules.catalogue import RULES
from ssptool.rules.selection import RuleChoice, Shown, Switches, find_settings

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
    with pytest.raises(UnknownRule, match="no rule"):
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
    for name, render in ssptool.PLAIN_REPORT_RENDERERS.items():
        assert "ignored" in render(report) or name == "json"
        assert "SSD-CONN-004" in render(report) or name == "github"


def test_settings_are_found_upwards_from_the_system(package: Callable[[Path], Path], tmp_path: Path):
    folder = package(EMPTY_ELEMENT)
    (tmp_path / "ssptool.toml").write_text('ignore = ["SSD-CONN-013"]\nstrict = true\n')
    assert "SSD-CONN-013" not in codes(ssptool.validate(folder))
    assert "SSD-CONN-013" not in codes(ssptool.validate(folder / "SystemStructure.ssd"))
    assert find_settings(folder) == RuleChoice((), ("SSD-CONN-013",), True)
    assert "SSD-CONN-013" in codes(ssptool.validate(folder, select=["SSD-CONN-013"], strict=False))


def test_a_project_file_counts_if_it_has_our_table(package: Callable[[Path], Path], tmp_path: Path):
    folder = package(EMPTY_ELEMENT)
    project, inner = tmp_path / "pyproject.toml", tmp_path / "inner"
    project.write_text('[tool.ssptool]\nignore = ["SSD-CONN"]\n')
    inner.mkdir()
    moved = shutil.move(folder, inner / "package")
    (inner / "pyproject.toml").write_text('[tool.other]\nssptool = 1\n[project]\nname = "ssptool-user"\n')
    assert find_settings(Path(moved)).ignore == ("SSD-CONN",)
    (inner / "ssptool.toml").write_text("")
    assert find_settings(Path(moved)) == RuleChoice()


def test_a_file_of_our_own_may_have_the_header_of_a_project_file(tmp_path: Path):
    (tmp_path / "ssptool.toml").write_text('[tool.ssptool]\nstrict = true\nignore = ["URI"]\n')
    assert find_settings(tmp_path / "system.ssp") == RuleChoice(ignore=("URI",), strict=True)


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
        find_settings(tmp_path / "system.ssp")
    assert (told.value.path, told.value.line) == (path, line)
    assert words in str(told.value)
    assert str(told.value).startswith(f"{path}:{line}: ")
