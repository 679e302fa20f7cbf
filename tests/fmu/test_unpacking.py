"""Where an FMU is unpacked may have no room, which is not the fault of the FMU."""

import errno
import tempfile

import pytest

from ssptool.documents.foreign_files import ForeignZip
from ssptool.fmu import binary
from ssptool.fmu.description import UnreadableFmu
from ssptool.fmu.read_description import read_description
from tests.engine.small.fmus import Var, make_fmu


def test_a_full_place_of_temporary_files_is_named(tmp_path, monkeypatch):
    path = make_fmu(tmp_path / "A.fmu", [Var("y", "output", needs=[])])

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ForeignZip, "unpack", full)
    with pytest.raises(UnreadableFmu) as caught:
        binary.load(path, read_description(path))
    said = str(caught.value).lower()
    assert "no space left on device" in said and tempfile.gettempdir().lower() in said and "tmpdir" in said
