"""Files that are run here and in other programs."""

import shutil

import numpy as np
import pytest

from tests.foreign.field import Case, Ran, compared, ran, table
from tests.systems.peers import SYSTEMS, where_wheels_are

FMU = SYSTEMS / "dual_mass_oscillator" / "resources" / "System2.fmu"


@where_wheels_are
@pytest.mark.slow
def test_an_fmu_alone_gives_the_same_values_in_all_programs(tmp_path):
    shutil.copy(FMU, tmp_path)
    rows, missing = table([tmp_path])
    assert missing == []
    assert rows[-1].split(" | ")[2:] == ["runs", "alike", "alike", "alike |"]


def test_what_another_program_alone_runs_stands_out():
    there, nowhere = Ran({"y": np.arange(3.0)}), Ran(None, "no library")
    assert compared(nowhere, there) == "**runs**"
    assert compared(there, nowhere) == "does not run"
    assert compared(there, there) == "alike"
    assert compared(there, Ran({"y": np.array([0.0, 1.5, 2.0])})) == "2e-1 of the range of y"


def test_a_file_that_does_not_run_has_a_reason(tmp_path):
    (tmp_path / "broken.fmu").write_bytes(b"no zip")
    for program in ("ssptool", "FMPy"):
        found = ran(program, Case(tmp_path / "broken.fmu", 0.01, ("y",)), tmp_path)
        assert found.values is None and found.reason
