"""A file that ends with a footer whenever its writer is killed, and whatever the system refuses."""

import os
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssptool.engine.recording.writer import FootedFile

HEAD = b"<"
PARTS = st.lists(st.tuples(st.integers(0, 300), st.lists(st.binary(max_size=200), max_size=5)), max_size=5)
"""Of each part the size that is announced, which may be wrong, and the bytes."""


def footer(contents):
    """Says where the parts end, and at the very end, how long it is itself."""
    told = b"|".join(b"%d" % len(part) for part in contents)
    return b"[" + told + b"]" + b"%08d" % (len(told) + 2)


def parts(content):
    """What a reader finds who knows nothing but the end of the file."""
    size = int(content[-8:])
    told = content[-8 - size : -8]
    assert told.startswith(b"[") and told.endswith(b"]") and content.startswith(HEAD)
    found, place = [], len(HEAD)
    for number in filter(None, told[1:-1].split(b"|")):
        found.append(content[place : place + int(number)])
        place += int(number)
    return found


def write(path, given_parts):
    """The parts that are whole; one that fails is abandoned, and those after it are written."""
    whole = []
    with path.open("wb", buffering=0) as opened:
        file = FootedFile(opened, HEAD, footer([]))
        for size, pieces in given_parts:
            part = b"".join(pieces)
            try:
                file.begin(size)
                for piece in pieces:
                    file.write(piece)
                file.finish(footer([*whole, part]))
            except OSError:
                file.abandon()
            else:
                whole.append(part)
    return whole


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("footed") / "file"


@given(given_parts=PARTS)
def test_a_file_has_its_parts_and_its_last_footer_and_nothing_else(path, given_parts):
    whole = write(path, given_parts)
    assert whole == [b"".join(pieces) for _, pieces in given_parts]
    assert path.read_bytes() == HEAD + b"".join(whole) + footer(whole)


class System:
    """The calls of the operating system that change a file; `after` is asked after each, `fails` before."""

    def __init__(self, patch, after=lambda: None, fails=lambda call: False):
        self.calls = 0
        for name in ("write", "ftruncate"):
            patch.setattr(f"ssptool.engine.recording.writer.os.{name}", self.watched(getattr(os, name)))
        self.after, self.fails = after, fails

    def watched(self, call):
        def watched(descriptor, *arguments):
            self.calls += 1
            if self.fails(self.calls):
                raise OSError(28, "No space left on device")
            result = call(descriptor, *arguments)
            self.after()
            return result

        return watched


@given(given_parts=PARTS)
def test_between_any_two_calls_of_the_system_the_file_can_be_read(path, given_parts):
    """It has the parts that are whole, or all but the last of these."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        System(patch, after=lambda: seen.append(parts(path.read_bytes())))
        whole = write(path, given_parts)
    assert seen[0] == [] and seen[-1] == whole
    assert all(len(later) - len(before) in (0, 1) for before, later in pairwise(seen))
    assert all(found == whole[: len(found)] for found in seen)


@given(given_parts=PARTS, failing=st.integers(2, 40), lasting=st.booleans())
def test_what_the_system_refuses_costs_one_part_and_not_the_file(path, given_parts, failing, lasting):
    """Whether it is one call that fails, or all from then on, such as on a full disk."""
    with pytest.MonkeyPatch.context() as patch:
        System(patch, fails=lambda call: call >= failing if lasting else call == failing)
        whole = write(path, given_parts)
    assert parts(path.read_bytes()) == whole
    if not lasting:
        assert len(whole) >= len(given_parts) - 1


@given(given_parts=PARTS, size=st.integers(1, 7))
def test_a_system_that_takes_little_at_once_gets_all(path, given_parts, size):
    take = os.write
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: take(descriptor, data[:size]))
        whole = write(path, given_parts)
    assert path.read_bytes() == HEAD + b"".join(whole) + footer(whole)
