"""Files around a system: documents reach those of the caller's work, and show nothing of any of them."""

import os
import shutil
import zipfile
from pathlib import Path

import pytest

import ssptool
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.outside import never_read, work_in
from tests.safety.command_line import typed

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
SECRET = "password=hunter2"
SSD = "SystemStructure.ssd"


@pytest.fixture
def plant(tmp_path, monkeypatch):
    """The oscillator in `world/home/plant`; nothing of `world` is the caller's: the working folder is elsewhere."""
    plant = tmp_path / "world" / "home" / "plant"
    shutil.copytree(SYSTEM, plant, ignore=shutil.ignore_patterns("fmi?", "no_flange"))
    for variant in plant.glob("*.ssd"):
        if variant.name != SSD:
            variant.unlink()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return plant


def refer(plant: Path, source: str, instead: str = "resources/dual_mass_oscillator.ssv") -> None:
    file = plant / SSD
    text = file.read_text(encoding="utf-8")
    assert f'"{instead}"' in text
    file.write_text(text.replace(f'"{instead}"', f'"{source}"'), encoding="utf-8")


def moved_fmu(plant: Path) -> Path:
    """Its first FMU in `world/fmus`, named by `../../fmus/System1.fmu`."""
    folder = plant.parents[1] / "fmus"
    folder.mkdir(exist_ok=True)
    shutil.move(plant / "resources" / "System1.fmu", folder / "System1.fmu")
    refer(plant, "../../fmus/System1.fmu", "resources/System1.fmu")
    return folder


def found(plant: Path, code: str, **more) -> list[tuple[str, str, str]]:
    return [
        (str(one.severity), one.message, one.advice)
        for one in ssptool.validate(plant, **more).diagnostics
        if one.code == code
    ]


def test_a_file_outside_is_read_only_if_the_caller_works_there(plant, tmp_path, monkeypatch):
    folder = moved_fmu(plant)
    ((severity, message, advice),) = found(plant, "URI-006")
    assert severity == "error"
    assert str(folder / "System1.fmu") in message
    assert f"--allow-outside {folder}" in advice
    with pytest.raises(ssptool.exceptions.InvalidSystem):
        ssptool.plan(plant)
    for allowed in ({"allow_outside": [folder]}, {"allow_outside": str(tmp_path / "world")}):
        assert [one for one, *_ in found(plant, "URI-006", **allowed)] == ["warning"]
        assert ssptool.plan(plant, **allowed)
    assert found(plant, "URI-006", allow_outside=[plant.parent])[0][0] == "error"
    monkeypatch.chdir(tmp_path / "world")
    assert [one for one, *_ in found(plant, "URI-006")] == ["warning"]
    assert ssptool.plan("home/plant")


@pytest.mark.parametrize("mark", [".git", ".hg", ".svn"])
def test_the_repository_that_holds_a_system_may_be_read(plant, mark):
    folder = moved_fmu(plant)
    (plant.parent / mark).mkdir()
    assert found(plant, "URI-006")[0][0] == "error"
    (plant.parent / mark).rmdir()
    (folder.parent / mark).mkdir()
    assert found(plant, "URI-006")[0][0] == "warning"
    assert ssptool.plan(plant)


def test_packages_stay_closed(plant, tmp_path, monkeypatch):
    folder = moved_fmu(plant)
    package = plant.with_name("plant.ssp")
    with zipfile.ZipFile(package, "w") as packed:
        for path in plant.rglob("*"):
            if path.is_file():
                packed.write(path, path.relative_to(plant).as_posix())
    (tmp_path / "world" / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "world")
    assert found(package, "URI-006")[0][0] == "error"
    assert ssptool.plan(package, allow_outside=[folder])


@pytest.mark.parametrize(
    "file", ["/proc/self/environ", "/proc/self/fd/0", "/proc/kmsg", "/dev/zero", "/dev/stdin", "/sys/kernel/notes"]
)
@pytest.mark.parametrize("how", ["reference", "link outside", "link inside", "link to a folder"])
def test_files_of_the_kernel_are_never_read(plant, tmp_path, monkeypatch, file, how):
    if not Path(file).exists():
        pytest.skip("another operating system")
    monkeypatch.setenv("SSPTOOL_TEST_SECRET", SECRET)
    ups = "../" * len(plant.parts)
    match how:
        case "reference":
            refer(plant, ups + file.lstrip("/"))
        case "link outside":
            (plant.parents[1] / "values.ssv").symlink_to(file)
            refer(plant, "../../values.ssv")
        case "link inside":
            (plant / "resources" / "values.ssv").symlink_to(file)
            refer(plant, "resources/values.ssv")
        case "link to a folder":
            (plant.parents[1] / "folder").symlink_to(Path(file).parent)
            refer(plant, f"../../folder/{Path(file).name}")
    monkeypatch.chdir(tmp_path)
    for words in (
        ["validate", plant],
        ["run", plant, "-o", tmp_path / "r.csv"],
        ["draw", plant, "-o", tmp_path / "d.svg"],
    ):
        done = typed(*words, "--allow-outside", "/")
        assert words[0] == "draw" or done.code == 1, done
        assert SECRET not in done.out + done.err
        assert "Traceback" not in done.err
    assert any("URI-006" in line or "PKG-101" in line for line in typed("validate", plant).out.splitlines())
    assert not (tmp_path / "r.csv").exists()


@pytest.mark.parametrize("name", ["notes.txt", "values.ssv", "values.xml"])
@pytest.mark.parametrize(
    "text", [f"{SECRET}\n", f"<notes>\n<a b={SECRET}/></notes>\n", f"<?xml version='1.0'?><a>{SECRET}<b></a>"]
)
def test_nothing_of_a_file_outside_is_shown(plant, tmp_path, monkeypatch, name, text):
    """Also where it may be read, and of files in the folder that are not documents."""
    (plant.parents[1] / name).write_text(text, encoding="utf-8")
    (plant / "resources" / name).write_text(text, encoding="utf-8")
    for place in (f"../../{name}", f"resources/{name}"):
        shutil.copy(SYSTEM / SSD, plant / SSD)
        refer(plant, place)
        for folder in (tmp_path / "here", tmp_path / "world"):
            monkeypatch.chdir(folder)
            for format in ("text", "json", "sarif", "junit", "github"):
                done = typed("validate", plant, "--format", format)
                assert done.code == 1
                assert SECRET not in done.out
            for command in ("plan", "info", "graph"):
                done = typed(command, plant)
                assert SECRET not in done.out + done.err


def test_damaged_documents_of_the_system_are_still_shown(plant):
    file = plant / "resources" / "dual_mass_oscillator.ssv"
    file.write_text(
        file.read_text(encoding="utf-8").replace('<ssv:Real value="', "<ssv:Real value=", 1), encoding="utf-8"
    )
    assert "<ssv:Real value=" in typed("validate", plant).out


def test_a_link_inside_leads_nowhere_without_permission(plant, tmp_path, monkeypatch):
    folder = moved_fmu(plant)
    (plant / "resources" / "System1.fmu").symlink_to(folder / "System1.fmu")
    refer(plant, "resources/System1.fmu", "../../fmus/System1.fmu")
    refer(plant, "../../home/plant/resources/System1.fmu", "resources/System1.fmu")
    with pytest.raises((ssptool.exceptions.InvalidSystem, InvalidDocument)):
        ssptool.plan(plant)
    monkeypatch.chdir(tmp_path / "world")
    with pytest.raises((ssptool.exceptions.InvalidSystem, InvalidDocument)):
        ssptool.plan(plant)
    assert ssptool.plan(plant, allow_outside=[folder])


def test_links_in_an_unpacked_fmu_outside_are_judged(plant, tmp_path, monkeypatch):
    folder = moved_fmu(plant)
    with zipfile.ZipFile(folder / "System1.fmu") as packed:
        packed.extractall(folder / "System1")
    (folder / "System1.fmu").unlink()
    refer(plant, "../../fmus/System1", "../../fmus/System1.fmu")
    monkeypatch.chdir(tmp_path / "world")
    assert ssptool.plan(plant)
    (tmp_path / "secret").write_text(SECRET, encoding="utf-8")
    (folder / "System1" / "resources").mkdir(exist_ok=True)
    (folder / "System1" / "resources" / "data").symlink_to(tmp_path / "secret")
    with pytest.raises((ssptool.exceptions.InvalidSystem, InvalidDocument), match="the link points outside the folder"):
        ssptool.plan(plant)


OSP = (
    '<OspSystemStructure xmlns="http://opensimulationplatform.com/MSMI/OSPSystemStructure" version="0.1">'
    '<Simulators><Simulator name="a" source="{}"/></Simulators></OspSystemStructure>'
)


def test_systems_of_the_open_simulation_platform_are_judged_alike(plant, tmp_path, monkeypatch):
    folder = moved_fmu(plant)
    structure = plant.parent / "OspSystemStructure.xml"
    structure.write_text(OSP.format("../fmus/System1.fmu"), encoding="utf-8")
    ((severity, message, advice),) = found(structure, "OSP-101")
    assert (severity, f"--allow-outside {folder}" in advice) == ("error", True)
    assert str(folder) in message
    assert not ssptool.validate(structure, allow_outside=[folder]).errors
    monkeypatch.chdir(tmp_path / "world")
    assert not ssptool.validate(structure).errors
    structure.write_text(OSP.format("/proc/self/environ"), encoding="utf-8")
    assert "never read" in found(structure, "OSP-101", allow_outside=["/"])[0][1]


def test_every_command_that_needs_the_file_takes_the_option(plant, tmp_path):
    folder = moved_fmu(plant)
    allowed = ["--allow-outside", folder]
    for words in (
        ["validate", plant],
        ["plan", plant],
        ["info", plant],
        ["graph", plant],
        ["explain", plant, "System1.m1"],
        ["draw", plant, "-o", tmp_path / "d.svg", "--highlight", "findings"],
        ["run", plant, "--stop-time", "0.05", "-o", tmp_path / "r.csv"],
        ["report", plant, tmp_path / "r.csv", "-o", tmp_path / "r.html"],
        ["export", plant, tmp_path / "plant.fmu"],
        ["reproduce", tmp_path / "r.csv"],
        ["set", plant, "System1.m1=3"],
        ["upgrade", plant],
    ):
        done = typed(*words, *allowed)
        assert (done.code, done.err) == (0, ""), (words, done)
    assert typed("diff", plant, plant, *allowed).code == 0
    refused = typed("run", plant, "-o", tmp_path / "s.csv")
    assert refused.code == 1
    assert f"--allow-outside {folder}" in refused.err.replace("\n", " ")


def test_the_workspace_of_an_editor_counts_as_the_working_folder(plant, tmp_path):
    moved_fmu(plant)
    try:
        work_in([tmp_path / "world"])
        assert found(plant, "URI-006")[0][0] == "warning"
    finally:
        work_in([])
    assert found(plant, "URI-006")[0][0] == "error"


def test_the_root_of_the_file_system_is_no_working_folder(plant, monkeypatch):
    moved_fmu(plant)
    monkeypatch.chdir("/")
    assert found(plant, "URI-006")[0][0] == "error"


def test_a_link_that_may_not_be_read_leads_nowhere(monkeypatch):
    """Of processes of others in /proc, for example."""

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "readlink", refuse)
    assert never_read(Path("/proc/self/cwd/notes.txt"))
