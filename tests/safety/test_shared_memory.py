"""Memory that is shared with processes of FMUs: whatever they write there, the process that calls them lives, reads
nothing outside of it, and says whose fault it was.
"""

import ctypes
import fcntl
import json
import mmap
import os
import resource
import signal
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_size_t, c_uint32, c_void_p
from typing import Any

import numpy as np
import pytest

from ssptool import Settings
from ssptool.engine.failure import Ending
from ssptool.engine.isolation import child
from ssptool.engine.isolation.child import Committed, SharedRows
from ssptool.engine.run.make_plan import make_plan
from ssptool.engine.trace import NewEntries
from ssptool.fmu.instance import FmiError
from ssptool.fmu.processes import AVAILABLE
from tests.engine.dual_mass import Folder, network
from tests.engine.running import run
from tests.engine.small.fmus import Var, make_fmu
from tests.fmus import build as fmus

pytestmark = [
    pytest.mark.skipif(not AVAILABLE, reason="FMUs have processes of their own on Linux only"),
    pytest.mark.one_in(3),
]
if AVAILABLE:
    from ssptool.fmu.processes import process as fmu_process
    from ssptool.fmu.processes._proxy import Client, functions

OK, FATAL = 0, 4
CALL, REPLY, UPDATE, LOG, REQUEST, ANSWER = 0, 1, 2, 4, 5, 6
UPDATED = 3
HOST, CLIENT = 0, 64
"""Places of the two counters of messages in the header."""
WHAT, INSTANCE, FUNCTION, STATUS, ARGUMENTS = 128, 132, 136, 140, 144
DATA = 4096


class Forger:
    """The side of the FMUs, which writes what it likes."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.memory = mmap.mmap(descriptor, 0)
        self.room = len(self.memory) - DATA
        self.seen = 0

    def wait(self) -> None:
        while self.get("I", HOST) == self.seen:
            time.sleep(1e-4)
        self.seen += 1

    def get(self, kind: str, place: int) -> int:
        return struct.unpack_from(kind, self.memory, place)[0]

    def put(self, kind: str, place: int, *values: int) -> None:
        struct.pack_into(kind, self.memory, place, *values)

    def argument(self, number: int) -> int:
        """Where the data of an argument are, from the beginning of the memory."""
        return DATA + self.get("Q", ARGUMENTS + 8 * number)

    def send(self, what: int, *arguments: int, instance: int = 0, status: int = OK, count: int = 1) -> None:
        self.put("II", WHAT, what, instance)
        self.put("i", STATUS, status)
        if arguments:
            self.put(f"{len(arguments)}Q", ARGUMENTS, *arguments)
        self.put("I", CLIENT, self.get("I", CLIENT) + count)


class Attacked:
    """A client, with one FMU, whose process does what `attack` says."""

    def __init__(self, attack: Callable[[Forger], None], update: int = 0, log: int = 0) -> None:
        descriptor = os.memfd_create("attacked", os.MFD_ALLOW_SEALING)
        self.client = Client(descriptor)
        self.instance = self.client.remote(update, 0, log, 0)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                attack(Forger(descriptor))
                while True:
                    time.sleep(1)
            finally:
                os._exit(7)
        os.close(descriptor)
        self.client.process(self.pid)

    def call(self, name: str, *arguments: object) -> int:
        kinds = [type(one) if isinstance(one, c_double | c_bool | c_size_t) else c_void_p for one in arguments]
        return ctypes.CFUNCTYPE(c_int, c_void_p, *kinds)(functions()[name])(self.instance, *arguments)

    def text(self, count: int = 1) -> tuple[int, list[bytes | None]]:
        texts = (c_char_p * count)()
        status = self.call("fmi2GetString", (c_uint32 * count)(), c_size_t(count), texts)
        return status, list(texts)

    def end(self) -> None:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


@pytest.fixture
def attacked():
    made: list[Attacked] = []

    def make(attack: Callable[[Forger], None], **callbacks: int) -> Attacked:
        made.append(Attacked(attack, **callbacks))
        return made[-1]

    yield make
    for one in made:
        one.end()


def distrusted(one: Attacked, words: str) -> None:
    """It was ended for what it sent, and nothing is asked any more."""
    assert one.client.lost is not None and words in one.client.lost[2]
    assert os.waitstatus_to_exitcode(os.waitpid(one.pid, 0)[1]) == -signal.SIGKILL
    assert one.call("fmi2Terminate") == FATAL
    with pytest.raises(RuntimeError):
        one.client.request(b"anything")


def run_with(what: int, *, isolated: bool, processes: str | None):
    """Good → Bad, of which Bad does this from 0.455 s on, with macro steps of 0.01 s until 1 s."""
    folder, source = fmus.build(), "fmi2/Misbehaving.fmu"
    values = {"Bad.what": what, "Bad.when": 0.455}
    net = network({"Good": source, "Bad": source}, [("Good.y", "Bad.u")], values, folder=folder)
    plan = make_plan(net, Settings(stop_time=1.0, step_size=0.01, processes=processes))
    return run(plan, Folder(folder), isolated=isolated)


def error_with(module: str, name: str) -> bytes:
    """A message about an error without any facts."""
    return json.dumps({"error": [[module, name], ["tuple", []], ["dict", []]]}).encode()


# -- forged answers --------------------------------------------------------------------------------------------------


def text_at(place: Callable[[Forger], int]) -> Callable[[Forger], None]:
    """Answer the first call, of fmi2GetString, with a text that is said to be there."""

    def attack(forger: Forger) -> None:
        forger.wait()
        forger.put("Q", forger.argument(2), place(forger))
        forger.memory[DATA + forger.room - 8 :] = b"x" * 8
        forger.send(REPLY)

    return attack


@pytest.mark.parametrize(
    "place",
    [
        lambda forger: 1 << 63,
        lambda forger: (1 << 64) - 4096,  # would lead to the header
        lambda forger: forger.room,
        lambda forger: forger.room - 8,  # its end is not in the memory
        lambda forger: 8,  # among what was sent
    ],
    ids=["far", "before", "behind", "no end", "sent"],
)
def test_a_text_outside_of_the_memory_ends_its_process(attacked, place):
    one = attacked(text_at(place))
    assert one.text() == (FATAL, [None])
    distrusted(one, "outside of the memory")


def test_one_text_is_not_given_many_times(attacked):
    """A thousand times 16 MiB would be 16 GiB."""

    def attack(forger: Forger) -> None:
        forger.wait()
        begin = 1 << 20
        forger.memory[DATA + begin : DATA + begin + (16 << 20)] = b"x" * (16 << 20)
        forger.put("1000Q", forger.argument(2), *[begin] * 1000)
        forger.send(REPLY)

    one = attacked(attack)
    assert one.text(1000)[0] == FATAL
    distrusted(one, "outside of the memory")


@pytest.mark.parametrize("size", [1 << 40, 1 << 62, (1 << 64) - 1, (1 << 64) - 8])
def test_a_binary_value_larger_than_the_memory_ends_its_process(attacked, size):
    def attack(forger: Forger) -> None:
        forger.wait()
        forger.put("Q", forger.argument(2), size)
        forger.put("Q", forger.argument(3), 4096)
        forger.send(REPLY)

    one = attacked(attack)
    sizes, values = (c_size_t * 1)(), (c_void_p * 1)()
    arguments = ((c_uint32 * 1)(), c_size_t(1), sizes, values, c_size_t(1))
    assert one.call("fmi3GetBinary", *arguments) == FATAL
    assert values[0] is None
    distrusted(one, "outside of the memory")


def test_a_message_of_an_fmu_that_there_is_not_ends_its_process(attacked):
    for instance in (1, 1 << 31, (1 << 32) - 1):
        for what in (LOG, UPDATE):
            one = attacked(lambda forger, i=instance, w=what: (forger.wait(), forger.send(w, 8, 8, instance=i)))
            assert one.call("fmi2Terminate") == FATAL
            distrusted(one, "none that it may send now")


@pytest.mark.parametrize("place", [1 << 63, (1 << 64) - 4096, 1 << 32])
def test_a_logged_text_outside_of_the_memory_ends_its_process(attacked, place):
    for arguments in ((place, 8), (8, place)):
        one = attacked(lambda forger, given=arguments: (forger.wait(), forger.send(LOG, *given)))
        assert one.call("fmi2Terminate") == FATAL
        distrusted(one, "none that it may send now")


@pytest.mark.parametrize("what", [CALL, UPDATED, REQUEST, ANSWER, 77, (1 << 32) - 1])
def test_a_message_that_is_no_answer_ends_its_process(attacked, what):
    one = attacked(lambda forger: (forger.wait(), forger.send(what)))
    assert one.call("fmi2Terminate") == FATAL
    distrusted(one, "none that it may send now")
    assert one.client.lost[:2] == (0, "fmi2Terminate")


@pytest.mark.parametrize("count", [2, 1 << 31, (1 << 32) - 1])
def test_messages_that_are_miscounted_end_their_process(attacked, count):
    one = attacked(lambda forger: (forger.wait(), forger.send(REPLY, count=count)))
    assert one.call("fmi2Terminate") == FATAL
    distrusted(one, "number of messages")


@pytest.mark.parametrize(
    ("place", "size"), [(8, 1 << 62), (1 << 63, 8), ((1 << 64) - 8, 16), (8, (1 << 64) - 1), (8, (1 << 26) + 1)]
)
def test_an_answer_outside_of_the_memory_ends_its_process(attacked, place, size):
    one = attacked(lambda forger: (forger.wait(), forger.send(ANSWER, place, size)))
    with pytest.raises(RuntimeError):
        one.client.request(b"question")
    distrusted(one, "outside of the memory")


def test_a_request_that_is_not_answered_ends_its_process_after_the_time_allowed(attacked):
    one = attacked(lambda forger: forger.wait())
    with pytest.raises(RuntimeError):
        one.client.request(b"question", 0.05)
    distrusted(one, "within the time allowed")


def test_a_flood_of_messages_does_not_stretch_the_time_allowed(attacked):
    def attack(forger: Forger) -> None:
        while True:
            forger.wait()
            forger.send(LOG, 8, 8)

    one = attacked(attack)
    with pytest.raises(RuntimeError):
        one.client.request(b"question", 0.2)
    distrusted(one, "within the time allowed")


def test_a_process_that_ends_is_not_said_to_have_sent_anything(attacked):
    one = attacked(lambda forger: (forger.wait(), os._exit(3)))
    assert one.call("fmi2Terminate") == FATAL
    assert one.client.lost == (0, "fmi2Terminate", "")


ERRORS = {
    "not JSON": (b"\xff[", "not understood"),
    "no list": (b'{"functions": []}', "not understood"),
    "no names": (b"[1, 2]", "not understood"),
    "no error": (b'{"error": 3}', "not understood"),
    "an FMI error of nothing": (error_with("ssptool.fmu.instance", "FmiError"), "not understood"),
    "an end that is none": (error_with("ssptool.fmu.processes.process", "LostProcess"), "not understood"),
}


@pytest.mark.parametrize(("content", "words"), ERRORS.values(), ids=ERRORS)
def test_a_forged_answer_to_a_request_ends_the_process_with_an_error_of_the_component(monkeypatch, content, words):
    """An end that is none would be waited for."""

    class Forged(fmu_process._ForkedProcess):
        def __init__(self, memory: int) -> None:
            self._status = None
            self.pid = os.fork()
            if self.pid == 0:
                try:
                    forger = Forger(memory)
                    forger.wait()
                    forger.memory[DATA + 8192 : DATA + 8192 + len(content)] = content
                    forger.send(ANSWER, 8192, len(content))
                    time.sleep(60)
                finally:
                    os._exit(7)

    monkeypatch.setattr(fmu_process, "_ForkedProcess", Forged)
    monkeypatch.setattr(fmu_process, "_NewProcess", Forged)
    with pytest.raises(FmiError, match=rf"(?s)Good: fmi2Instantiate.* invalid data: .*{words}"):
        run_with(fmus.NOTHING, isolated=False, processes="each")


# -- what is right, or harmless --------------------------------------------------------------------------------------


def test_a_right_answer_is_taken(attacked):
    def attack(forger: Forger) -> None:
        forger.wait()
        forger.put("2Q", forger.argument(2), 4096, 8192)
        forger.memory[DATA + 4096 : DATA + 4099] = b"one"
        forger.memory[DATA + 8192 : DATA + 8195] = b"two"
        forger.send(REPLY, status=1)

    assert attacked(attack).text(2) == (1, [b"one", b"two"])


def test_truth_values_are_true_or_false(attacked):
    def attack(forger: Forger) -> None:
        forger.wait()
        for number, byte in zip(range(3, 6), (0, 2, 255), strict=True):
            forger.memory[forger.argument(number)] = byte
        forger.send(REPLY)

    flags, reached = [c_bool(True) for _ in range(3)], c_double()
    one = attacked(attack)
    assert one.call("fmi3DoStep", c_double(0), c_double(1), c_bool(False), *map(byref, flags), byref(reached)) == OK
    assert [bytes(flag)[0] for flag in flags] == [0, 1, 1]


def test_a_logged_text_without_an_end_is_cut(attacked):
    heard: list[tuple[bytes, int]] = []
    taken = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)(
        lambda _, status, category, text: heard.append((category, len(text)))
    )

    def attack(forger: Forger) -> None:
        forger.wait()
        forger.memory[DATA + 8 : DATA + 16] = b"category"
        forger.memory[DATA + 4096 : DATA + 4096 + (4 << 20)] = b"x" * (4 << 20)
        forger.memory[DATA + 16] = 0
        forger.send(LOG, 8, 4096)
        forger.wait()
        forger.send(REPLY)

    one = attacked(attack, log=ctypes.cast(taken, c_void_p).value)
    assert one.call("fmi2Terminate") == OK
    assert heard == [(b"category", 1 << 20)]


@pytest.mark.parametrize(("name", "asked"), [("fmi3DoStep", 1), ("fmi3Terminate", 0)])
def test_inputs_are_asked_for_within_a_step_only(attacked, name, asked):
    """Outside of it, the environment that the callback gets may be gone."""
    times: list[float] = []
    kind = ctypes.CFUNCTYPE(
        None, c_void_p, c_double, c_bool, c_bool, c_bool, c_bool, POINTER(c_bool), POINTER(c_double)
    )
    update = kind(lambda _, time, *others: times.append(time))

    def attack(forger: Forger) -> None:
        forger.wait()
        forger.send(UPDATE)
        forger.wait()
        forger.send(REPLY)

    one = attacked(attack, update=ctypes.cast(update, c_void_p).value)
    step = (c_double(0), c_double(1), c_bool(False), *(byref(c_bool()) for _ in range(3)), byref(c_double()))
    assert one.call(name, *(step if asked else ())) == OK
    assert len(times) == asked


def test_the_memory_cannot_be_taken_away(attacked):
    """Reading beyond the end of a file is a SIGBUS."""

    def attack(forger: Forger) -> None:
        forger.wait()
        refused = 0
        for size in (0, len(forger.memory) // 2, 2 * len(forger.memory)):
            try:
                os.ftruncate(forger.descriptor, size)
            except PermissionError:
                refused += 1
        try:
            fcntl.fcntl(forger.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
        except PermissionError:
            refused += 1
        forger.send(REPLY, status=refused)

    assert attacked(attack).call("fmi2Terminate") == 4  # as many refusals
    assert attacked(lambda forger: forger.wait()).client.lost is None


def test_the_memory_fits_the_limit_of_sizes_of_files():
    descriptor = os.memfd_create("limited", os.MFD_ALLOW_SEALING)
    pid = os.fork()
    if pid == 0:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
            Client(descriptor)
        finally:
            os._exit(os.fstat(descriptor).st_size >> 16)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 4  # times 64 KiB
    os.close(descriptor)


def test_a_copy_of_this_process_has_no_part_in_the_memory(attacked):
    one = attacked(lambda forger: (forger.wait(), forger.send(REPLY)))
    pid = os.fork()
    if pid == 0:
        os._exit(one.call("fmi2Terminate"))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == FATAL
    assert one.call("fmi2Terminate") == OK


# -- while it changes ------------------------------------------------------------------------------------------------


def test_contents_that_change_while_they_are_read_stay_within_their_size(attacked):
    """A text is made longer and shorter, and moved, all the time."""

    def attack(forger: Forger) -> None:
        forger.wait()
        table = forger.argument(2)
        while True:
            forger.put("Q", table, 4096)
            forger.put("I", WHAT, REPLY)
            forger.put("I", CLIENT, forger.seen)
            for _ in range(20):
                forger.memory[DATA + 4096 : DATA + 4106] = b"long text\0"
                forger.put("Q", table, 1 << 60)
                forger.memory[DATA + 4096 : DATA + 4106] = b"xxxxxxxxx\1"
                forger.put("Q", table, 4096)
            forger.seen = forger.get("I", HOST)

    one = attacked(attack)
    for _ in range(300):
        status, (text,) = one.text()
        assert (status == FATAL) == (one.client.lost is not None)
        if status == FATAL:
            break
        assert text is None or len(text) < 64  # none: before it has written one


# -- whole runs ------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["copies", "fresh"])
def start(request, monkeypatch):
    """Both ways of starting processes, of runs and of FMUs."""
    monkeypatch.setattr(child, "_may_fork", lambda _: request.param == "copies")
    if request.param == "fresh":
        monkeypatch.setattr(fmu_process, "_ForkedProcess", fmu_process._NewProcess)


WAYS = [(False, "each"), (True, "each"), (True, None)]


@pytest.mark.parametrize(("isolated", "processes"), WAYS[:2])
def test_an_fmu_that_writes_over_the_memory_ends_the_run(start, isolated, processes):
    result = run_with(fmus.SCRIBBLE, isolated=isolated, processes=processes)
    assert result.status in (Ending.EXITED, Ending.CRASHED)
    assert result.failure.component == "Bad"
    ends = ("stopped because it sent invalid data", "ended by")
    assert result.failure.message.startswith(tuple(f"the process of component Bad was {how}" for how in ends))
    assert result.rows == 46


def test_an_fmu_that_writes_over_the_memory_of_its_run_ends_nothing_else(start):
    """It writes over the results, too; what it leaves of them may be noise."""
    result = run_with(fmus.SCRIBBLE, isolated=True, processes=None)
    assert result.status in (Ending.EXITED, Ending.CRASHED)


@pytest.mark.parametrize(("isolated", "processes"), WAYS)
def test_an_fmu_cannot_truncate_the_memory(start, isolated, processes):
    quiet, loud = (run_with(what, isolated=isolated, processes=processes) for what in (fmus.NOTHING, fmus.TRUNCATE))
    assert loud.status is Ending.COMPLETED
    assert loud.trace["Bad.y"].tolist() == quiet.trace["Bad.y"].tolist()


def number(value: int) -> Callable[[Any, int], NewEntries]:
    """Rows that refer to the text of this number."""

    def forge(rows: Any, _: int) -> NewEntries:
        rows[:, 1].view(np.int64)[:] = value
        return NewEntries((b"text",))

    return forge


FORGED = {
    "a text that was not sent": (number(2), "texts that it has not sent"),
    "a negative number": (number(-1), "texts that it has not sent"),
    "a huge number": (number(2**63 - 1), "texts that it has not sent"),
    "the end of no text": (lambda rows, _: NewEntries((), (7,)), "the end of texts"),
    "the end of the empty text": (lambda rows, _: NewEntries((), (0,)), "the end of texts"),
    "the end of a text, twice": (lambda rows, _: NewEntries((b"text",), (1, 1)), "the end of texts"),
    "no time": (lambda rows, _: rows[:, 0].fill(np.inf) or NewEntries(), "without a time"),
}


@pytest.mark.parametrize(("forge", "words"), FORGED.values(), ids=FORGED)
def test_rows_that_cannot_be_of_the_run_end_it(tmp_path, monkeypatch, forge, words):
    def commit(self: SharedRows, count: int, _: NewEntries) -> None:
        entries = forge(self._ring[self._turn % len(self._ring)][:count], count)
        send(self._connection, Committed(count, entries))
        self._turn += 1  # the next rows go elsewhere: these may not have been read yet
        self._unread += 1

    send = child._send
    monkeypatch.setattr(child, "_may_fork", lambda _: True)
    monkeypatch.setattr(SharedRows, "commit", commit)
    make_fmu(tmp_path / "A.fmu", [Var("s", "output", "String", start="")], calc="")
    plan = make_plan(network({"A": "A.fmu"}, [], folder=tmp_path), Settings(stop_time=1.0, step_size=0.1))
    result = run(plan, Folder(tmp_path), isolated=True)
    assert result.status is Ending.EXITED and words in result.failure.message
    assert set(result.trace["A.s"]) <= {""}


def test_texts_that_were_forgotten_are_not_referred_to_again(tmp_path, monkeypatch):
    turns = iter([(NewEntries((b"text",), (1,)), 1), (NewEntries(), 1)])

    def commit(self: SharedRows, count: int, _: NewEntries) -> None:
        entries, reference = next(turns)
        self._ring[self._turn % len(self._ring)][:count, 1].view(np.int64)[:] = reference
        send(self._connection, Committed(count, entries))
        self._turn += 1
        self._unread += 1

    send = child._send
    monkeypatch.setattr(child, "_may_fork", lambda _: True)
    monkeypatch.setattr(SharedRows, "commit", commit)
    make_fmu(tmp_path / "A.fmu", [Var("s", "output", "String", start="")], calc="")
    net = network({"A": "A.fmu"}, [], folder=tmp_path)
    plan = make_plan(net, Settings(stop_time=1.0, step_size=1e-4))
    result = run(plan, Folder(tmp_path), isolated=True)
    assert result.status is Ending.EXITED and "texts that it has not sent" in result.failure.message
    assert 0 < result.rows < 10_001
    assert set(result.trace["A.s"]) == {"text"}
