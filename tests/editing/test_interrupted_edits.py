"""Edits of several files that are killed, at each change of the file system: opened again, all is old or all is new."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ssptool
from ssptool import exceptions
from ssptool.documents.archive import Archive
from ssptool.journal import NAME, FileChange, write_journal
from ssptool.tempfiles import PREFIX, TemporaryFolder

KILLED = """
import json, os, shutil, signal, sys
from pathlib import Path
import ssptool
from ssptool.documents.archive import Archive

source, work, how = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
CHANGES = {"os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.chmod", "open"}


def contents(folder):
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def change(folder):
    with ssptool.edit(folder) as system:
        system.rename("System1", "Renamed")
        system.set("System2.m2", 3)


def unpack(folder):
    ssptool.unpack(work / "packed.ssp", folder, force=True)


def failing(folder):
    rename = os.rename
    def replace(path, target, placed=[]):
        if path.name != "journal.new" and len(placed) == 1 and not target.name.startswith("."):
            placed.append(target)
            raise OSError(28, "No space left on device")
        placed += [target] if path.name != "journal.new" else []
        os.replace(path, target)
    Path.replace = replace
    try:
        change(folder)
    except OSError:
        pass


def killed(folder, edit, at):
    left = [at]
    def count(event, arguments):
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            return
        left[0] -= event in CHANGES
        if left[0] == 0 and event in CHANGES:
            os.kill(os.getpid(), signal.SIGKILL)
    child = os.fork()
    if child == 0:
        sys.addaudithook(count)
        edit(folder)
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0


edit = {"edit": change, "unpack": unpack, "failing edit": failing}[how]
edited = work / "edited"
shutil.copytree(source, edited)
change(edited)
with Archive.open(edited) as archive:
    archive.save(work / "packed.ssp")
before, after = contents(source), contents(edited)
found, at, again = [], 0, True
while again:
    at += 1
    folder = work / str(at)
    shutil.copytree(source, folder)
    again = killed(folder, edit, at)
    halfway = contents(folder)
    with Archive.open(folder, reading=True):
        pass
    seen = contents(folder)
    visible = {name: text for name, text in halfway.items() if not name.startswith(".")}
    state = "old" if seen == before else "new" if seen == after else sorted(seen)
    found.append((visible not in (before, after), state))
print(json.dumps([[*(name for name in after if after[name] != before.get(name))], found]))
"""


@pytest.mark.parametrize(("how", "ends"), [("edit", "new"), ("unpack", "new"), ("failing edit", "old")])
def test_a_killed_edit_is_old_or_new_and_leaves_nothing(dual_mass, tmp_path, how, ends):
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(dual_mass), str(work), how], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    changed, found = json.loads(done.stdout)
    assert len(changed) == 2 and len(found) > 10
    assert {state for _, state in found} <= {"old", "new"}, found
    assert found[0][1] == "old" and found[-1] == [False, ends]
    assert any(halfway for halfway, _ in found), "it was never killed between two files"


def held(folder: Path) -> Path:
    """A temporary folder of a process that has ended."""
    made = folder / f".{PREFIX}1"
    made.mkdir()
    return made


def journal(folder: Path, *changes: FileChange) -> Path:
    write_journal(made := held(folder), changes)
    return made


@pytest.mark.parametrize(
    "change",
    [
        FileChange("../outside.ssv", f".{PREFIX}1/1", None),
        FileChange("resources/../../outside.ssv", None, f".{PREFIX}1/1"),
        FileChange("link/outside.ssv", f".{PREFIX}1/1", None),
        FileChange("a.ssv", "../secret", None),
    ],
)
def test_a_journal_reaches_nothing_outside_its_folder(dual_mass, tmp_path, change):
    (tmp_path / "secret").write_text("secret")
    (dual_mass / "link").symlink_to(tmp_path)
    made = journal(dual_mass, change)
    (made / "1").write_text("evil")
    with pytest.raises(exceptions.InterruptedEdit, match="outside"):
        ssptool.validate(dual_mass)
    assert not (tmp_path / "outside.ssv").exists() and not (dual_mass / "a.ssv").exists()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 2}', '{"version": 1, "back": false, "changes": [[1]]}', "[" * 100_000]
)
def test_a_damaged_journal_is_an_error_that_names_a_way_out(dual_mass, text):
    (held(dual_mass) / NAME).write_text(text)
    with pytest.raises(exceptions.InterruptedEdit, match=r"remove the hidden folder"):
        ssptool.validate(dual_mass)


def test_a_file_that_was_changed_since_is_left_alone(dual_mass):
    target = dual_mass / "SystemStructure.ssd"
    made = journal(dual_mass, FileChange(target.name, f".{PREFIX}1/1", f".{PREFIX}1/2"))
    (made / "1").write_text("from the edit")
    (made / "2").write_bytes(target.read_bytes())
    changed = target.read_bytes().replace(b"dual", b"DUAL", 1)
    target.write_bytes(changed)
    ssptool.validate(dual_mass)
    assert target.read_bytes() == changed and not made.exists()


def test_who_reads_waits_for_an_edit_that_is_about_to_end(dual_mass):
    """The edit of a living process is neither completed nor taken for abandoned."""
    folder = TemporaryFolder(dual_mass)
    new = Path(folder.name, "1")
    new.write_bytes(b"late")
    write_journal(Path(folder.name), [FileChange("late.ssv", f"{Path(folder.name).name}/1", None)])
    reader = subprocess.Popen(
        [sys.executable, "-m", "ssptool", "info", str(dual_mass)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with pytest.raises(subprocess.TimeoutExpired):
        reader.wait(2)
    assert new.exists()
    new.replace(dual_mass / "late.ssv")
    folder.cleanup()
    reader.communicate(timeout=60)
    assert reader.returncode == 0 and (dual_mass / "late.ssv").read_bytes() == b"late"


@pytest.mark.parametrize("exclusive", [False, True])
def test_a_document_of_the_system_completes_the_edit_too(dual_mass, exclusive):
    """Otherwise it is checked, or even edited, between two versions of its system."""
    file = dual_mass / "resources" / "dual_mass_oscillator.ssv"
    made = journal(dual_mass, FileChange(f"resources/{file.name}", f".{PREFIX}1/1", f".{PREFIX}1/2"))
    (made / "2").write_bytes(file.read_bytes())
    (made / "1").write_bytes(new := file.read_bytes().replace(b"System1", b"Renamed"))
    with Archive.of_document(file, exclusive=exclusive) as archive:
        assert archive.content(file.name) == new
    assert not made.exists()


def test_a_journal_that_cannot_be_carried_out_is_told(dual_mass):
    if os.geteuid() == 0:
        (dual_mass / "resources" / "folder").mkdir()  # nobody is kept from writing, but no file replaces a folder
        made = journal(dual_mass, FileChange("resources/folder/x/a.ssv", f".{PREFIX}1/1", None))
    else:
        (dual_mass / "resources").chmod(0o500)
        made = journal(dual_mass, FileChange("resources/a.ssv", f".{PREFIX}1/1", None))
    (made / "1").write_text("new")
    with pytest.raises(exceptions.InterruptedEdit, match="cannot be completed"), Archive.open(dual_mass):
        pass
    assert (made / "1").read_text() == "new"
