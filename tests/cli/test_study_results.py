"""`ssptool study results`: the table of a study, and the signals of one of its runs."""

from pathlib import Path

import numpy as np
import pytest

import ssptool as library

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"


@pytest.fixture
def study(tmp_path):
    table = {
        "system": str(SYSTEM),
        "settings": {"step_size": 0.01, "stop_time": 0.2},
        "factors": {"System2.k2": [5.0, 10.0, 15.0]},
        "results": {"peak": 'max("System1.x1")'},
        "traces": {"signals": ["System1.x*"], "output_step": 0.05},
    }
    return library.study(table, tmp_path / "k.study", workers=1)


@pytest.mark.parametrize("ending", ["csv", "parquet", "mat", "h5"])
def test_the_signals_of_a_run_are_written_into_a_file(ssptool, study, ending):
    status, out, _ = ssptool("study", "results", "k.study", "--run", 1, "--output", f"r.{ending}")
    assert (status, out) == (0, f"results: r.{ending}\n")
    found, kept = library.read_trace(f"r.{ending}"), study.trace(study.table()["run"].to_pylist()[1])
    assert found.columns == kept.columns and np.array_equal(found.t, kept.t) and np.array_equal(found.y, kept.y)
    assert len(list((study.folder / "traces").iterdir())) == 1
    assert ssptool("plot", f"r.{ending}", "--output", "r.svg")[0] == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--run", "3", "--output", "r.csv"], "no run 3 among the 3 runs"),
        (["--run", "1"], "--output run.csv"),
        (["--run", "1", "--output", "r.txt"], "results are files of type .csv, .parquet, .mat"),
    ],
)
def test_what_cannot_be_written_says_why(ssptool, study, tmp_path, options, told):
    status, out, err = ssptool("study", "results", "k.study", *options)
    assert (status, out) == (2, "")
    assert told in " ".join(err.split())
    assert [path.name for path in tmp_path.iterdir()] == ["k.study"]
