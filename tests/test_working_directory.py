"""The working directory is back where it was, however many threads have FMUs that leave it."""

import os
from pathlib import Path
from threading import Barrier, Thread

import pytest

from ssptool.working_directory import KeptWorkingDirectory, absolute, shown


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("home", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "home")
    return tmp_path / "home"


def test_who_goes_elsewhere_is_brought_back(home):
    with KeptWorkingDirectory():
        os.chdir("../elsewhere")
    assert Path.cwd() == home


def test_a_block_that_begins_elsewhere_comes_back_to_where_the_first_began(home):
    """One thread has been led astray by its FMU when another one begins; the first ends before the other."""
    astray, both, first_left = Barrier(2), Barrier(2), Barrier(2)

    def first():
        with KeptWorkingDirectory():
            os.chdir("../elsewhere")
            astray.wait()
            both.wait()
        first_left.wait()

    thread = Thread(target=first)
    thread.start()
    astray.wait()
    with KeptWorkingDirectory():
        both.wait()
        first_left.wait()
    thread.join()
    assert Path.cwd() == home


def test_a_relative_path_means_the_same_while_an_fmu_is_elsewhere(home):
    with KeptWorkingDirectory():
        os.chdir("../elsewhere")
        assert absolute(Path("r.csv")) == home / "r.csv"
        assert absolute(home / "r.csv") == home / "r.csv"
        assert shown(home / "x" / "r.csv") == Path("x/r.csv")
    assert shown(home) == Path()
    assert shown(home.parent / "r.csv") == home.parent / "r.csv"


@pytest.mark.skipif(os.name == "nt", reason="Windows does not let go of a working directory")
def test_a_directory_that_is_no_longer_there_is_left_alone(home):
    home.rmdir()
    with KeptWorkingDirectory():
        pass
    assert absolute(Path("r.csv")) == Path("r.csv")
    assert shown(home.parent) == home.parent
