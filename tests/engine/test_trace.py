"""The trace, and its way to CSV and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ssptool.engine.trace import Column, CsvWriter, Trace, UnreadableTrace, read_csv


def test_a_signal_is_found_by_its_full_name():
    trace = Trace(np.arange(3.0), np.arange(6.0).reshape(3, 2), (Column("A.x", "m"), Column("B.y")))
    assert trace["B.y"].tolist() == [1, 3, 5]
    assert (trace.signals, trace.units, len(trace)) == (("A.x", "B.y"), ("m", None), 3)


def test_an_unknown_signal_is_refused_with_those_recorded():
    trace = Trace(np.zeros(1), np.zeros((1, 1)), (Column("A.x"),))
    with pytest.raises(KeyError, match=r"'A\.z' is not recorded; recorded are: A\.x"):
        trace["A.z"]


@given(rows=arrays(float, (3, 3), elements=st.floats(allow_nan=True, allow_infinity=True)))
def test_numbers_come_back_from_csv_with_the_same_bits(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("csv") / "trace.csv"
    with CsvWriter(path, ["A.x", "B.y"]) as writer:
        writer.write(rows)
    trace = read_csv(path)
    assert np.array_equal(np.column_stack([trace.t, trace.y]), rows, equal_nan=True)


def test_the_header_has_time_first_and_quotes_what_csv_needs(tmp_path):
    path = tmp_path / "trace.csv"
    with CsvWriter(path, ["A.x", 'odd, "name"']) as writer:
        writer.write(np.array([[0.0, 1.0, 2.0]]))
    assert path.read_text() == 'time,A.x,"odd, ""name"""\n0.0,1.0,2.0\n'
    assert read_csv(path).signals == ("A.x", 'odd, "name"')


def test_rows_are_in_the_file_before_it_is_closed(tmp_path):
    path = tmp_path / "trace.csv"
    writer = CsvWriter(path, ["x"])
    writer.write(np.array([[0.0, 1.0], [0.1, 2.0]]))
    assert read_csv(path)["x"].tolist() == [1, 2]
    writer.close()


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("time,x\n0.0,1.0\n0.1,2.34")
    assert read_csv(path)["x"].tolist() == [1.0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("t,x\n0,1\n", ":1: the first column must be 'time', found"),
        ("", ":1: the first column must be 'time'"),
        ("time,x\n0,1\n1\n", ":3: 2 values expected, found 1"),
        ("time,x\n0,one\n", ":2: could not convert string to float: 'one'"),
    ],
)
def test_what_is_not_a_trace_is_refused_with_its_line(tmp_path, text, reason):
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(UnreadableTrace, match=reason):
        read_csv(path)
