"""Accepted narrowing: a number that fits passes with the same value, another one ends the run by name."""

import pytest

import ssptool
from ssptool.engine.failure import Unsupported
from tests.engine.carriers import write_system
from tests.engine.running import run
from tests.engine.test_types import Folder

ACCEPT = ["SSD-CONN-008"]
EXACT = 2**53 + 2  # a double; 2**53 + 1 is none


@pytest.fixture
def passed(carriers, tmp_path):
    """A's value of one type, passed on to B's input of another one."""

    def make(source, destination, value):
        wire = [f"A.{source}_is -> B.{destination}_u"]
        given = f'<ssv:Parameter name="A.{source}_u"><ssv:{source} value="{value}"/></ssv:Parameter>'
        return write_system(tmp_path / "system", carriers, [("A", 3), ("B", 3)], wire, given)

    return make


def result_of(folder):
    plan = ssptool.plan(folder, settings=ssptool.Settings(step_size=0.5, stop_time=1.0), accept=ACCEPT)
    return run(plan, Folder(folder))


FITTING = [
    ("Float64", "Float32", 0.1, pytest.approx(0.1, rel=2**-24)),
    ("Float64", "Float32", -3.4e38, pytest.approx(-3.4e38, rel=2**-24)),
    ("Int32", "Int8", -128, -128),
    ("Int32", "UInt8", 255, 255),
    ("UInt64", "Int64", 2**63 - 1, 2**63 - 1),
    ("UInt64", "Int8", 7, 7),
    ("Int64", "UInt64", 2**62 + 1, 2**62 + 1),
    ("Int64", "Float64", -EXACT, -float(EXACT)),
    ("Int64", "Float64", -(2**63), -(2.0**63)),
    ("UInt64", "Float64", 2**62, 2.0**62),
    ("Int32", "Float32", 2**24 + 2, 2.0**24 + 2),
]
UNFIT = [
    ("Float64", "Float32", 1e39, "3.4028235e38"),
    ("Int32", "Int8", 128, "-128 to 127"),
    ("Int32", "UInt8", -1, "0 to 255"),
    ("UInt64", "Int64", 2**63, f"{-(2**63)} to {2**63 - 1}"),
    ("UInt64", "Int8", 2**64 - 5, "-128 to 127"),
    ("Int64", "UInt64", -1, f"0 to {2**64 - 1}"),
    ("Int64", "Float64", 2**53 + 1, "2^53"),
    ("Int32", "Float32", 2**24 + 1, "2^24"),
]


@pytest.mark.parametrize(("source", "destination", "value", "expected"), FITTING)
def test_a_number_that_fits_passes(passed, compared, source, destination, value, expected):
    trace = result_of(passed(source, destination, value)).unwrap()
    assert trace[f"B.{destination}_is"].tolist() == [expected] * 3
    assert compared()


@pytest.mark.parametrize(("source", "destination", "value", "span"), UNFIT)
def test_a_number_that_does_not_fit_ends_the_run_by_name(passed, compared, source, destination, value, span):
    failure = result_of(passed(source, destination, value)).failure
    assert failure is not None and failure.time == 0.0
    for fact in (f"A.{source}_is → B.{destination}_u", repr(value), destination, span):
        assert fact in failure.message
    assert compared()


def test_without_acceptance_the_run_is_refused_and_int32_to_float64_is_legal(passed):
    folder = passed("Int64", "Float64", 3)
    with pytest.raises(ssptool.exceptions.InvalidSystem, match="SSD-CONN-008"):
        ssptool.plan(folder, step_size=0.5)
    assert all("Int32" not in str(one) for one in ssptool.validate(folder).errors)


def test_int32_becomes_float64_exactly_without_acceptance(passed):
    trace = ssptool.simulate(passed("Int32", "Float64", -(2**31)), step_size=0.5, isolated=False).unwrap()
    assert trace["B.Float64_is"].tolist() == [-(2.0**31)] * len(trace.t)


@pytest.mark.parametrize(("source", "destination"), [("Float64", "Int32"), ("Boolean", "Int32"), ("String", "Int32")])
def test_other_conversions_are_refused_by_name_although_accepted(passed, source, destination):
    folder = passed(source, destination, {"Float64": 1.0, "Boolean": "true", "String": "a"}[source])
    with pytest.raises(Unsupported, match=rf"A\.{source}_is → B\.{destination}_u"):
        ssptool.plan(folder, step_size=0.5, accept=ACCEPT)


def test_an_exported_fmu_is_refused_by_name(passed, tmp_path):
    with pytest.raises(Unsupported, match=r"A\.Int32_is → B\.Int8_u: .*Int32.*Int8"):
        ssptool.export(passed("Int32", "Int8", 3), tmp_path / "out.fmu", step_size=0.5, accept=ACCEPT)
