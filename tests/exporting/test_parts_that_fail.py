"""Parts that refuse, return nan or cannot be loaded: a status of FMI, and a message that names component and call."""

import zipfile

import pytest
from fmpy.fmi1 import FMICallException

from tests.engine.systems import write_system
from tests.exporting.fmus import SYSTEMS, Messages, exported, initialize, instance
from tests.fmu.chatty_fmu import LOG_IN_THREADS, LOG_ODDLY
from tests.fmu.chatty_fmu import build as build_chatty
from tests.fmus import build
from tests.fmus.build import NOT_A_NUMBER


@pytest.fixture
def misbehaving(fmi, tmp_path):
    """A system of one component that does `what` from t = 0.05 s on."""

    def write(what):
        folder = write_system(tmp_path / f"does_{what}", build.build() / "fmi2", {"Bad": "Misbehaving"}, [])
        options = {"start_values": {"Bad.what": what, "Bad.when": 0.05}, "step_size": 0.01, "stop_time": 0.1}
        return exported(folder, tmp_path, fmi=fmi, **options)

    return write


def test_nan_of_a_part_is_an_error_that_names_it(misbehaving, fmi, tmp_path):
    said = Messages()
    with instance(misbehaving(NOT_A_NUMBER), tmp_path / "unpacked", said) as slave:
        initialize(slave)
        with pytest.raises(FMICallException, match=f"fmi{fmi}DoStep") as error:
            slave.doStep(0.0, 0.1)
        assert error.value.status == 3
    assert any(
        "component Bad: Bad.y is not finite" in text and category == "logStatusError" for _, category, text in said
    )


def test_a_part_without_its_library_is_named_when_the_fmu_is_instantiated(fmi, tmp_path):
    fmu = exported(SYSTEMS / "one_dof_oscillator", tmp_path, master="jacobi", fmi=fmi)
    with zipfile.ZipFile(fmu) as whole, zipfile.ZipFile(tmp_path / "without.fmu", "w") as less:
        for name in whole.namelist():
            if not name.endswith("/Mass.so"):
                less.writestr(name, whole.read(name))
    said = Messages()
    with (
        pytest.raises(Exception, match="instantiate"),
        instance(tmp_path / "without.fmu", tmp_path / "unpacked", said),
    ):
        pass
    assert any("Mass.so" in text for _, _, text in said)


def test_messages_of_parts_are_forwarded_whole_whatever_they_are(fmi, tmp_path):
    """Of 100 000 characters, 65 536 as in a run; each of four threads says 100 more."""
    build_chatty(tmp_path)
    system = write_system(tmp_path / "chatter", tmp_path, {"A": f"chatty{fmi}", "B": f"chatty{fmi}"}, [])
    start = {"A.habit": LOG_ODDLY, "B.habit": LOG_IN_THREADS}
    fmu = exported(system, tmp_path, fmi=fmi, start_values=start, step_size=0.01, stop_time=0.01)
    said = []
    with instance(fmu, tmp_path / "unpacked", _RawMessages(said), logging=True) as slave:
        initialize(slave)
        slave.doStep(0.0, 0.01)
    texts = [text for text in said if text.startswith(b"A: ")]
    assert {len(text) for text in texts if b"xxx" in text} == {len("A: ") + (65536 if fmi == 2 else 100_000)}
    assert b"A: caf\xe9, and half of a character: \xe2\x82" in texts
    assert b'A: two\nlines, and "quotes"\n' in texts and b"A: " in texts
    assert sorted(text for text in said if b"warning number" in text) == sorted(
        f"B: warning number {number}".encode() for number in range(100) for _ in range(4)
    )


class _RawMessages(Messages):
    """Texts as bytes, which need not be UTF-8."""

    def __init__(self, texts):
        super().__init__()
        self.texts = texts

    def log(self, environment, status, category, message):
        self.texts.append(message)
