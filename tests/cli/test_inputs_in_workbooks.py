"""Inputs from workbooks and from files of results drive a run as the same values in a CSV file do."""

import numpy as np
import openpyxl
import pytest

import ssptool as library
from ssptool.engine.trace import Column
from ssptool.exceptions import BadData
from tests.editing.small_systems import DUAL_MASS
from tests.engine.recording.files import write

FMU = DUAL_MASS / "resources/System1.fmu"
TIMES = [0.0, 250.0, 600.0, 1000.0]
FORCES = [0.0, 1.25, -3.5, 2.0]


def workbook(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


@pytest.fixture
def expected(tmp_path):
    lines = [f"{time},{force}" for time, force in zip(TIMES, FORCES, strict=True)]
    (tmp_path / "drive.csv").write_text("\n".join(["time [ms],F [kN]", *lines]) + "\n")
    return library.simulate(FMU, inputs=tmp_path / "drive.csv", stop_time=1)


def test_a_workbook_drives_inputs_as_a_csv_file_does(expected, tmp_path):
    rows = [["time [ms]", None, "F [kN]"], [], *([t, None, f] for t, f in zip(TIMES, FORCES, strict=True))]
    drive = workbook(tmp_path / "drive.xlsx", rows)
    result = library.simulate(FMU, inputs=drive, stop_time=1)
    assert np.array_equal(result["x1"], expected["x1"]) and np.ptp(result["F"]) > 4000


@pytest.mark.parametrize("ending", [".parquet", ".mat", ".h5", ".mf4"])
def test_results_drive_inputs_in_their_units(expected, tmp_path, ending):
    trace = library.types.Trace.of(np.array(TIMES) / 1000, [(Column("F", "kN"), FORCES)])
    write(tmp_path / f"drive{ending}", trace)
    result = library.simulate(FMU, inputs=tmp_path / f"drive{ending}", stop_time=1)
    assert np.allclose(result["x1"], expected["x1"], rtol=1e-13, atol=1e-15)
    assert f"drive{ending}, column F (linear, converted from kN to N)" in str(result.manifest["overrides"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["time", "F"], [0, 1], [1, "fast"]], r"drive\.xlsx:3: F: found 'fast', expected a number"),
        ([["time", "F"], [0, 1], [1, None]], r"drive\.xlsx:3: F: a value is missing"),
        ([["t", "F"], [0, 1]], r"drive\.xlsx:1: the first column must be time"),
        ([["time", "F"], [0, 1], [1, "=2*3"]], r"drive\.xlsx:3: B: the formula '=2\*3' has no result"),
        ([["time", "G"], [0, 1]], r"drive\.xlsx:1: G: "),
    ],
)
def test_a_wrong_workbook_is_refused_with_its_row(tmp_path, rows, message):
    with pytest.raises(BadData, match=message):
        library.simulate(FMU, inputs=workbook(tmp_path / "drive.xlsx", rows), stop_time=1)


def test_the_command_takes_a_workbook(ssptool, tmp_path):
    drive = workbook(tmp_path / "drive.xlsx", [["time", "F"], [0, 1.5], [1, 1.5]])
    status, _, err = ssptool("run", str(FMU), "--inputs", str(drive), "--stop-time", "1", "-o", "r.csv", "-q")
    assert (status, err) == (0, "")
    assert set(library.read_trace(tmp_path / "r.csv")["F"]) == {1.5}
