"""Zips that lie: more bytes than their directory states, deep nesting, names that lead out, entries that are links."""

import os
import shutil
import stat
import struct
import sys
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest

import ssptool
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.foreign_files import ArchiveLimits, ForeignZip
from ssptool.fmu.description import UnreadableFmu
from ssptool.fmu.read_description import read_description
from tests.safety.command_line import typed

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
HIDDEN = 256 * 2**20
MOST_MEMORY = 48 * 2**20


def lying_zip(path: Path, name: str, start: bytes, others: dict[str, bytes] | None = None) -> Path:
    """A zip whose entry `name` states the size and checksum of `start`, and unpacks to that and HIDDEN zeros."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(start)
    packed += b"".join(packer.compress(bytes(2**20)) for _ in range(HIDDEN // 2**20)) + packer.flush()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for other, content in (others or {}).items():
            archive.writestr(other, content)
        archive.writestr(name, packed)
        info = archive.getinfo(name)
        info.compress_type, info.file_size, info.CRC = zipfile.ZIP_DEFLATED, len(start), zlib.crc32(start)
    content = bytearray(path.read_bytes())
    # The header before the entry: method, checksum, packed and unpacked size.
    struct.pack_into("<H", content, info.header_offset + 8, zipfile.ZIP_DEFLATED)
    struct.pack_into("<III", content, info.header_offset + 14, info.CRC, len(packed), len(start))
    path.write_bytes(content)
    return path


@pytest.fixture
def memory():
    """Fails the test if Python's own buffers take as much as the hidden bytes would."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST_MEMORY


def structure() -> bytes:
    return (SYSTEM / "SystemStructure.ssd").read_bytes()


def test_an_entry_of_a_package_is_unpacked_to_its_stated_size_only(tmp_path, memory):
    path = lying_zip(tmp_path / "bomb.ssp", "SystemStructure.ssd", structure())
    with Archive.open(path) as archive, pytest.raises(InvalidDocument, match=r"more than the \d+ bytes"):
        archive.read("SystemStructure.ssd")
    found = {one.code: one for one in ssptool.validate(path).errors}
    assert f"more than the {len(structure())} bytes that the archive states" in found["PKG-001"].message
    with pytest.raises(InvalidDocument, match="more than the"):
        ssptool.unpack(path, tmp_path / "unpacked")
    for words in (["validate", path], ["info", path], ["unpack", path, tmp_path / "typed"]):
        done = typed(*words)
        assert done.code == 1
        assert "more than the" in done.out + done.err
    assert not list(tmp_path.glob("*/resources"))


def test_a_nested_package_is_unpacked_to_its_stated_size_only(tmp_path, memory):
    inner = lying_zip(tmp_path / "inner.ssp", "SystemStructure.ssd", structure())
    outer = tmp_path / "outer.ssp"
    component = '<ssd:Component name="In" type="application/x-ssp-package" source="resources/inner.ssp"/>'
    with zipfile.ZipFile(outer, "w") as packed:
        packed.write(inner, "resources/inner.ssp")
        packed.writestr(
            "SystemStructure.ssd", structure().replace(b"<ssd:Elements>", b"<ssd:Elements>" + component.encode(), 1)
        )
    assert any("more than the" in one.message for one in ssptool.validate(outer).errors)
    assert typed("validate", outer).code == 1


def test_an_fmu_is_unpacked_to_its_stated_size_only(tmp_path, memory):
    folder = shutil.copytree(SYSTEM, tmp_path / "system")
    fmu = folder / "resources" / "System1.fmu"
    with zipfile.ZipFile(fmu) as packed:
        entries = {name: packed.read(name) for name in packed.namelist()}
    description = entries.pop("modelDescription.xml")
    lying_zip(fmu, "modelDescription.xml", description, entries)
    with pytest.raises(UnreadableFmu, match="more than the"):
        read_description(fmu)
    assert any("more than the" in one.message for one in ssptool.validate(folder).errors)
    assert typed("validate", folder).code == 1
    assert typed("info", fmu).code in (0, 1)

    lying_zip(fmu, "resources/data.bin", b"data", {**entries, "modelDescription.xml": description})
    for arguments in ({"isolated": False}, {"isolated": True}):
        with pytest.raises(UnreadableFmu, match="more than the 4 bytes"):
            ssptool.simulate(folder, stop_time=0.01, **arguments)
    ran = typed("run", folder, "-o", tmp_path / "r.csv", "--stop-time", "0.01")
    assert ran.code == 1
    assert "more than the 4 bytes" in ran.err
    assert not (tmp_path / "r.csv").exists()


def test_limits_hold_for_fmus_too_and_are_named(tmp_path):
    path = tmp_path / "big.fmu"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("zeros", bytes(64 * 2**20))
    with ForeignZip(path) as opened, pytest.raises(zipfile.BadZipFile, match="more than the limit of 250"):
        opened.unpack(tmp_path / "unpacked")
    with ForeignZip(path) as opened, pytest.raises(zipfile.BadZipFile, match="more than the limit of 1000"):
        opened.unpack(tmp_path / "unpacked", ArchiveLimits(unpacked_bytes=1000, ratio=10_000))
    assert not (tmp_path / "unpacked").exists()


@pytest.mark.parametrize("name", ["../out", "/tmp/ssptool-out", "a/../../out", "C:/out", "a\\..\\out", "a\nb"])
def test_no_name_of_an_entry_leads_out_of_the_target(tmp_path, name):
    package, fmu = tmp_path / "p.ssp", tmp_path / "p.fmu"
    for path in (package, fmu):
        with zipfile.ZipFile(path, "w") as packed:
            packed.writestr("SystemStructure.ssd", structure())
            packed.writestr(zipfile.ZipInfo(name), b"written outside")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InvalidDocument, match="PKG-020"):
        ssptool.unpack(package, tmp_path / "target")
    assert typed("unpack", package, tmp_path / "target").code == 1
    with ForeignZip(fmu) as opened, pytest.raises(zipfile.BadZipFile, match="the entry"):
        opened.unpack(tmp_path / "target")
    assert sorted(tmp_path.rglob("*")) == before
    assert not Path("/tmp/ssptool-out").exists()


def test_an_entry_that_is_a_link_becomes_a_file(tmp_path):
    (tmp_path / "victim").mkdir()
    package = tmp_path / "p.ssp"
    with zipfile.ZipFile(package, "w") as packed:
        packed.writestr("SystemStructure.ssd", structure())
        link = zipfile.ZipInfo("resources/link")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        packed.writestr(link, str(tmp_path / "victim"))
    ssptool.unpack(package, tmp_path / "unpacked")
    typed("unpack", package, tmp_path / "typed")
    for folder in (tmp_path / "unpacked", tmp_path / "typed"):
        assert not (folder / "resources" / "link").is_symlink()
        assert (folder / "resources" / "link").read_text() == str(tmp_path / "victim")
    with zipfile.ZipFile(package, "a") as packed:
        packed.writestr("resources/link/inside", b"written outside")
    with pytest.raises(InvalidDocument, match="PKG-021"):
        ssptool.unpack(package, tmp_path / "again")
    assert not list((tmp_path / "victim").iterdir())


def empty(name: str, components: str = "") -> str:
    body = f"<ssd:Elements>{components}</ssd:Elements>" if components else ""
    return (
        '<ssd:SystemStructureDescription xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription" '
        f'version="1.0" name="{name}"><ssd:System name="{name}">{body}</ssd:System></ssd:SystemStructureDescription>'
    )


def nested(path: Path, levels: int) -> Path:
    """A package in a package, and so on."""
    inner = None
    for level in range(levels, -1, -1):
        made = path.with_name(f"level{level}.ssp")
        component = '<ssd:Component name="In" type="application/x-ssp-package" source="resources/in.ssp"/>'
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("SystemStructure.ssd", empty(f"L{level}", component if inner else ""))
            if inner is not None:
                packed.write(inner, "resources/in.ssp")
        inner = made
    assert inner is not None
    return inner.rename(path)


def test_packages_inside_packages_are_not_checked_without_end(tmp_path):
    """Each package has four, to a depth of eight: 87 380 in all."""
    inner = None
    for level in range(8, -1, -1):
        made = tmp_path / f"level{level}.ssp"
        sources = [f"resources/{number}.ssp" for number in range(4)] if inner else []
        components = "".join(
            f'<ssd:Component name="C{number}" type="application/x-ssp-package" source="{source}"/>'
            for number, source in enumerate(sources)
        )
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("SystemStructure.ssd", empty(f"L{level}", components))
            for source in sources:
                packed.write(tmp_path / f"level{level + 1}.ssp", source)
        inner = made
    report = ssptool.validate(tmp_path / "level0.ssp")
    assert "there are more than 500 packages" in {one.message.partition(" inside")[0] for one in report.errors}
    assert report.skipped
    assert len(report.files) < 1_500


def test_packages_that_are_nested_too_deeply_are_an_error_that_says_what_was_not_checked(tmp_path):
    report = ssptool.validate(nested(tmp_path / "deep.ssp", 9))
    found = [one for one in report.errors if one.code == "PKG-024"]
    assert ["nested deeper than 8 levels" in one.message for one in found] == [True]
    assert "not checked" in found[0].message
    assert found[0].position.file.count("in.ssp") == 9
    assert [one.file for one in report.skipped] == [found[0].position.file]
    done = typed("validate", tmp_path / "deep.ssp")
    assert done.code == 1
    assert "PKG-024" in done.out
    assert ssptool.validate(nested(tmp_path / "flat.ssp", 8)).ok


def test_a_large_file_is_unpacked_in_pieces(tmp_path):
    """Of a package, and of an FMU in it: memory does not grow with the size of the file."""
    size, package = 64 << 20, tmp_path / "large.ssp"
    with zipfile.ZipFile(package, "w") as file:
        file.write(SYSTEM / "SystemStructure.ssd", "SystemStructure.ssd")
        file.writestr("documentation/large.bin", os.urandom(size))
    tracemalloc.start()
    try:
        ssptool.unpack(package, tmp_path / "unpacked")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (tmp_path / "unpacked" / "documentation" / "large.bin").stat().st_size == size
    assert most < size / 4


def test_a_large_file_is_packed_in_pieces(tmp_path):
    """Of a folder, and of a package that is edited: memory does not grow with the size of the file."""
    size, folder = 64 << 20, tmp_path / "large"
    shutil.copytree(SYSTEM, folder)
    (folder / "documentation").mkdir()
    (folder / "documentation" / "large.bin").write_bytes(content := os.urandom(size))
    tracemalloc.start()
    try:
        ssptool.pack(folder, tmp_path / "large.ssp")
        with ssptool.edit(tmp_path / "large.ssp") as editing:
            editing.set("System1.m1", 3.25)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    with zipfile.ZipFile(tmp_path / "large.ssp") as package:
        assert package.read("documentation/large.bin") == content
        assert b"3.25" in package.read("resources/dual_mass_oscillator.ssv")
    assert most < size / 4


def test_a_package_that_cannot_be_opened_leaves_nothing_to_close(tmp_path, monkeypatch):
    """As with too many open files: Python closes the object again, and would print what goes wrong then."""
    said = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    with pytest.raises(FileNotFoundError):
        ForeignZip(tmp_path / "none.ssp")
    assert not said
