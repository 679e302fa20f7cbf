"""Versions of FMI: one is chosen by an option, and the library has the functions of both and exports nothing else."""

import ctypes
import subprocess
import sys
import zipfile

import fmpy
import fmpy.validation
import pytest
from fmpy import fmi2, fmi3

import ssptool
from ssptool.cli.app import app
from ssptool.exporting.runtimes import own_platform, runtime_library
from ssptool.fmu.binary import prototypes
from tests.exporting.fmus import SYSTEMS

SYSTEM = SYSTEMS / "one_dof_oscillator"


@pytest.mark.parametrize(
    ("options", "version", "place"),
    [([], "2.0", fmpy.platform), (["--fmi", "2"], "2.0", fmpy.platform), (["--fmi", "3"], "3.0", fmpy.platform_tuple)],
)
def test_the_command_line_chooses_the_version(options, version, place, tmp_path, capsys):
    target = tmp_path / "made.fmu"
    app(["export", str(SYSTEM), str(target), "--master", "jacobi", *options], standalone_mode=False)
    assert capsys.readouterr().out.endswith("made.fmu: 3 outputs, macro steps of 0.001 s\n")  # without `time`
    assert fmpy.read_model_description(str(target)).fmiVersion == version
    with zipfile.ZipFile(target) as made:
        folders = {name.split("/")[1] for name in made.namelist() if name.startswith("binaries/")}
    assert folders == {place}


def test_a_version_that_is_a_number_with_a_point_is_that_version(tmp_path):
    made = ssptool.export(SYSTEM, tmp_path / "made.fmu", fmi=3.0, master="jacobi")
    assert fmpy.read_model_description(str(made.path)).fmiVersion == "3.0"
    assert fmpy.validation.validate_fmu(str(made.path)) == []


@pytest.mark.parametrize("wrong", [1, 4, "3.0", None])
def test_another_version_is_refused_before_anything_is_written(wrong, tmp_path):
    with pytest.raises(ssptool.exceptions.WrongArgument, match="fmi must be 2 or 3"):
        ssptool.export(SYSTEM, tmp_path / "made.fmu", fmi=wrong)
    assert not list(tmp_path.iterdir())


def test_the_library_has_all_functions_that_importers_look_up():
    library = ctypes.CDLL(str(runtime_library(own_platform())))
    wanted = {one.name for kind in (fmi2.FMU2Slave, fmi3.FMU3Slave) for one in prototypes(kind)}
    assert [name for name in sorted(wanted) if not hasattr(library, name)] == []


@pytest.mark.skipif(sys.platform != "linux", reason="nm of GNU")
def test_the_library_exports_nothing_but_functions_of_fmi():
    """Or those of another FMU in the same process could take their place."""
    table = subprocess.run(
        ["nm", "-D", "--defined-only", runtime_library(own_platform())], capture_output=True, text=True, check=True
    ).stdout
    names = [line.split()[-1] for line in table.splitlines()]
    assert [name for name in names if not name.startswith(("fmi2", "fmi3"))] == []
    assert len(names) > 100
