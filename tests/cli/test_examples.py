"""`ssptool example`: the example systems, from packages that an installation brings and from a clone."""

import importlib
import shutil
import zipfile
from pathlib import Path

import pytest

import ssptool as library
from ssptool.api import examples

ROOT = Path(__file__).parents[2]
SYSTEMS = sorted(path.parent.name for path in (ROOT / "systems").glob("*/SystemStructure.ssd"))


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """An installation with two of the packages that `.ci/examples.py` writes, and no clone around it."""
    folder = tmp_path / "installed"
    folder.mkdir()
    for name in ("dual_mass_oscillator", "mass_spring_damper"):
        library.pack(ROOT / "systems" / name, folder / f"{name}.ssp")
    monkeypatch.setattr(examples, "_INSTALLED", folder)
    monkeypatch.setattr(examples, "_IN_CLONE", tmp_path / "nowhere")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_all_example_systems_are_listed_with_what_they_are(ssptool):
    status, out, _ = ssptool("example")
    *lines, last = out.splitlines()
    assert (status, lines[::2]) == (0, SYSTEMS)
    assert all(len(line) > 20 and line.startswith("    ") for line in lines[1::2])
    assert last == "To write one into a folder: `ssptool example NAME`"


def test_variants_are_listed_in_python():
    (oscillator,) = (one for one in library.list_examples() if one.name == "dual_mass_oscillator")
    assert len(oscillator.variants) == len(list((ROOT / "systems" / oscillator.name).glob("*.ssd"))) - 1


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_example_is_written_without_errors_and_warnings(ssptool, tmp_path, name):
    status, out, _ = ssptool("example", name)
    assert (status, f"To run it: `ssptool run {name}`" in out) == (0, True)
    report = library.validate(tmp_path / name)
    assert (report.errors, report.warnings) == ((), ())


def test_what_is_installed_is_what_a_clone_has(ssptool, tmp_path, installed):
    assert [one.name for one in library.list_examples()] == ["dual_mass_oscillator", "mass_spring_damper"]
    assert ssptool("example", "dual_mass_oscillator", "here")[0] == 0
    theirs = contents(ROOT / "systems" / "dual_mass_oscillator")
    del theirs["README.md"]
    assert contents(tmp_path / "here") == theirs


def test_an_example_of_an_installation_runs(ssptool, installed):
    """F(0) = k2 · 0.5 m = 5 N."""
    library.example("dual_mass_oscillator")
    assert library.simulate("dual_mass_oscillator", stop_time=0.01)["System2.F"][0] == pytest.approx(5)


def test_a_name_that_there_is_not(ssptool, tmp_path):
    status, _, err = ssptool("example", "mass_spring")
    assert status == 2
    assert "there is no example system 'mass_spring'; did you mean mass_spring_damper" in err
    assert ssptool("example", "qqq")[2].endswith(f"'qqq'; there are {', '.join(SYSTEMS)}\n")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_empty_stays_as_it_is_unless_forced(ssptool, tmp_path):
    folder = tmp_path / "one_dof_oscillator"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    status, _, err = ssptool("example", "one_dof_oscillator")
    assert (status, "is not empty" in err) == (2, True)
    assert list(contents(folder)) == ["notes.txt"]
    assert ssptool("example", "one_dof_oscillator", "--force")[0] == 0
    assert {"notes.txt", "SystemStructure.ssd"} <= set(contents(folder))


def test_a_clone_whose_fmus_are_not_built_says_what_builds_them(ssptool, tmp_path, monkeypatch):
    clone = tmp_path / "clone" / "systems" / "mass"
    clone.mkdir(parents=True)
    source = ROOT / "systems" / "mass_spring_damper" / "SystemStructure.ssd"
    (clone / "SystemStructure.ssd").write_bytes(source.read_bytes())
    monkeypatch.setattr(examples, "_IN_CLONE", clone.parent)
    status, _, err = ssptool("example", "mass")
    assert (status, "are not built: call `make setup`" in err) == (2, True)
    assert not (tmp_path / "mass").exists()


def test_an_installation_without_examples_says_who_has_them(ssptool, tmp_path, monkeypatch):
    monkeypatch.setattr(examples, "_IN_CLONE", tmp_path / "nowhere")
    for arguments in ((), ("dual_mass_oscillator",)):
        status, _, err = ssptool("example", *arguments)
        assert (status, "this installation has no example systems" in err, "`make setup`" in err) == (2, True, True)


@pytest.fixture
def from_sources(tmp_path, monkeypatch):
    """An installation that was made of the sources, with a cache of its own."""
    sources = tmp_path / "site-packages" / "systems"
    shutil.copytree(ROOT / "systems", sources, ignore=shutil.ignore_patterns("*.fmu"))
    monkeypatch.setattr(examples, "_IN_CLONE", tmp_path / "nowhere")
    monkeypatch.setattr(examples, "_SOURCES", sources)
    monkeypatch.setenv("SSPTOOL_CACHE", str(tmp_path / "cache"))
    return sources


@pytest.mark.slow
def test_an_installation_from_sources_compiles_the_examples_once(ssptool, tmp_path, from_sources, monkeypatch):
    """F(0) = k2 · 0.5 m = 5 N."""
    assert [one.name for one in library.list_examples()] == SYSTEMS and not (tmp_path / "cache").exists()
    assert ssptool("example", "dual_mass_oscillator")[0] == 0
    assert library.simulate("dual_mass_oscillator", stop_time=0.01)["System2.F"][0] == pytest.approx(5)
    monkeypatch.setattr(examples, "_compile", None)  # a second call would end with a TypeError
    assert ssptool("example", "one_dof_oscillator")[0] == 0
    assert [path.name[:9] for path in (tmp_path / "cache").iterdir()] == ["examples-"]


def test_examples_without_a_compiler_name_what_is_missing(ssptool, tmp_path, from_sources, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    status, _, err = ssptool("example", "one_dof_oscillator")
    assert (status, "no C compiler" in err) == (1, True)


def test_models_that_cannot_be_compiled_leave_nothing(ssptool, tmp_path, from_sources):
    (from_sources / "models" / "Mass.c").write_text("#error broken\n", encoding="utf-8")
    status, _, err = ssptool("example", "one_dof_oscillator")
    assert (status, "cannot be compiled" in err, "broken" in err) == (2, True, True)
    assert list((tmp_path / "cache").iterdir()) == [] and not (tmp_path / "one_dof_oscillator").exists()


# -- packages for all platforms -----------------------------------------------------------------------------------


@pytest.fixture
def merge(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / ".ci")
    return importlib.import_module("examples").merge


def fmu(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_an_fmu_has_the_libraries_of_all_platforms(tmp_path, merge):
    one = fmu(tmp_path / "one.fmu", {"modelDescription.xml": b"same", "binaries/linux64/A.so": b"linux"})
    two = fmu(tmp_path / "two.fmu", {"modelDescription.xml": b"same", "binaries/win64/A.dll": b"windows"})
    merge([two, one], tmp_path / "made.fmu")
    with zipfile.ZipFile(tmp_path / "made.fmu") as made:
        assert made.namelist() == ["modelDescription.xml", "binaries/linux64/A.so", "binaries/win64/A.dll"]
        assert made.read("binaries/win64/A.dll") == b"windows"


def test_fmus_that_describe_themselves_differently_are_not_merged(tmp_path, merge):
    one = fmu(tmp_path / "one.fmu", {"modelDescription.xml": b"one"})
    two = fmu(tmp_path / "two.fmu", {"modelDescription.xml": b"two"})
    with pytest.raises(SystemExit, match=r"modelDescription\.xml differs"):
        merge([one, two], tmp_path / "made.fmu")
    assert not (tmp_path / "made.fmu").exists()
