"""Entries of packages inside packages, under names with a `!`."""

import io
import zipfile

import pytest

from ssptool.documents.archive import Archive, UnresolvableUri
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.foreign_files import ArchiveLimits
from ssptool.documents.storage import MissingEntry

SSD = b'<SystemStructureDescription xmlns="http://ssp-standard.org/SSP1/SystemStructureDescription"/>'


def packed(**files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), data)
    return content.getvalue()


INNER = packed(SystemStructure_ssd=SSD, resources__a_txt=b"inner")
SUB = packed(SystemStructure_ssd=SSD, resources__inner_ssp=INNER, resources__a_txt=b"sub")
FILES = {"SystemStructure.ssd": SSD, "resources/sub.ssp": SUB, "resources/a!b.txt": b"odd"}


@pytest.fixture(params=["folder", "zip"])
def archive(tmp_path, request):
    if request.param == "zip":
        with zipfile.ZipFile(tmp_path / "s.ssp", "w") as whole:
            for name, data in FILES.items():
                whole.writestr(name, data)
        path = tmp_path / "s.ssp"
    else:
        path = tmp_path / "s"
        (path / "resources").mkdir(parents=True)
        for name, data in FILES.items():
            (path / name).write_bytes(data)
    with Archive.open(path) as opened:
        yield opened


DEEP = "resources/sub.ssp!resources/inner.ssp!resources/a.txt"


def test_entries_inside_are_read_by_name_to_any_depth(archive):
    assert archive.read("resources/sub.ssp!resources/a.txt") == b"sub"
    assert archive.read(DEEP) == b"inner"
    assert archive.local_path(DEEP).read_bytes() == b"inner"
    assert archive.has(DEEP)


def test_an_entry_whose_own_name_has_the_sign_is_found(archive):
    assert archive.read("resources/a!b.txt") == b"odd"
    assert archive.names().count("resources/a!b.txt") == 1


def test_what_is_inside_is_not_listed(archive):
    assert sorted(archive.names()) == sorted(FILES)


def test_documents_inside_know_their_full_name(archive):
    name = "resources/sub.ssp!resources/inner.ssp!SystemStructure.ssd"
    assert archive.document(name).name == name
    assert archive.document(name).root.position.file == name


@pytest.mark.parametrize("name", ["resources/sub.ssp!none", "resources/none.ssp!a", DEEP + "!x", "resources/a!b.txt!c"])
def test_what_is_not_there_is_missing_and_named_without_temporary_folders(archive, name):
    assert not archive.has(name)
    with pytest.raises((MissingEntry, InvalidDocument)) as caught:
        archive.read(name)
    assert "ssptool-" not in str(caught.value)


def test_references_are_resolved_in_the_package_that_they_are_in(archive):
    document = "resources/sub.ssp!SystemStructure.ssd"
    assert archive.resolve(document, "resources/a.txt") == "resources/sub.ssp!resources/a.txt"
    assert archive.resolve(document, "") == document
    with pytest.raises(UnresolvableUri, match="lies outside the archive"):
        archive.resolve(document, "../SystemStructure.ssd")


def test_references_inside_a_component_start_at_its_root(archive):
    assert archive.inside("resources/sub.ssp", "resources/a.txt") == "resources/sub.ssp!resources/a.txt"
    assert archive.inside("resources/unpacked.fmu", "a%20b.txt") == "resources/unpacked.fmu/a b.txt"
    with pytest.raises(UnresolvableUri):
        archive.inside("resources/sub.ssp", "../a.txt")


def test_a_replaced_package_is_read_anew(archive):
    name = "resources/sub.ssp!resources/a.txt"
    assert archive.read(name) == b"sub"
    document = archive.document("resources/sub.ssp!SystemStructure.ssd")
    archive.put("resources/sub.ssp", packed(resources__a_txt=b"new", SystemStructure_ssd=SSD))
    assert archive.read(name) == b"new"
    assert archive.document("resources/sub.ssp!SystemStructure.ssd") is not document
    archive.remove("resources/sub.ssp")
    assert not archive.has(name)


def test_edits_of_what_is_inside_are_refused_and_not_lost(archive, tmp_path):
    archive.document("resources/sub.ssp!SystemStructure.ssd").root.set("name", "new")
    for save in (archive.edits, archive.save, lambda: archive.save(tmp_path / "copy.ssp")):
        with pytest.raises(ValueError, match=r"SystemStructure\.ssd is part of a nested package"):
            save()


def test_problems_inside_are_reported_with_the_full_name(tmp_path):
    bad = packed(SystemStructure_ssd=SSD, resources__sub_ssp=packed(**{"..__x": b""}))
    (tmp_path / "s.ssp").write_bytes(bad)
    with Archive.open(tmp_path / "s.ssp") as archive, pytest.raises(InvalidDocument) as caught:
        archive.read("resources/sub.ssp!SystemStructure.ssd")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.position.file) == ("PKG-020", "resources/sub.ssp!../x")


def test_a_depth_is_a_limit(tmp_path):
    (tmp_path / "s.ssp").write_bytes(packed(SystemStructure_ssd=SSD, resources__sub_ssp=SUB))
    with Archive.open(tmp_path / "s.ssp", ArchiveLimits(depth=1)) as archive:
        assert archive.read("resources/sub.ssp!resources/a.txt") == b"sub"
        with pytest.raises(InvalidDocument, match="PKG-024: packages are nested deeper than 1 levels"):
            archive.read(DEEP)


def test_sizes_are_limited_for_all_packages_together(tmp_path):
    """The package has 2 entries, the one inside 3, the one inside that 2."""
    (tmp_path / "s.ssp").write_bytes(packed(SystemStructure_ssd=SSD, resources__sub_ssp=SUB))
    with Archive.open(tmp_path / "s.ssp", ArchiveLimits(entries=6)) as archive:
        assert archive.read("resources/sub.ssp!resources/a.txt") == b"sub"
        with pytest.raises(InvalidDocument, match="PKG-024"):
            archive.read(DEEP)
