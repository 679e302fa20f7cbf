"""Zips whose entries have other names than they should: an FMU alone, in a system, and a package."""

import shutil
import zipfile

import pytest

import ssptool
from tests.accuracy.parts import Part, write_part
from tests.engine.systems import write_system

LAG = Part(inputs={"u": 3.0}, states={"x": (0.5, "2.0 * (u - x)")}, outputs={"y": "4.0 * x"})
EXACT = 4.0 * (3.0 - 2.5 * 0.1353352832366127)
"""y at 1 s: 4 (3 − 2.5 e⁻²)."""

ODD = {
    "dots": lambda name: f"./{name}",
    "backslashes": lambda name: name.replace("/", "\\"),
    "both": lambda name: ".\\" + name.replace("/", "\\"),
    "empty parts": lambda name: name.replace("/", "//"),
}


def renamed(path, name_of, *, twice=False, root=False):
    """Give the entries of a zip other names."""
    with zipfile.ZipFile(path) as packed:
        contents = {info.filename: packed.read(info) for info in packed.infolist() if not info.is_dir()}
    with zipfile.ZipFile(path, "w") as packed:
        if root:
            packed.writestr("./", b"")
        for name, content in contents.items():
            packed.writestr(name_of(name), content)
        if twice:
            packed.writestr(name, content)
    return path


@pytest.fixture(scope="module")
def lag(tmp_path_factory):
    return write_part(tmp_path_factory.mktemp("lag") / "Lag.fmu", LAG)


def codes(report):
    return {found.code for found in report.diagnostics}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("odd", ODD)
def test_an_fmu_alone_runs_with_a_warning_for_each_entry(lag, tmp_path, odd):
    fmu = renamed(shutil.copy(lag, tmp_path), ODD[odd], twice=True, root=True)
    report = ssptool.validate(fmu)
    assert report.ok and codes(report) == {"PKG-103"}
    assert all(str(one.position).startswith("Lag.fmu!") for one in report.diagnostics)
    assert ssptool.simulate(fmu, stop_time=1.0, step_size=0.01)["Lag.y"][-1] == pytest.approx(EXACT, rel=1e-6)


@pytest.mark.parametrize("odd", ODD)
def test_an_fmu_in_a_system_is_judged_alike_and_mended(lag, tmp_path, odd):
    fmus = tmp_path / "fmus"
    fmus.mkdir()
    renamed(shutil.copy(lag, fmus), ODD[odd], root=True)
    system = write_system(tmp_path / "system", fmus, {"P": "Lag"}, [])
    assert codes(ssptool.validate(system)) == {"PKG-103"}
    assert {one.code for one in ssptool.fix(system).fixed} == {"PKG-103"}
    assert ssptool.validate(system).diagnostics == ()
    with zipfile.ZipFile(lag) as before, zipfile.ZipFile(system / "resources" / "Lag.fmu") as after:
        files = [name for name in before.namelist() if not name.endswith("/")]
        assert sorted(after.namelist()) == sorted(files)
        assert all(before.read(name) == after.read(name) for name in files)
    assert ssptool.simulate(system)["P.y"][-1] == pytest.approx(EXACT, rel=1e-6)


@pytest.mark.parametrize("odd", ODD)
def test_a_package_is_mended_by_packing_it_again(lag, tmp_path, odd):
    package = tmp_path / "system.ssp"
    ssptool.pack(write_system(tmp_path / "system", lag.parent, {"P": "Lag"}, []), package)
    plain = zipfile.ZipFile(package).namelist()
    renamed(package, ODD[odd], root=True)
    assert codes(ssptool.validate(package)) >= {"PKG-103"}
    assert ssptool.simulate(package)["P.y"][-1] == pytest.approx(EXACT, rel=1e-6)
    ssptool.fix(package)
    assert "PKG-103" not in codes(ssptool.validate(package))
    assert sorted(zipfile.ZipFile(package).namelist()) == sorted(plain)


def test_different_bytes_under_one_name_stay_an_error(lag, tmp_path):
    """Which of them another program reads nobody knows."""
    fmu = shutil.copy(lag, tmp_path)
    with zipfile.ZipFile(fmu, "a") as packed:
        packed.writestr("./modelDescription.xml", b"<fmiModelDescription/>")
    report = ssptool.validate(fmu)
    assert not report.ok and codes(report) == {"PKG-021"}


@pytest.mark.parametrize("name", ["..\\..\\x", "a\\..\\..\\x", "C:\\x", "\\x", ".\\..\\x"])
def test_what_leads_out_stays_an_error(lag, tmp_path, name):
    fmu = shutil.copy(lag, tmp_path)
    with zipfile.ZipFile(fmu, "a") as packed:
        packed.writestr(name, b"")
    report = ssptool.validate(fmu)
    assert not report.ok and codes(report) == {"PKG-020"}
