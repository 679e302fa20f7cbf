"""Messages between processes arrive whole and in order; the end of one process is no riddle to the other."""

import os
import threading

import pytest

from ssptool.engine.connection import Connection, connected


@pytest.fixture
def ends():
    both = connected()
    yield both
    for end in both:
        end.close()


@pytest.mark.parametrize("size", [0, 1, 7, 8, 1 << 16, (1 << 20) + 1, 5_000_000])
def test_a_message_arrives_whole_whatever_its_size(ends, size):
    """A pipe holds 64 KiB, so that large ones are sent while they are received."""
    here, there = ends
    content = os.urandom(size)
    sender = threading.Thread(target=here.send_bytes, args=(content,))
    sender.start()
    assert there.recv_bytes() == content
    sender.join()


def test_messages_arrive_in_order_both_ways(ends):
    here, there = ends
    here.send_bytes(b"one")
    there.send_bytes(b"answer")
    here.send_bytes(b"two")
    assert [there.recv_bytes(), there.recv_bytes(), here.recv_bytes()] == [b"one", b"two", b"answer"]


def test_there_is_something_to_receive_when_it_was_sent(ends):
    here, there = ends
    assert not there.poll(0.0)
    here.send_bytes(b"")
    assert there.poll(None)
    assert there.recv_bytes() == b""
    assert not there.poll(0.001)


def test_what_was_sent_is_received_after_the_other_end_was_closed(ends):
    here, there = ends
    here.send_bytes(b"last words")
    here.close()
    here.close()
    assert there.poll(0.0) and there.recv_bytes() == b"last words"
    assert there.poll(0.0)
    with pytest.raises(EOFError):
        there.recv_bytes()
    with pytest.raises(BrokenPipeError):
        there.send_bytes(b"to nobody")


def test_a_message_that_was_cut_off_is_none(ends):
    here, there = ends
    os.write(here.descriptors[1], b"\x10\0\0\0\0\0\0\0only")
    here.close()
    with pytest.raises(EOFError):
        there.recv_bytes()


def test_another_process_is_told_the_descriptors(ends):
    here, there = ends
    if (child := os.fork()) == 0:
        Connection(there.descriptors).send_bytes(b"from the child")
        os._exit(0)
    assert here.recv_bytes() == b"from the child"
    assert os.waitpid(child, 0)[1] == 0
