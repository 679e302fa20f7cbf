"""Every claim that is made of an example system, in the form in which docs/verification.md states it."""

from pathlib import Path

import pytest

from tests.systems.claims import __main__ as command
from tests.systems.claims.catalogue import catalogue, claims_of, figures_of, systems
from tests.systems.claims.claim import Absolute, AtLeast, AtMost, Claim, Relative
from tests.systems.claims.pages import figure, options, unmade
from tests.systems.claims.report import report, stated

PAGE = Path(__file__).parents[2] / "docs" / "verification.md"


@pytest.mark.slow
@pytest.mark.parametrize("claim", [pytest.param(claim, id=f"{system}: {claim.name}") for system, claim in catalogue()])
def test_claim(claim):
    verdict = claim.judge()
    assert verdict.holds, str(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("system", systems())
def test_the_commands_of_a_readme_make_its_figures(system):
    """To the digits stated."""
    wrong = [str(verdict) for verdict in map(Claim.judge, figures_of(system)) if not verdict.holds]
    assert not wrong


CONDITIONS = {"dual_mass_oscillator": {"1e-6"}, "flyball_governor": {"100", "200", "350", "1e-3"}}
"""Numbers of README files under which a figure holds: a tolerance, times, a distance of rows."""


@pytest.mark.parametrize("system", systems())
def test_a_readme_states_no_figure_that_no_command_makes(system):
    assert unmade(f"systems/{system}/README.md", figures_of(system)) - CONDITIONS.get(system, set()) == set()


@pytest.mark.parametrize("system", systems())
def test_no_claim_of_a_system_is_made_twice(system):
    names = [claim.name for claim in claims_of(system)]
    assert len(set(names)) == len(names) > 0


@pytest.mark.parametrize("system", systems())
def test_the_page_states_the_claims_as_they_are(system):
    """`make verify` writes it; what was found there may differ in digits that depend on the machine."""
    chapter = PAGE.read_text(encoding="utf-8").split(f"\n## {system}\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.split(" | ")] for line in chapter.splitlines() if line.startswith("| ")][1:]
    found = [(row[0].removeprefix("| "), row[1], row[2], row[5].removesuffix(" |")) for row in rows]
    assert found == [stated(claim) for claim in claims_of(system)]


@pytest.mark.parametrize(
    ("tolerance", "expected", "holds", "fails"),
    [
        (Relative(0.01), 2.0, 2.019, 2.021),
        (Absolute(0.01), 2.0, 1.991, 1.989),
        (AtMost(), 2.0, 1.0, 2.001),
        (AtLeast(), 2.0, 3.0, 1.999),
    ],
)
def test_tolerances_hold_within_and_fail_outside_and_for_nan(tolerance, expected, holds, fails):
    assert tolerance.holds(holds, expected)
    assert not tolerance.holds(fails, expected)
    assert not tolerance.holds(float("nan"), expected)


@pytest.mark.parametrize(
    ("stated", "holds", "fails"),
    [
        ("1.74e-2 m", 1.735e-2, 1.75e-2),
        ("−0.1962", -0.19624, -0.1963),
        ("< 1e-4 m", 9e-5, 1.1e-4),
        ("> 1", 1.1, 0.9),
        ("4000", 4000.4, 4001),
    ],
)
def test_a_figure_holds_to_the_digits_that_the_page_states(stated, holds, fails):
    assert figure("", stated, lambda: holds).judge().holds
    assert not figure("", stated, lambda: fails).judge().holds


def test_the_command_of_a_figure_is_what_stands_as_code_in_its_row_and_header():
    found = options("`ssptool run systems/a …`", "held: `--master jacobi`", "undamped, `--step-size 1e-3`")
    assert found == ("systems/a", "--master", "jacobi", "--step-size", "1e-3")


def test_a_claim_that_does_not_hold_is_marked_on_the_page():
    """Counted in the summary, and crossed out in its table."""
    wrong = Claim("twice two", "arithmetic", 4.0, Absolute(0.0), lambda: 5.0).judge()
    page = report({"arithmetic": [wrong]})
    assert "| twice two | 4 | ± 0 | 5 | **✗** | arithmetic |" in page
    assert "| 1 | 0 |" in page


def fails() -> float:
    raise RuntimeError("the run did not reach its end")


@pytest.mark.parametrize(("measure", "status", "mark"), [(lambda: 4.0, 0, "✓"), (lambda: 5.0, 1, "✗"), (fails, 1, "✗")])
def test_the_command_writes_the_page_and_fails_if_a_claim_does(measure, status, mark, tmp_path, monkeypatch, capsys):
    """Also one that cannot be measured; the page is written in any case."""
    claim = Claim("twice two", "arithmetic", 4.0, Absolute(0.0), measure)
    monkeypatch.setattr(command, "systems", lambda: ["arithmetic"])
    monkeypatch.setattr(command, "claims_of", lambda system: (claim,))
    assert command.main(tmp_path / "page.md") == status
    assert mark in (tmp_path / "page.md").read_text(encoding="utf-8")
    assert f"1 claims, {status} do not hold" in capsys.readouterr().out
