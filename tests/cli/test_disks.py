"""Errors of the disk say a way out that fits."""

import errno
from pathlib import Path

import pytest

from ssptool.cli.app import explained
from ssptool.engine.recording.formats import ResultsNotWritten, open_writer
from ssptool.engine.trace import Column
from ssptool.errors import disk_trouble


def test_the_way_out_fits_the_trouble():
    assert disk_trouble(OSError(errno.ENOSPC, "No space left")) == "no space left; make room, or choose another place"
    assert "permissions" in disk_trouble(PermissionError(errno.EACCES, "Permission denied"))
    assert "make room" not in disk_trouble(PermissionError(errno.EACCES, "Permission denied"))
    assert disk_trouble(OSError("Own words of an error")) == "Own words of an error"
    assert disk_trouble(OSError(errno.EIO, "Input/output error")) == "input/output error"


def test_results_that_must_not_be_written_get_no_advice_to_make_room(tmp_path, monkeypatch):
    def denied(*_arguments, **_options):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(
        ResultsNotWritten, match="cannot be written: permission denied; change the permissions"
    ) as caught:
        open_writer(tmp_path / "r.csv", [Column("x", "m")])
    assert "make room" not in str(caught.value)
    assert explained(caught.value).status == 2, "as any file that must not be written"


def test_an_edit_that_must_not_be_saved_says_what_to_do(ssptool, monkeypatch):
    def denied(*_arguments, **_options):
        raise PermissionError(errno.EACCES, "Permission denied", "plant.ssv")

    monkeypatch.setattr("ssptool.edit", denied)
    status, _, err = ssptool("set", "plant", "Motor.m=1")
    way_out = "change the permissions of the file or of its folder, or choose another"
    assert (status, err) == (2, f"error: plant.ssv: permission denied; {way_out}\n")
