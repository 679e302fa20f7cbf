"""Temporary folders of processes that were killed are removed by the next one, those of living ones are not."""

import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ssptool import tempfiles
from ssptool.tempfiles import PREFIX, TemporaryFolder

HOLD = "from ssptool.tempfiles import TemporaryFolder; folder = TemporaryFolder(); print(folder.name, flush=True); "


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@contextmanager
def holder(more="input()"):
    """Another process with a folder, and that folder."""
    command = [sys.executable, "-c", HOLD + more]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        folder = Path(process.stdout.readline().strip())
        assert folder.name.startswith(PREFIX)
        try:
            yield process, folder
        finally:
            process.kill()


def test_what_a_killed_process_leaves_is_removed_by_the_next_one(place):
    with holder() as (process, folder):
        (folder / "unpacked.fmu").write_text("content")
        process.kill()
    assert folder.exists()
    TemporaryFolder().cleanup()
    assert not list(place.iterdir())


def test_the_folder_of_a_living_process_stays(place):
    with holder() as (_, folder):
        TemporaryFolder().cleanup()
        assert folder.exists()


def test_the_folder_stays_as_long_as_a_forked_child_lives(place):
    with holder("import os, sys; os.fork() and os._exit(0); print('forked', flush=True); sys.stdin.read()") as (
        process,
        folder,
    ):
        process.stdout.readline()
        process.wait()
        TemporaryFolder().cleanup()
        assert folder.exists()


def test_a_folder_that_another_process_removes_before_it_is_locked_is_made_again(place, monkeypatch):
    lock, removed = tempfiles._lock, []

    def remove_first(path, flags):
        if not removed:
            removed.append(path)
            path.rmdir()
        return lock(path, flags)

    monkeypatch.setattr(tempfiles, "_lock", remove_first)
    with TemporaryFolder() as name:
        assert removed == [Path(name)] and Path(name).is_dir()


def test_a_pipe_with_the_name_of_a_folder_holds_up_nobody(place):
    os.mkfifo(place / f"{PREFIX}pipe")
    (place / f"{PREFIX}link").symlink_to(place)
    with TemporaryFolder() as name:
        assert Path(name).is_dir()
    assert sorted(path.name for path in place.iterdir()) == [f"{PREFIX}link", f"{PREFIX}pipe"]


def test_what_others_have_made_stays(place):
    (place / "ssptool-notes").mkdir()
    TemporaryFolder().cleanup()
    assert (place / "ssptool-notes").exists()


def descriptors(folder):
    """Of that folder alone: what other tests have left for the garbage collector is closed whenever that comes."""
    found = []
    for path in Path("/dev/fd").iterdir():
        with suppress(OSError):  # that of the listing itself
            found += [path.name] if os.path.samestat(os.fstat(int(path.name)), folder) else []
    return found


def test_nothing_stays_behind_and_no_descriptor_does(place):
    folders = []
    with TemporaryFolder() as name:
        folders.append(Path(name).stat())
        assert descriptors(folders[0])
    forgotten = TemporaryFolder()
    folders.append(Path(forgotten.name).stat())
    with pytest.warns(ResourceWarning):
        del forgotten
    assert not list(place.iterdir())
    assert [descriptors(folder) for folder in folders] == [[], []]


def test_more_folders_than_a_process_may_lock_are_not_taken_for_abandoned(place, monkeypatch):
    monkeypatch.setattr(tempfiles, "MOST", 0)
    with TemporaryFolder() as name:
        tempfiles._cleared.clear()
        tempfiles.clear_abandoned()
        assert Path(name).exists()
