"""The examples of docs/studies.md do what the page says."""

import re
import shlex
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest

import ssptool
from tests.safety.command_line import typed

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
TRUTH = {"System1.c1": 0.13, "System2.k2": 11.0}

pytest.importorskip("distributed")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The first definition of the page, beside its system."""
    shutil.copytree(ROOT / "systems" / "dual_mass_oscillator", tmp_path / "dual_mass_oscillator")
    (tmp_path / "springs.toml").write_text(blocks("toml")[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_commands_run_the_first_study_and_show_it(folder):
    lines = [line.split("#")[0].strip() for line in PAGE.splitlines() if line.startswith("    ssptool study")]
    lines += [line.split("#")[0].strip() for line in PAGE.splitlines() if re.match(" {4}ssptool (plot|report)", line)]
    assert len(lines) >= 6
    said = {}
    for line in lines:
        done = typed(*shlex.split(line)[1:])
        assert done.code == 0, f"{line}\n{done.err}"
        said[line] = done.out + done.err
    assert "12" in said["ssptool study status springs.study"]
    assert (folder / "peaks.html").is_file() and (folder / "springs.report.html").is_file()
    table = ssptool.study_results(folder / "springs.study").to_pandas()
    assert len(table) == 3 * 4
    damping = 2 * table["zeta"] * np.sqrt(table["System2.k2"])
    np.testing.assert_allclose(table["System2.c2"], damping, rtol=1e-12)
    np.testing.assert_allclose(table["quality"], table["peak"] / table["settled"], rtol=1e-12)


def test_the_study_in_python_has_a_row_for_each_value(folder):
    (example,) = blocks("python")
    names = {"ssptool": ssptool}
    exec(example, names)
    assert names["results"].to_pandas()["System2.k2"].tolist() == [5, 10]


def test_the_mistakes_of_a_table_are_told_as_shown(folder):
    transcript = re.search(r"^    \$ ssptool study points.toml\n((?:    .*\n)+)", PAGE, re.MULTILINE)
    (folder / "points.csv").write_text("System2.k2,System1.c1\n5,abc\n")
    definition = ['system = "dual_mass_oscillator"', *[""] * 5, "[design]", 'file = "points.csv"', 'kind = "table"']
    (folder / "points.toml").write_text("\n".join([*definition, "[factors]", '"System1.m1" = {}', ""]))
    done = typed("study", "points.toml")
    assert done.code == 1
    assert done.err.splitlines() == [line[4:] for line in transcript[1].splitlines()]


def test_the_calibration_finds_the_values_that_the_measurement_was_made_with(folder):
    ssptool.simulate("dual_mass_oscillator", start_values=TRUTH, output="measured.csv", step_size=1e-3)
    (calibration,) = (block for block in blocks("toml") if "[calibration]" in block)
    settings = 'system = "dual_mass_oscillator"\n[settings]\nstep_size = "1ms"\n'
    (folder / "fit.toml").write_text(settings + calibration)
    assert set(tomllib.loads(calibration)["factors"]) == set(TRUTH)
    done = typed("study", "calibrate", "fit.toml")
    assert done.code == 0, done.err
    for name, value in TRUTH.items():
        found = re.search(rf"{re.escape(name)} = (\S+)", done.out)
        assert float(found[1]) == pytest.approx(value, rel=1e-3), done.out
