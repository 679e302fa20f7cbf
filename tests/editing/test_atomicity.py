"""Either all of an edit is on disk, or nothing of it; and nothing that brings errors, unless it is forced."""

from pathlib import Path

import pytest

import ssptool
from ssptool.documents.archive import Archive
from tests.editing.small_systems import FMUS, errors, refused, snapshot


def packed(folder: Path) -> Path:
    """The same system as a zip."""
    path = folder.parent / "packed.ssp"
    with Archive.open(folder) as archive:
        archive.save(path)
    return path


def test_an_exception_in_the_block_writes_nothing(dual_mass):
    with refused(dual_mass, "stop", RuntimeError) as made:
        made.add(FMUS / "System1.fmu", name="Third").set("System1.m1", 3)
        raise RuntimeError("stop")


def test_errors_that_the_edit_brings_in_keep_it_from_being_saved(dual_mass):
    with refused(dual_mass, "a new error and was not saved", ssptool.exceptions.BrokenEdit) as made:
        made.system.connections[0].start_connector = "nothing"


def test_force_saves_them_all_the_same(dual_mass):
    with ssptool.edit(dual_mass, force=True) as made:
        made.system.connections[0].start_connector = "nothing"
    assert len(errors(dual_mass)) == 1


def test_errors_that_were_there_do_not_keep_an_edit_from_being_saved(dual_mass):
    with ssptool.edit(dual_mass, force=True) as made:
        made.system.connections[0].start_connector = "nothing"
    before = errors(dual_mass)
    with ssptool.edit(dual_mass) as made:
        made.add(FMUS / "System1.fmu", name="Third")
    assert len(errors(dual_mass)) == len(before) == 1
    with ssptool.edit(dual_mass) as made:
        made.disconnect("System1.v1", "System2.v1")


@pytest.mark.parametrize("nth", range(4))
def test_a_folder_is_as_it_was_if_saving_fails_anywhere(dual_mass, monkeypatch, nth):
    """Four files change: two resources are new, a parameter set and the structure are edited."""
    before = snapshot(dual_mass)
    rename, calls = Path.replace, []

    def fail(path: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == nth + 1:
            raise OSError("disk full")
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"), ssptool.edit(dual_mass) as made:
        made.add(FMUS / "fmi3" / "System1.fmu", name="A").add(FMUS / "no_flange" / "System2.fmu", name="B")
        made.set("System1.m1", 3)
    monkeypatch.undo()
    assert calls[nth].name != "" and snapshot(dual_mass) == before


def test_a_zip_is_as_it_was_if_saving_fails(dual_mass, monkeypatch):
    path = packed(dual_mass)
    before = path.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"), ssptool.edit(path) as made:
        made.set("System1.m1", 3)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir() if each.name.startswith(".")] == []


def test_a_folder_a_zip_and_a_lone_structure_get_the_same_edit(dual_mass):
    zipped, lone = packed(dual_mass), dual_mass / "SystemStructure.ssd"
    texts = []
    for path in (zipped, lone):
        with ssptool.edit(path) as made:
            made.add(FMUS / "fmi3" / "System1.fmu", name="Third").set("System1.m1", 3).rename("System2", "Two")
        with Archive.open(path) as archive:
            texts.append({name: archive.read(name) for name in archive.names()})
            assert archive.has("resources/System1_2.fmu")
        assert errors(path) == []
    assert texts[0] == texts[1]


def test_without_an_edit_nothing_is_written(dual_mass):
    times = {path: path.stat().st_mtime_ns for path in dual_mass.rglob("*")}
    with ssptool.edit(dual_mass) as made:
        assert len(made.system.connections) == 4
    assert {path: path.stat().st_mtime_ns for path in dual_mass.rglob("*")} == times


def test_only_the_named_variant_is_edited(variants):
    before = snapshot(variants)
    with ssptool.edit(variants, variant="DualMassOscillatorFMI3") as made:
        made.disconnect("System2.F", "System1.F")
    changed = {name for name, content in snapshot(variants).items() if before[name] != content}
    assert changed == {"FMI3.ssd"}


def test_an_unsaved_edit_shows_its_diff(dual_mass):
    before = snapshot(dual_mass)
    with ssptool.edit(dual_mass, save=False) as made:
        made.bind(FMUS / "heavy_flange.ssv")
        assert made.diff().startswith("--- a/SystemStructure.ssd\n+++ b/SystemStructure.ssd\n")
        assert "--- /dev/null\n+++ b/resources/heavy_flange.ssv\n" in made.diff()
    assert snapshot(dual_mass) == before
