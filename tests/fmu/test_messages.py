"""Messages of FMUs, taken by the native module: kept, counted, sorted and written to files."""

import csv
import ctypes
import errno
import json
import threading
from collections import Counter
from pathlib import Path

import pytest

from ssptool.fmu import messages
from ssptool.fmu.binary import load
from ssptool.fmu.instance import FmiError
from ssptool.fmu.messages import MessageFile, MessageLog, new_clock, problem_categories
from ssptool.fmu.read_description import read_description
from tests.fmu.chatty_fmu import CATEGORIES, FAIL, LOG_IN_THREADS, LOG_ODDLY, WARN, build
from tests.fmu.starting import enter_initialization, exit_initialization

PLAIN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)
OK, WARNING, ERROR = 0, 1, 3


@pytest.fixture(scope="module")
def fmus(tmp_path_factory):
    return build(tmp_path_factory.mktemp("chatty"))


@pytest.fixture(params=[2, 3], ids=["fmi2", "fmi3"])
def fmu(request, fmus):
    return fmus / f"chatty{request.param}.fmu"


@pytest.fixture
def binary(fmu):
    with load(fmu, read_description(fmu)) as binary:
        yield binary


@pytest.fixture
def log(fmus):
    """One with the variables of an FMU of FMI 2.0, and what sends messages to it."""
    log = MessageLog("A", read_description(fmus / "chatty2.fmu"))
    say = PLAIN(messages.native_messages().log_plain)
    log.answer_to(4711)
    return log, lambda status, category, text, key=4711: say(key, status, category, text)


def stepped(instance, habit, steps=1):
    instance.set({"habit": float(habit)})
    enter_initialization(instance)
    exit_initialization(instance)
    for k in range(steps):
        instance.call("doStep", 0.5 * k, 0.5)


# -- what FMUs log -----------------------------------------------------------------------------------------------


def test_an_fmu_is_quiet_unless_asked(binary):
    with binary.instantiate("A") as instance:
        stepped(instance, WARN)
        assert instance.messages == ()
        assert instance.log.counts == {}


def test_an_fmu_logs_every_call_if_asked(binary):
    with binary.instantiate("A", logging=True) as instance:
        stepped(instance, WARN)
    calls = [line for line in instance.messages if "DoStep" in line]
    assert len(calls) == 1
    assert instance.messages[0].endswith("A")  # the name, which it formats, while it is being made
    assert instance.messages[-1].endswith("FreeInstance")


def test_problems_alone_are_logged_by_the_categories_that_the_fmu_declares(binary):
    assert problem_categories(binary.description) == CATEGORIES[1:5]
    with binary.instantiate("A") as instance:
        instance.debug_logging(True, problem_categories(binary.description))
        stepped(instance, WARN, steps=3)
        assert instance.log.counts == {"warning": 3}
        (kind,) = instance.log.kinds
        assert (kind.status, kind.category, kind.count) == ("warning", "logStatusWarning", 3)


def test_a_call_that_fails_tells_what_the_fmu_says(binary):
    with pytest.raises(FmiError) as caught, binary.instantiate("Pump") as instance:
        instance.debug_logging(True, ["logStatusError"])
        stepped(instance, FAIL)
    assert caught.value.messages == ("error (logStatusError): no solution for Pump",)


def test_odd_messages_do_no_harm(binary):
    """No category, no text, no UTF-8, 100 000 characters, a status that FMI does not know."""
    with binary.instantiate("A") as instance:
        stepped(instance, LOG_ODDLY)
        none, empty, broken, long, own, quoted = instance.log.lines
    assert none == "warning: no category"
    assert empty == "warning (logStatusWarning): "
    assert broken == "warning (logStatusWarning): caf\ufffd, and half of a character: \ufffd"
    assert 65536 <= len(long) < 65600 and long.endswith("… (cut off)")
    assert own == "status 77, which FMI does not define (of its own): a status that FMI does not know"
    assert quoted == 'warning (a "category", quoted): two\nlines, and "quotes"'


def test_no_message_of_several_threads_is_lost(binary):
    """Each of 4 threads of the FMU sends 100, while the thread that steps holds the interpreter or not."""
    with binary.instantiate("A") as instance:
        instance.debug_logging(True, ["logStatusWarning"])
        stepped(instance, LOG_IN_THREADS, steps=5)
        assert instance.log.counts == {"warning": 2000}
        (kind,) = instance.log.kinds
        assert kind.count == 2000


def test_a_reset_forgets_what_was_logged(binary):
    with binary.instantiate("A") as instance:
        instance.debug_logging(True, ["logStatusWarning"])
        stepped(instance, WARN)
        instance.terminate()
        instance.reset()
        assert (instance.messages, instance.log.kinds, instance.log.counts) == ((), (), {})


# -- whose they are ------------------------------------------------------------------------------------------------


def test_what_comes_after_the_instance_was_freed_is_dropped(log):
    log, say = log
    say(OK, b"", b"alive")
    log.close()
    say(OK, b"", b"dead")
    say(OK, b"", b"nobody's", 4712)
    say(OK, b"", b"nobody's", None)
    assert log.lines == ("ok: alive",)


def test_what_comes_while_an_instance_is_made_is_its(log):
    """In FMI 1.0 nobody knows its address yet; and not every FMU hands on its environment in time."""
    log, say = log
    with log.making():
        say(ERROR, b"c", b"no licence", None)
    say(ERROR, b"c", b"too late", None)
    assert log.lines == ("error (c): no licence",)


def test_an_address_that_is_used_again_is_that_of_the_new_instance(log, fmus):
    old, say = log
    new = MessageLog("B", read_description(fmus / "chatty2.fmu"))
    new.answer_to(4711)
    say(OK, b"", b"hello")
    old.close()
    say(OK, b"", b"still")
    assert (old.lines, new.lines) == ((), ("ok: hello", "ok: still"))


# -- kinds and references ------------------------------------------------------------------------------------------


def test_messages_that_differ_in_numbers_are_of_one_kind(log):
    log, say = log
    for text in (b"x = 1.5e-07 at step 1", b"y = 2", b"x = 22 at step 345", b"x = -1 at step 7"):
        say(WARNING, b"c", text)
    say(ERROR, b"c", b"y = 2")
    say(OK, b"c", b"y = 2")
    found = [(kind.status, kind.text, kind.count) for kind in log.kinds]
    assert found == [
        ("warning", "x = 1.5e-07 at step 1", 2),
        ("warning", "y = 2", 1),
        ("warning", "x = -1 at step 7", 1),
        ("error", "y = 2", 1),
    ]


def test_the_kinds_and_messages_that_are_kept_have_a_limit(log):
    log, say = log
    for i in range(300):
        say(WARNING, b"c", bytes([97 + i % 26, 97 + i // 26]))
    assert len(log.kinds) == 50
    assert len(log.lines) == 200
    assert log.counts == {"warning": 300}


def test_with_problems_among_the_messages_these_are_the_latest_that_count(log):
    log, say = log
    say(ERROR, b"c", b"no solution")
    for _ in range(20):
        say(OK, b"c", b"chatter")
    assert log.latest() == ("error (c): no solution",)


REFERENCES = {
    b"#r0# of #r1#": "u of y",
    b"#r0#r1#": "ur1#",
    b"100 ## of #r9999# and #r0": "100 # of #r9999# and #r0",
    b"#i0# ### #": "#i0# ## #",
    b"#": "#",
    b"": "",
}
"""References 0 and 1 are the variables u and y of type Real; none is of type Integer."""


@pytest.mark.parametrize("text", REFERENCES)
def test_references_to_variables_are_shown_by_name(log, text, tmp_path):
    log, say = log
    with MessageFile(tmp_path / "log.jsonl") as file:
        log.write_to(file)
        say(OK, b"", text)
    assert log.lines == (f"ok: {REFERENCES[text]}",)
    assert json.loads((tmp_path / "log.jsonl").read_text())["text"] == REFERENCES[text]


def test_of_fmi3_messages_stay_as_they_are(fmus):
    log = MessageLog("A", read_description(fmus / "chatty3.fmu"))
    log.answer_to(1 << 40)
    PLAIN(messages.native_messages().log_plain)(1 << 40, OK, b"", b"#r0# ##")
    assert log.lines == ("ok: #r0# ##",)


# -- files ---------------------------------------------------------------------------------------------------------

ODD = [b'two\nlines, "quoted"', "Größe ½".encode(), b"caf\xe9 \xf0\x9f\x98", b"tab\t, bell \x07, \\", b"plain"]
SHOWN = ['two\nlines, "quoted"', "Größe ½", "caf\ufffd \ufffd", "tab\t, bell \x07, \\", "plain"]


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_a_file_has_a_row_for_each_message(log, tmp_path, ending):
    log, say = log
    clock, path = new_clock(), tmp_path / f"log{ending}"
    log.follow(clock)
    with MessageFile(path) as file:
        log.write_to(file)
        for number, text in enumerate(ODD):
            say(WARNING, b"a,b", text)
            clock.time = 0.1 * number
        say(5, None, b"")
        assert path.read_text().count("plain") == 1  # at once
    say(OK, b"", b"when the file is closed")
    assert (file.lost, file.error) == (0, 0)
    rows = read(path)
    assert [row["text"] for row in rows] == [*SHOWN, ""]
    assert [row["time"] for row in rows] == [None, 0.0, 0.1, 0.2, 0.1 * 3, 0.4]
    assert rows[0] == {"time": None, "component": "A", "status": "warning", "category": "a,b", "text": SHOWN[0]}
    assert (rows[-1]["status"], rows[-1]["category"]) == ("pending", "")


def read(path):
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    with path.open(newline="", encoding="utf-8") as file:
        return [{**row, "time": float(row["time"]) if row["time"] else None} for row in csv.DictReader(file)]


def test_a_file_takes_what_is_serious_enough_and_of_the_categories(log, tmp_path):
    log, say = log
    with MessageFile(tmp_path / "log.csv") as file:
        log.write_to(file, "discard", ["a", "b"])
        for status in range(6):
            for category in (b"a", b"b", b"c"):
                say(status, category, b"")
    found = [(row["status"], row["category"]) for row in read(tmp_path / "log.csv")]
    chosen = {"discard": "ab", "error": "abc", "fatal": "abc"}  # errors are wanted whatever their category
    assert found == [(status, category) for status, categories in chosen.items() for category in categories]


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.csv or \.jsonl, found 'log\.txt'"):
        MessageFile(tmp_path / "log.txt")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_messages_that_cannot_be_written_are_counted(log, tmp_path):
    path = tmp_path / "full.jsonl"  # which has no header
    path.symlink_to("/dev/full")
    log, say = log
    with MessageFile(path) as file:
        log.write_to(file)
        say(OK, b"", b"x")
    assert (file.lost, file.error) == (1, errno.ENOSPC)


def test_rows_of_many_threads_stay_whole(fmus, tmp_path):
    """8 threads, 4 logs, one file; a reader in between."""
    description = read_description(fmus / "chatty2.fmu")
    logs = [MessageLog(f"C{i}", description) for i in range(4)]
    say = PLAIN(messages.native_messages().log_plain)

    def send(number):
        for k in range(500):
            say(5000 + number % 4, k % 3, b"c", f"{number} says {k}".encode())

    with MessageFile(tmp_path / "log.csv") as file:
        for i, log in enumerate(logs):
            log.answer_to(5000 + i)
            log.write_to(file)
        threads = [threading.Thread(target=send, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            assert all(len(log.lines) <= 200 for log in logs)
        for thread in threads:
            thread.join()
    rows = read(tmp_path / "log.csv")
    assert Counter(row["component"] for row in rows) == {f"C{i}": 1000 for i in range(4)}
    assert {row["text"] for row in rows} == {f"{number} says {k}" for number in range(8) for k in range(500)}
    assert all(sum(log.counts.values()) == 1000 for log in logs)


# -- memory --------------------------------------------------------------------------------------------------------


def test_memory_is_that_of_the_c_library():
    backend = messages.native_messages()
    allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)(backend.allocate)
    release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(backend.release)
    place = allocate(100, 8)
    assert ctypes.string_at(place, 800) == bytes(800)
    release(place)
    release(None)
