"""Files that change together change all or not at all, wherever it fails."""

from pathlib import Path

import pytest

from ssptool.documents.archive import Archive, EntryEdit
from ssptool.documents.saving import AtomicReplacement
from ssptool.documents.storage import MissingEntry

STRUCTURE = (
    b'<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription" '
    b'version="2.0" name="s"><ssd:System name="s"/></ssd:SystemStructureDescription>'
)


def everything(folder: Path) -> dict[str, bytes | None]:
    """Files with their bytes, and folders."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")
    }


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "resources").mkdir()
    (tmp_path / "SystemStructure.ssd").write_bytes(STRUCTURE)
    (tmp_path / "resources" / "a.txt").write_bytes(b"a")
    (tmp_path / "resources" / "b.txt").write_bytes(b"b")
    return tmp_path


def change(folder: Path) -> None:
    """Write two files, one of them in a new folder, and delete one."""
    with AtomicReplacement() as files:
        files.write(folder / "resources" / "a.txt", b"new")
        files.write(folder / "deep" / "er" / "c.txt", b"c")
        files.delete(folder / "resources" / "b.txt")


def test_everything_is_written_and_nothing_is_left_over(folder):
    change(folder)
    assert everything(folder) == {
        "SystemStructure.ssd": STRUCTURE,
        "resources": None,
        "resources/a.txt": b"new",
        "deep": None,
        "deep/er": None,
        "deep/er/c.txt": b"c",
    }


@pytest.mark.parametrize("failing", [0, 1])
def test_a_failing_rename_undoes_the_earlier_ones(folder, monkeypatch, failing):
    before = everything(folder)
    rename, calls = Path.replace, []

    def fail(path: Path, target: Path) -> Path:
        calls.append(path)
        if len(calls) == failing + 1:
            raise OSError("disk full")
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        change(folder)
    assert everything(folder) == before


def test_a_failing_deletion_undoes_everything(folder, monkeypatch):
    before = everything(folder)
    unlink = Path.unlink

    def fail(path: Path, missing_ok: bool = False) -> None:
        if path.name == "b.txt":
            raise PermissionError("not yours")
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", fail)
    with pytest.raises(PermissionError):
        change(folder)
    assert everything(folder) == before


def test_without_hard_links_copies_serve(folder, monkeypatch):
    before = everything(folder)
    rename = Path.replace

    def no_links(*_: object, **__: object) -> None:
        raise OSError("no links here")

    def fail(path: Path, target: Path) -> Path:
        if target.name == "c.txt":
            raise OSError("disk full")
        return rename(path, target)

    monkeypatch.setattr("os.link", no_links)
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        change(folder)
    assert everything(folder) == before


def test_a_failure_before_the_end_leaves_no_trace(folder):
    before = everything(folder)
    with pytest.raises(RuntimeError), AtomicReplacement() as files:
        files.write(folder / "deep" / "c.txt", b"c")
        raise RuntimeError
    assert everything(folder) == before


def test_permissions_of_a_replaced_file_stay(folder):
    (folder / "resources" / "a.txt").chmod(0o640)
    change(folder)
    assert (folder / "resources" / "a.txt").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_added_replaced_and_removed_entries_are_saved(folder, tmp_path, kind):
    path = folder
    if kind == "zip":
        with Archive.open(folder) as archive:
            archive.save(path := tmp_path.parent / f"{tmp_path.name}.ssp")
    (source := tmp_path.parent / f"{tmp_path.name}.bin").write_bytes(b"from a file")
    with Archive.open(path) as archive:
        archive.put("resources/a.txt", b"replaced")
        archive.put("resources/new.bin", source)
        archive.remove("resources/b.txt")
        assert archive.edits() == (
            EntryEdit("resources/a.txt", True, True),
            EntryEdit("resources/b.txt", True, False),
            EntryEdit("resources/new.bin", False, True),
        )
        assert (archive.on_disk("resources/a.txt"), archive.content("resources/a.txt")) == (b"a", b"replaced")
        assert archive.local_path("resources/a.txt").read_bytes() == b"replaced"
        archive.save()
    with Archive.open(path) as archive:
        assert {name: archive.read(name) for name in archive.names()} == {
            "SystemStructure.ssd": STRUCTURE,
            "resources/a.txt": b"replaced",
            "resources/new.bin": b"from a file",
        }


def test_a_removed_entry_is_gone_at_once(folder):
    with Archive.open(folder) as archive:
        archive.remove("resources/a.txt")
        assert not archive.has("resources/a.txt")
        for use in (archive.read, archive.local_path, archive.remove):
            with pytest.raises(MissingEntry):
                use("resources/a.txt")
        archive.put("resources/a.txt", b"back")
        assert archive.read("resources/a.txt") == b"back"


@pytest.mark.parametrize("name", ["../x", "/x", "a\\b", ""])
def test_unsafe_names_are_refused(folder, name):
    with Archive.open(folder) as archive, pytest.raises(ValueError, match="cannot be the name of an entry"):
        archive.put(name, b"")


@pytest.mark.parametrize("name", ["made", "made.ssp", "made.ssd"])
def test_a_created_archive_appears_when_it_is_saved(tmp_path, name):
    with Archive.create(tmp_path / name, STRUCTURE) as archive:
        assert archive.structure().structure.name == "s"
        assert not (tmp_path / name).exists()
        archive.save()
    with Archive.open(tmp_path / name) as archive:
        assert archive.read(archive.default) == STRUCTURE
