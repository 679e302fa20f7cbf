"""Files that a run reads are still there when it has ended."""

import os

import pytest

from ssptool.engine.recording.formats import check_written
from ssptool.errors import WrongValue


@pytest.fixture
def inputs(tmp_path):
    path = tmp_path / "drive.csv"
    path.write_text("time,u\n0,1\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("how", ["itself", "by another way", "symbolic link", "hard link", "as a log"])
def test_a_file_that_is_read_is_not_written(inputs, tmp_path, how):
    output, log = inputs, None
    if how == "by another way":
        output = tmp_path / "x" / ".." / "drive.csv"
        (tmp_path / "x").mkdir()
    elif how == "as a log":
        output, log = tmp_path / "new.csv", inputs
    elif "link" in how:
        output = tmp_path / "other.csv"
        (os.symlink if how == "symbolic link" else os.link)(inputs, output)
    with pytest.raises(WrongValue, match="is read by this run, which would overwrite it"):
        check_written(output, (log,), [inputs])


def test_what_is_written_beside_csv_files_counts_too(tmp_path):
    """`run.csv.json`, under which name somebody may keep a scenario; other formats have no such file."""
    scenario = tmp_path / "run.csv.json"
    scenario.write_text("{}", encoding="utf-8")
    with pytest.raises(WrongValue, match=r"run\.csv\.json"):
        check_written(tmp_path / "run.csv", (), [scenario])
    check_written(tmp_path / "run.mat", (), [scenario])


def test_results_and_logs_are_different_files(tmp_path):
    path = tmp_path / "run.csv"
    with pytest.raises(WrongValue, match="written twice"):
        check_written(path, (path, None), ())
    with pytest.raises(WrongValue, match="written twice"):
        check_written(None, (path, path), ())
    check_written(path, (tmp_path / "loops.csv", tmp_path / "coupling.csv"), ())


def test_an_old_file_of_results_may_be_written_again(inputs, tmp_path):
    old = tmp_path / "run.csv"
    old.write_text("time\n", encoding="utf-8")
    check_written(old, (None,), [inputs])
