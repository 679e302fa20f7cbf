"""One way to read a zip, a folder and a lone SSD; clear refusals; saving that loses nothing."""

import os
import struct
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.foreign_files import ArchiveLimits
from ssptool.documents.storage import MissingEntry
from ssptool.documents.vocabulary import SSD, SSV
from ssptool.errors import UnknownName


def ssd_text(name: str) -> str:
    root = f'<ssd:SystemStructureDescription xmlns:ssd="{SSD}" version="1.0" name="{name}"'
    return f"<?xml version='1.0'?>\r\n{root}\r\n><ssd:System name='{name} root'/></ssd:SystemStructureDescription>"


FILES = {
    "SystemStructure.ssd": ssd_text("Main").encode(),
    "VariantB.ssd": ssd_text("Heavy flange").encode(),
    "resources/A.fmu": bytes(range(256)) * 40,
    "resources/p.ssv": f'<ssv:ParameterSet xmlns:ssv="{SSV}" version="1.0" name="p"/>'.encode(),
    "resources/nested/inner.ssd": ssd_text("Inner").encode(),
    "extra/org.example/Maß.txt": b"1 kg",
}


def write_folder(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def write_zip(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return path


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "system", FILES)


@pytest.fixture(params=["zip", "folder"])
def archive(request, tmp_path):
    if request.param == "zip":
        path = write_zip(tmp_path / "system.ssp", FILES)
    else:
        path = write_folder(tmp_path / "system", FILES)
    with Archive.open(path) as opened:
        yield opened


def codes(caught) -> list[str]:
    return [diagnostic.code for diagnostic in caught.value.diagnostics]


# --- Reading ---


def test_zip_and_folder_read_alike(archive):
    assert set(archive.names()) == set(FILES)
    for name, content in FILES.items():
        assert archive.has(name)
        assert archive.read(name) == content
        assert archive.local_path(name).read_bytes() == content
    assert [document.name for document in archive.variants()] == ["SystemStructure.ssd", "VariantB.ssd"]
    assert archive.structure().structure.system.name == "Main root"


def test_a_lone_ssd_reads_the_files_around_it(folder):
    with Archive.open(folder / "VariantB.ssd") as archive:
        assert archive.structure().name == "VariantB.ssd"
        assert [document.name for document in archive.variants()] == ["VariantB.ssd"]
        assert archive.read(archive.resolve("VariantB.ssd", "resources/A.fmu")) == FILES["resources/A.fmu"]
        assert set(archive.names()) == set(FILES) - {"SystemStructure.ssd"}


def test_a_lone_ssd_does_not_list_what_merely_lies_beside_it(tmp_path):
    (tmp_path / "a.ssd").write_text(ssd_text("a"))
    (tmp_path / "unrelated.txt").write_text("")
    archive = Archive.open(tmp_path / "a.ssd")
    assert archive.names() == ("a.ssd",)
    assert archive.has("unrelated.txt")


@pytest.mark.parametrize("variant", ["Heavy flange", "VariantB", "VariantB.ssd"])
def test_a_variant_is_found_by_its_name_or_its_file(archive, variant):
    assert archive.structure(variant).name == "VariantB.ssd"


def test_the_name_of_a_variant_beats_the_name_of_a_file(tmp_path):
    files = {"SystemStructure.ssd": ssd_text("x"), "A.ssd": ssd_text("B"), "B.ssd": ssd_text("A")}
    archive = Archive.open(write_folder(tmp_path / "f", {name: text.encode() for name, text in files.items()}))
    assert archive.structure("A").name == "B.ssd"
    assert archive.structure("A.ssd").name == "A.ssd"


def test_an_unknown_variant_names_those_that_exist(archive):
    with pytest.raises(UnknownName, match=r"'C'.*Main, Heavy flange"):
        archive.structure("C")


def test_a_broken_variant_does_not_hide_the_others(tmp_path):
    archive = Archive.open(write_folder(tmp_path / "f", {**FILES, "Broken.ssd": b"<"}))
    assert archive.structure("Heavy flange").name == "VariantB.ssd"
    with pytest.raises(InvalidDocument, match="XML-001"):
        archive.structure("Broken")


def test_a_document_is_parsed_once_and_always_the_same(archive):
    assert archive.document("resources/p.ssv") is archive.document("resources/p.ssv")


def test_what_is_missing_is_named(archive):
    assert not archive.has("resources/B.fmu")
    assert not archive.has("resources")
    for read in (archive.read, archive.local_path, archive.document):
        with pytest.raises(MissingEntry, match=r"resources/B\.fmu") as caught:
            read("resources/B.fmu")
        assert caught.value.name == "resources/B.fmu"


@pytest.mark.parametrize("name", ["resources/../../outside.txt", "/etc/passwd"])
def test_names_do_not_lead_out_of_a_folder(folder, name):
    (folder.parent / "outside.txt").write_text("secret")
    archive = Archive.open(folder)
    assert not archive.has(name)
    with pytest.raises(MissingEntry):
        archive.read(name)


def test_files_around_a_folder_have_names_that_start_with_dots(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    (folder.parent / "outside.txt").write_text("beside")
    archive = Archive.open(folder)
    assert archive.resolve("SystemStructure.ssd", "../outside.txt") == "../outside.txt"
    assert archive.has("../outside.txt") and archive.read("../outside.txt") == b"beside"
    assert "../outside.txt" not in archive.names()


def test_unpacked_files_are_private_and_go_when_the_archive_is_closed(tmp_path):
    with Archive.open(write_zip(tmp_path / "a.ssp", FILES)) as archive:
        path = archive.local_path("resources/A.fmu")
        root = path.parent.parent
        assert archive.local_path("resources/A.fmu") == path
        assert os.name != "posix" or root.stat().st_mode & 0o077 == 0
        assert [file.name for file in root.rglob("*") if file.is_file()] == ["A.fmu"], "nothing else was unpacked"
    assert not root.exists()


# --- What is refused ---


def test_a_path_to_nothing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.ssp does not exist"):
        Archive.open(tmp_path / "nothing.ssp")


@pytest.mark.parametrize("keep", [0, 3, 200, -30])
def test_a_truncated_zip_is_refused(tmp_path, keep):
    path = write_zip(tmp_path / "a.ssp", FILES)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InvalidDocument) as caught:
        Archive.open(path)
    assert codes(caught) == ["PKG-001"]
    assert caught.value.diagnostics[0].position.file == "a.ssp"


def test_a_damaged_entry_is_refused_when_it_is_read(tmp_path):
    path = write_zip(tmp_path / "a.ssp", FILES, zipfile.ZIP_STORED)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"1 kg", b"2 kg"))
    archive = Archive.open(path)
    assert archive.read("SystemStructure.ssd") == FILES["SystemStructure.ssd"]
    with pytest.raises(InvalidDocument) as caught:
        archive.read("extra/org.example/Maß.txt")
    assert codes(caught) == ["PKG-001"]
    assert caught.value.diagnostics[0].position.file == "extra/org.example/Maß.txt"


@pytest.mark.parametrize(
    ("files", "advice"),
    [
        ({"Main.ssd": b"<a/>"}, r"rename.*Main\.ssd"),
        ({"system/SystemStructure.ssd": b"<a/>"}, "contents of that folder"),
        ({"systemstructure.ssd": b"<a/>"}, r"rename.*systemstructure\.ssd"),
        ({"a.txt": b""}, "choose"),
    ],
)
@pytest.mark.parametrize("write", [write_zip, write_folder])
def test_a_package_without_a_default_structure_is_refused_with_the_likely_cause(tmp_path, write, files, advice):
    with pytest.raises(InvalidDocument, match=advice) as caught:
        Archive.open(write(tmp_path / "package.ssp", files))
    assert codes(caught) == ["PKG-009"]


@pytest.mark.parametrize("name", ["../evil.txt", "resources/../../evil.txt", "/evil.txt", "C:/evil.txt", "C:evil.txt"])
def test_names_that_lead_out_of_the_archive_are_refused(tmp_path, name):
    with pytest.raises(InvalidDocument) as caught:
        Archive.open(write_zip(tmp_path / "a.ssp", {**FILES, name: b""}))
    assert codes(caught) == ["PKG-020"]
    assert caught.value.diagnostics[0].position.file == name


@pytest.mark.parametrize("byte", [b"\x00", b"\n"])
def test_odd_bytes_in_names_are_refused(tmp_path, byte):
    path = write_zip(tmp_path / "a.ssp", {**FILES, "resources_b": b""})
    path.write_bytes(path.read_bytes().replace(b"resources_b", b"resources" + byte + b"b"))
    with pytest.raises(InvalidDocument) as caught:
        Archive.open(path)
    assert codes(caught) == ["PKG-020"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_names_are_refused(tmp_path):
    path = write_zip(tmp_path / "a.ssp", FILES)
    with zipfile.ZipFile(path, "a") as packed:
        packed.writestr("resources/A.fmu", b"another")
    with pytest.raises(InvalidDocument) as caught:
        Archive.open(path)
    assert codes(caught) == ["PKG-021"]


@pytest.mark.parametrize("name", ["./r/a.txt", "r/./a.txt", "r//a.txt", "r\\a.txt", ".\\r\\.\\a.txt", "././r/a.txt"])
def test_entries_are_read_under_their_plain_names(tmp_path, name):
    with Archive.open(write_zip(tmp_path / "a.ssp", {**FILES, "./": b"", name: b"text"})) as archive:
        assert archive.read("r/a.txt") == b"text"
        assert set(archive.names()) == {*FILES, "r/a.txt"}
        assert {one.name for one in archive.zip_facts.odd} == {"./", name}
        archive.save(tmp_path / "plain.ssp")
    with Archive.open(tmp_path / "plain.ssp") as again:
        assert (set(again.names()), again.zip_facts.odd) == ({*FILES, "r/a.txt"}, ())


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ["resources/A.fmu", "./resources/A.fmu", "resources\\A.fmu"])
def test_an_entry_that_is_there_again_with_the_same_bytes_is_read_once(tmp_path, name):
    path = write_zip(tmp_path / "a.ssp", FILES)
    with zipfile.ZipFile(path, "a") as packed:
        packed.writestr(name, FILES["resources/A.fmu"])
    with Archive.open(path) as archive:
        assert archive.names().count("resources/A.fmu") == 1
        assert archive.zip_facts.odd[-1].name == name
    with zipfile.ZipFile(path, "a") as packed:
        packed.writestr(name, b"another")
    with pytest.raises(InvalidDocument) as caught:
        Archive.open(path)
    assert codes(caught) == ["PKG-021"]


def test_unsaved_edits_leave_no_odd_entry(tmp_path):
    """Saving packs all entries anew."""
    with Archive.open(write_zip(tmp_path / "a.ssp", {**FILES, "./a.txt": b""})) as archive:
        assert archive.zip_facts.odd
        archive.put("b.txt", b"")
        assert not archive.zip_facts.odd


def test_a_name_that_is_a_file_and_a_folder_is_refused(tmp_path):
    with pytest.raises(InvalidDocument, match="file and a folder") as caught:
        Archive.open(write_zip(tmp_path / "a.ssp", {**FILES, "resources/A.fmu/b": b""}))
    assert codes(caught) == ["PKG-021"]


def test_other_compression_than_deflate_is_refused(tmp_path):
    with pytest.raises(InvalidDocument) as caught:
        Archive.open(write_zip(tmp_path / "a.ssp", FILES, zipfile.ZIP_BZIP2))
    assert codes(caught) == ["PKG-002"] * len(FILES)


def test_encrypted_entries_are_refused(tmp_path):
    path = write_zip(tmp_path / "a.ssp", FILES)
    content = bytearray(path.read_bytes())
    flags = content.index(b"PK\x01\x02") + 8  # in the central directory, bit 0 says that the entry is encrypted
    struct.pack_into("<H", content, flags, 1)
    path.write_bytes(content)
    with pytest.raises(InvalidDocument) as caught:
        Archive.open(path)
    assert codes(caught) == ["PKG-003"]
    assert caught.value.diagnostics[0].position.file == "SystemStructure.ssd"


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        (ArchiveLimits(entries=5), "6 entries"),
        (ArchiveLimits(unpacked_bytes=1000), "bytes unpacked"),
    ],
)
def test_limits_are_enforced(tmp_path, limits, what):
    path = write_zip(tmp_path / "a.ssp", FILES)
    with pytest.raises(InvalidDocument, match=what) as caught:
        Archive.open(path, limits)
    assert codes(caught) == ["PKG-024"]


def test_a_zip_bomb_is_refused_unread(tmp_path):
    path = write_zip(tmp_path / "a.ssp", {**FILES, "resources/zeros": bytes(2**25)})
    with pytest.raises(InvalidDocument, match="per packed byte") as caught:
        Archive.open(path)
    assert codes(caught) == ["PKG-024"]


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_zip_with_any_bytes_changed_is_read_or_refused(tmp_path, data):
    """Whatever zipfile makes of a broken file arrives as one kind of exception."""
    path = write_zip(tmp_path / "a.ssp", FILES)
    content = bytearray(path.read_bytes())
    directory = content.index(b"PK\x01\x02")
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1) | st.integers(directory, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        with Archive.open(path) as archive:
            for name in archive.names():
                archive.read(name)
    except InvalidDocument as refused:
        assert refused.diagnostics


# --- Saving ---


def contents(path: Path) -> dict[str, bytes]:
    with Archive.open(path) as archive:
        return {name: archive.read(name) for name in archive.names()}


@pytest.mark.parametrize("target", ["copy.ssp", "copy"])
def test_saving_elsewhere_keeps_every_entry(archive, tmp_path, target):
    archive.variants()
    archive.save(tmp_path / target)
    assert contents(tmp_path / target) == FILES


def test_saving_writes_the_edit_and_nothing_else(archive):
    archive.structure().structure.system.name = "Other"
    archive.save()
    edited = FILES["SystemStructure.ssd"].replace(b"Main root", b"Other")
    assert contents(archive.path) == {**FILES, "SystemStructure.ssd": edited}
    assert archive.read("resources/A.fmu") == FILES["resources/A.fmu"], "the archive stays usable"


def test_saving_in_place_touches_only_edited_files(folder):
    before = {name: (folder / name).stat().st_ino for name in FILES}
    archive = Archive.open(folder)
    archive.document("VariantB.ssd").structure.name = "C"
    archive.save()
    assert [name for name in FILES if (folder / name).stat().st_ino != before[name]] == ["VariantB.ssd"]


def test_a_zip_keeps_the_order_times_and_compression_of_its_entries(tmp_path):
    path = tmp_path / "a.ssp"
    with zipfile.ZipFile(path, "w") as packed:
        for name in reversed(FILES):
            info = zipfile.ZipInfo(name, (2020, 2, 2, 2, 2, 2))
            info.compress_type = zipfile.ZIP_STORED if name.endswith("fmu") else zipfile.ZIP_DEFLATED
            packed.writestr(info, FILES[name])
    facts = [(info.filename, info.date_time, info.compress_type) for info in zipfile.ZipFile(path).infolist()]
    Archive.open(path).save(tmp_path / "b.ssp")
    saved = zipfile.ZipFile(tmp_path / "b.ssp").infolist()
    assert [(info.filename, info.date_time, info.compress_type) for info in saved] == facts
    assert max(info.extract_version for info in saved) <= 20


def test_equal_archives_give_equal_files(folder, tmp_path):
    for name in ("a.ssp", "b.ssp"):
        Archive.open(folder).save(tmp_path / name)
        os.utime(folder / "SystemStructure.ssd", (0, 0))
    assert (tmp_path / "a.ssp").read_bytes() == (tmp_path / "b.ssp").read_bytes()


def test_a_lone_ssd_is_saved_alone(tmp_path):
    (tmp_path / "a.ssd").write_text(ssd_text("a"))
    archive = Archive.open(tmp_path / "a.ssd")
    archive.structure().structure.name = "b"
    archive.save()
    archive.save(tmp_path / "c.ssd")
    for name in ("a.ssd", "c.ssd"):
        assert Archive.open(tmp_path / name).structure("b").name == name


def test_an_archive_cannot_become_a_lone_ssd(archive, tmp_path):
    with pytest.raises(ValueError, match="more than one file"):
        archive.save(tmp_path / "a.ssd")


@pytest.mark.parametrize("target", ["b.ssp", "b"])
def test_a_lone_ssd_cannot_become_an_archive_because_what_lies_beside_it_would_be_lost(folder, tmp_path, target):
    with pytest.raises(ValueError, match="open its folder"):
        Archive.open(folder / "VariantB.ssd").save(tmp_path / target)


def test_another_folder_is_never_mixed_into(folder, tmp_path):
    write_folder(tmp_path / "other", {"keep.txt": b""})
    with pytest.raises(FileExistsError, match="other is not empty"):
        Archive.open(folder).save(tmp_path / "other")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = write_zip(tmp_path / "a.ssp", FILES)
    before = path.read_bytes()
    archive = Archive.open(path)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        archive.save()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.ssp"]


def test_a_name_that_no_file_system_can_have_is_not_there(tmp_path: Path):
    (tmp_path / "SystemStructure.ssd").write_text("<a/>")
    with Archive.open(tmp_path) as archive:
        assert not archive.has("x" * 300)
        assert not archive.has("a/" * 5000 + "b")
