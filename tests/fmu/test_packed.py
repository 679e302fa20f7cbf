"""What is in an FMU is remembered as long as the file is the same."""

import os
import zipfile

import pytest

from ssptool.fmu.model_description_xml import RecentValues, zip_contents


def write(path, content: bytes, *more: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", content)
        for name in more:
            archive.writestr(name, b"")


def test_names_and_description_are_found_without_opening_it_again(tmp_path, monkeypatch):
    path = tmp_path / "m.fmu"
    write(path, b"<a/>", "binaries/x/y.so")
    first = zip_contents(path)
    monkeypatch.setattr("ssptool.fmu.model_description_xml.ForeignZip", None)
    assert zip_contents(path) is first
    assert first.names == {"modelDescription.xml", "binaries/x/y.so"}
    assert first.description == b"<a/>"


def test_another_file_of_that_name_is_another(tmp_path):
    path, other = tmp_path / "m.fmu", tmp_path / "n.fmu"
    write(path, b"<a/>")
    write(other, b"<b/>")
    assert zip_contents(path).description == b"<a/>"
    other.replace(path)
    assert zip_contents(path).description == b"<b/>"


def test_a_file_that_was_written_to_is_read_anew(tmp_path):
    path = tmp_path / "m.fmu"
    write(path, b"<a/>")
    zip_contents(path)
    before = path.stat()
    write(path, b"<b/>")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert zip_contents(path).description == b"<b/>"


def test_a_description_that_is_too_large_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("ssptool.fmu.model_description_xml.KEPT_SIZE", 100)
    path = tmp_path / "m.fmu"
    write(path, b" " * 101)
    assert zip_contents(path).description is None


def test_the_values_that_were_used_last_are_kept(monkeypatch):
    monkeypatch.setattr("ssptool.fmu.model_description_xml.KEPT_SIZE", 10)
    recent = RecentValues()
    recent.put("a", 1, 4)
    recent.put("b", 2, 4)
    assert recent.get("a") == 1
    recent.put("c", 3, 6)
    assert [recent.get(key) for key in "abc"] == [1, None, 3]
    recent.put("d", 4, 11)
    assert [recent.get(key) for key in "abcd"] == [None] * 4


def test_what_is_no_zip_is_refused_each_time(tmp_path):
    path = tmp_path / "m.fmu"
    path.write_bytes(b"MZ")
    for _ in range(2):
        with pytest.raises(zipfile.BadZipFile):
            zip_contents(path)
