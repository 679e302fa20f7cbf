"""Files around a system, and FMUs that are folders."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

import ssptool
from ssptool.editing.changes import EditError

SYSTEM = Path(__file__).parents[2] / "systems/dual_mass_oscillator"
SHORT = ssptool.Settings(stop_time=0.2, step_size=1e-2, master="jacobi")
SSD = "SystemStructure.ssd"


@pytest.fixture
def around(tmp_path, monkeypatch):
    """The oscillator in `work/plant`, its first FMU in `fmus`; the working folder is around both."""
    monkeypatch.chdir(tmp_path)
    plant = tmp_path / "work/plant"
    shutil.copytree(SYSTEM, plant, ignore=shutil.ignore_patterns("fmi?", "*.svg", "no_flange"))
    for variant in plant.glob("*.ssd"):
        if variant.name != SSD:
            variant.unlink()
    (tmp_path / "fmus").mkdir()
    shutil.move(plant / "resources/System1.fmu", tmp_path / "fmus/System1.fmu")
    text = (plant / SSD).read_text(encoding="utf-8")
    text = text.replace('"resources/System1.fmu"', '"../../fmus/System1.fmu"')
    (plant / SSD).write_text(text, encoding="utf-8")
    return plant


def packed(plant: Path) -> Path:
    """A zip in the place of the folder: `plant.ssp/../..` is `plant/../..`."""
    package = plant.with_name("plant.ssp")
    with zipfile.ZipFile(package, "w") as file:
        for path in sorted(plant.rglob("*")):
            if path.is_file():
                file.write(path, path.relative_to(plant).as_posix())
    return package


def trace(system: Path, **more) -> list[float]:
    return list(ssptool.simulate(system, settings=SHORT, **more).unwrap()["System1.x1"])


def severities(system: Path, code: str, **more) -> list[str]:
    return [str(one.severity) for one in ssptool.validate(system, **more).diagnostics if one.code == code]


@pytest.mark.parametrize("name", ["", SSD])
def test_an_unpacked_system_reads_files_around_it_with_a_warning(around, name):
    assert severities(around / name, "URI-006") == ["warning"]
    assert trace(around / name) == trace(SYSTEM)


def test_the_manifest_has_the_hashes_of_files_around_a_system(around, tmp_path):
    ssptool.simulate(around, settings=SHORT, output=tmp_path / "r.csv")
    inputs = json.loads((tmp_path / "r.csv.json").read_text(encoding="utf-8"))["inputs"]
    assert str(tmp_path / "fmus/System1.fmu") in [one["name"] for one in inputs]


def test_a_package_reads_nothing_around_it_unless_allowed(around, tmp_path):
    package = packed(around)
    with pytest.raises(ssptool.exceptions.InvalidSystem, match=f"--allow-outside {tmp_path}/fmus") as refused:
        ssptool.plan(package)
    assert refused.value.accept == ()
    assert severities(package, "URI-006", allow_outside=[tmp_path / "work"]) == ["error"]
    assert severities(package, "URI-006", allow_outside=[tmp_path / "fmus"]) == ["warning"]
    assert trace(package, allow_outside=[tmp_path / "fmus"]) == trace(SYSTEM)
    assert trace(package, allow_outside=[tmp_path / "fmus"], isolated=True) == trace(SYSTEM)


def test_a_settings_file_allows_folders_relative_to_itself(around, tmp_path, monkeypatch):
    package = packed(around)
    (tmp_path / "work").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / "work")
    (tmp_path / "ssptool.toml").write_text('allow-outside = ["fmus"]', encoding="utf-8")
    assert trace(package) == trace(SYSTEM)


def test_a_link_does_not_lead_out_of_what_is_allowed(around, tmp_path):
    package = packed(around)
    shutil.move(tmp_path / "fmus", tmp_path / "elsewhere")
    (tmp_path / "fmus").mkdir()
    (tmp_path / "fmus/System1.fmu").symlink_to(tmp_path / "elsewhere/System1.fmu")
    with pytest.raises(ssptool.exceptions.InvalidSystem):
        ssptool.plan(package, allow_outside=[tmp_path / "fmus"])


def test_a_package_is_not_made_without_what_it_needs(around):
    with pytest.raises(EditError, match=r"\.\./\.\./fmus/System1\.fmu"):
        ssptool.pack(around)


def test_a_study_takes_files_around_a_system_along(around, tmp_path):
    study = {
        "system": str(around / SSD),
        "settings": {"stop_time": 0.1, "step_size": 0.01, "master": "jacobi"},
        "factors": {"System2.k2": [1.0, 2.0]},
        "results": {"end": 'final("System1.x1")'},
    }
    assert ssptool.study(study, tmp_path / "around.study", workers=1).status.ok


def unpack(fmu: Path, folder: Path) -> None:
    with zipfile.ZipFile(fmu) as file:
        file.extractall(folder)
    fmu.unlink()


@pytest.mark.parametrize(("folder", "warnings"), [("System1", ["warning"]), ("System1.fmu", [])])
@pytest.mark.parametrize("isolated", [False, True])
def test_the_folder_of_an_unpacked_fmu_is_an_fmu(around, tmp_path, folder, warnings, isolated):
    unpack(shutil.move(tmp_path / "fmus/System1.fmu", tmp_path / "packed.fmu"), tmp_path / "fmus" / folder)
    assert severities(around, "URI-002") == warnings
    assert not ssptool.validate(around).errors
    assert trace(around, isolated=isolated) == trace(SYSTEM)


def test_an_unpacked_fmu_may_stand_in_a_package(tmp_path):
    plant = tmp_path / "plant"
    shutil.copytree(SYSTEM, plant)
    moved = shutil.move(plant / "resources/System2.fmu", tmp_path / "packed.fmu")
    unpack(moved, plant / "resources/System2.fmu")
    for system in (plant, packed(plant)):
        assert not ssptool.validate(system).errors
        assert trace(system) == trace(system, isolated=True) == trace(SYSTEM)
