"""What several programs edit at the same time, what links lead to, and what killed programs leave."""

import multiprocessing
import signal
import subprocess
import sys
import time
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

import ssptool
from ssptool.documents.archive import Archive
from tests.editing.small_systems import snapshot

EDITORS = 6
FORMS = ("folder", "package", "structure")


def in_form(folder: Path, form: str) -> Path:
    """The same system as a folder, a package or a lone structure."""
    if form == "package":
        with Archive.open(folder) as archive:
            archive.save(path := folder.parent / "packed.ssp")
        return path
    return folder if form == "folder" else folder / "SystemStructure.ssd"


def elements(path: Path) -> set[str]:
    with Archive.open(path) as archive:
        return {element.name for element in archive.structure().structure.system.elements}


def added(path: Path) -> set[str]:
    return {name for name in elements(path) if name.startswith("Part")}


@pytest.mark.slow
def test_editors_on_the_command_line_wait_for_each_other(dual_mass):
    make = [sys.executable, "-m", "ssptool", "add", str(dual_mass), "--system"]
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen([*make, f"Part{number}"], stdout=pipe, stderr=pipe, text=True) for number in range(EDITORS)
    ]
    assert [(process.communicate()[1], process.returncode) for process in processes] == [("", 0)] * EDITORS
    assert added(dual_mass) == {f"Part{number}" for number in range(EDITORS)}


def add_system(path: Path, name: str, wait: bool, start: Barrier, refusals: SimpleQueue) -> None:
    start.wait()
    try:
        with ssptool.edit(path, wait=wait) as system:
            system.add_system(name)
            time.sleep(0.1)
    except ssptool.exceptions.ChangedMeanwhile as refusal:
        refusals.put(f"{name}: {refusal}")


@pytest.mark.parametrize("form", ["folder", "package"])
@pytest.mark.parametrize("wait", [True, False])
def test_editors_in_python_wait_or_are_refused_and_nothing_is_lost(dual_mass, form, wait):
    path = in_form(dual_mass, form)
    names = {f"Part{number}" for number in range(EDITORS)}
    forked = multiprocessing.get_context("fork")
    start, refusals = forked.Barrier(EDITORS), forked.SimpleQueue()
    editors = [forked.Process(target=add_system, args=(path, name, wait, start, refusals)) for name in names]
    for editor in editors:
        editor.start()
    for editor in editors:
        editor.join()
    refused = set()
    while not refusals.empty():
        name, _, message = refusals.get().partition(": ")
        assert message.startswith(f"another program has changed {path}")
        refused.add(name)
    assert added(path) == names - refused and bool(refused) != wait


@pytest.mark.parametrize("form", FORMS)
def test_the_second_to_save_is_refused(dual_mass, form):
    path = in_form(dual_mass, form)
    with pytest.raises(ssptool.exceptions.ChangedMeanwhile) as caught, ssptool.edit(path) as slow:
        slow.add_system("Slow")
        with ssptool.edit(path) as fast:
            fast.add_system("Fast")
    assert {"Fast"} <= elements(path) and "Slow" not in elements(path)
    assert caught.value.names == ("packed.ssp" if form == "package" else "SystemStructure.ssd",)
    assert "nothing is saved; repeat the edit" in str(caught.value)


def test_a_file_that_was_read_and_not_edited_counts(dual_mass):
    """A parameter set is edited by what the structure says, which is another one by then."""
    structure = dual_mass / "SystemStructure.ssd"
    with pytest.raises(ssptool.exceptions.ChangedMeanwhile), ssptool.edit(dual_mass) as made:
        made.set("System1.m1", 3)
        structure.write_bytes(structure.read_bytes() + b"\n")
        before = snapshot(dual_mass)
    assert snapshot(dual_mass) == before


def test_a_file_that_another_program_adds_is_not_overwritten(dual_mass, tmp_path):
    (other := tmp_path / "other.ssv").write_bytes(next(dual_mass.glob("resources/*.ssv")).read_bytes())
    with (
        pytest.raises(ssptool.exceptions.ChangedMeanwhile, match=r"resources/other\.ssv"),
        ssptool.edit(dual_mass) as made,
    ):
        made.bind(other)
        (dual_mass / "resources" / "other.ssv").write_text("not ours")
    assert (dual_mass / "resources" / "other.ssv").read_text() == "not ours"


@pytest.mark.parametrize("name", ["made", "made.ssp", "made.ssd"])
def test_of_two_that_make_the_same_system_one_is_refused(tmp_path, name):
    with pytest.raises(FileExistsError, match="exists"), ssptool.new(tmp_path / name) as slow:
        slow.add_system("Slow")
        with ssptool.new(tmp_path / name) as fast:
            fast.add_system("Fast")
    assert elements(tmp_path / name) == {"Fast"}


def test_an_editor_saves_again_and_again(dual_mass):
    for form in FORMS:
        with Archive.open(path := in_form(dual_mass, form)) as archive:
            for number in range(3):
                archive.structure().structure.name = f"{form} {number}"
                archive.save()
        with Archive.open(path) as archive:
            assert archive.structure().structure.name == f"{form} 2"


def test_an_editor_that_keeps_others_waiting_for_too_long_is_named(dual_mass, monkeypatch):
    monkeypatch.setattr("ssptool.tempfiles.PATIENCE_SECONDS", 0.1)
    with (
        ssptool.edit(dual_mass, wait=True),
        pytest.raises(ssptool.exceptions.WrongUsage, match=r"SystemStructure\.ssd for 0\.1 s"),
        ssptool.edit(dual_mass, wait=True),
    ):
        raise AssertionError("both edit it")
    with ssptool.edit(dual_mass, wait=True) as made:
        made.add_system("Later")


@pytest.mark.parametrize("form", FORMS)
def test_what_a_link_leads_to_is_edited(dual_mass, tmp_path, form):
    path = in_form(dual_mass, form)
    link = tmp_path / f"link{path.suffix}"
    link.symlink_to(path)
    with ssptool.edit(link, force=True) as made:
        made.add_system("Part")
    assert link.is_symlink() and added(path) == {"Part"}


def test_a_link_inside_a_folder_stays_one(dual_mass):
    source = next(dual_mass.glob("resources/*.ssv"))
    target = source.with_name("target.ssv")
    source.rename(target)
    source.symlink_to(target.name)
    with ssptool.edit(dual_mass) as made:
        made.set("System1.m1", 3)
    assert source.is_symlink() and b'"3"' in target.read_bytes()


def test_nothing_is_written_through_a_link_that_leads_out_of_the_folder(dual_mass, tmp_path):
    source = next(dual_mass.glob("resources/*.ssv"))
    outside = tmp_path / "outside.ssv"
    source.rename(outside)
    source.symlink_to(outside)
    before = outside.read_bytes()
    with (
        pytest.raises(ssptool.exceptions.WrongUsage, match=r"outside\.ssv, and is not written"),
        ssptool.edit(dual_mass) as made,
    ):
        made.set("System1.m1", 3)
    assert source.is_symlink() and outside.read_bytes() == before


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("at", ["os.fsync", "pathlib.Path.replace"])
def test_the_next_edit_removes_what_a_killed_one_leaves(dual_mass, form, at):
    path = in_form(dual_mass, form)
    module, _, name = at.rpartition(".")
    code = (
        f"import os, pathlib, signal, ssptool, sys\n{module}.{name} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "with ssptool.edit(sys.argv[1]) as system: system.add_system('Lost')\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert hidden(path.parent) or hidden(dual_mass)
    with ssptool.edit(path) as made:
        made.add_system("Part")
    assert added(path) == {"Part"} and hidden(path.parent) + hidden(dual_mass) == []


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("form", FORMS)
def test_an_error_of_the_disk_names_the_file(dual_mass, monkeypatch, form):
    path = in_form(dual_mass, form)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space") as caught, ssptool.edit(path) as made:
        made.add_system("Part")
    assert caught.value.filename == str(path / "SystemStructure.ssd" if form == "folder" else path)
