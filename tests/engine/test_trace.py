"""The trace."""

import numpy as np
import pytest

from ssptool.engine.trace import Column
from ssptool.types import Trace


def test_a_signal_is_found_by_its_full_name():
    trace = Trace(np.arange(3.0), np.arange(6.0).reshape(3, 2), (Column("A.x", "m"), Column("B.y")))
    assert trace["B.y"].tolist() == [1, 3, 5]
    assert (trace.signals, trace.units, len(trace)) == (("A.x", "B.y"), ("m", None), 3)


def test_the_component_can_be_left_out_if_there_is_one():
    values = np.arange(6.0).reshape(3, 2)
    alone = Trace(np.arange(3.0), values, (Column("A.x"), Column("A.b.y")))
    assert (alone["b.y"].tolist(), "x" in alone, "A.x" in alone) == ([1, 3, 5], True, True)
    assert tuple(alone) == ("A.x", "A.b.y")
    two = Trace(np.arange(3.0), values, (Column("A.x"), Column("B.y")))
    assert "x" not in two
    with pytest.raises(KeyError):
        two["y"]


def test_an_unknown_signal_is_refused_with_those_recorded():
    trace = Trace(np.zeros(1), np.zeros((1, 1)), (Column("A.x"),))
    with pytest.raises(KeyError, match=r"'A\.z' is not recorded; did you mean A\.x"):
        trace["A.z"]


# -- to other libraries --------------------------------------------------------------------------------------


@pytest.fixture
def trace():
    columns = (Column("A.x", "m", description="where A is"), Column("B.y"))
    return Trace(np.arange(3.0), np.arange(6.0).reshape(3, 2), columns)


def test_one_asks_and_goes_through_a_trace_by_names(trace):
    assert "A.x" in trace and "A.z" not in trace
    assert tuple(trace) == trace.signals


def test_a_connector_that_is_called_time_is_not_taken_for_it():
    trace = Trace.of([0.0, 1.0], [(Column("time"), [5.0, 6.0])])
    assert [values.tolist() for values in trace.to_numpy().values()] == [[0.0, 1.0], [5.0, 6.0]]
    dataset = pytest.importorskip("xarray") and trace.to_xarray()
    assert dataset["time"].values.tolist() == [5.0, 6.0]
    assert dataset.coords["time [s]"].values.tolist() == [0.0, 1.0]


def test_columns_are_views(trace):
    arrays = trace.to_numpy()
    assert list(arrays) == ["time", "A.x", "B.y"]
    assert arrays["B.y"].tolist() == [1, 3, 5]
    assert all(np.shares_memory(array, trace.t) or np.shares_memory(array, trace.cells) for array in arrays.values())


def test_a_frame_has_the_time_as_index_and_copies_nothing(trace):
    pytest.importorskip("pandas")
    frame = trace.to_pandas()
    assert (frame.index.name, frame.index.tolist(), list(frame.columns)) == ("time", [0, 1, 2], ["A.x", "B.y"])
    assert frame["B.y"].tolist() == [1, 3, 5]
    assert frame.attrs["units"] == {"A.x": "m", "B.y": None}
    assert np.shares_memory(frame["A.x"].to_numpy(), trace.cells)


def test_a_dataset_has_units_and_copies_nothing(trace):
    pytest.importorskip("xarray")
    dataset = trace.to_xarray()
    assert dataset["B.y"].sel(time=1.0) == 3
    assert dataset["A.x"].attrs == {"units": "m", "long_name": "where A is"}
    assert dataset["time"].attrs == {"units": "s"}
    assert np.shares_memory(dataset["A.x"].values, trace.cells)


# -- types -----------------------------------------------------------------------------------------------------

COLUMNS = [
    (Column("A.x"), [0.5, 1.5], np.float64),
    (Column("A.f", type="Float32"), [0.5, 1.5], np.float32),
    (Column("A.n", type="Int64"), [2**63 - 1, -(2**63)], np.int64),
    (Column("A.u", type="UInt64"), [2**64 - 1, 0], np.uint64),
    (Column("A.i", type="Int8"), [-128, 127], np.int8),
    (Column("A.w", type="UInt16"), [65535, 1], np.uint16),
    (Column("A.b", type="Boolean"), [True, False], np.bool_),
    (Column("A.e", "m", type="Enumeration"), [1, 2], np.int64),
    (Column("A.s", type="String"), ["on", ""], object),
]


@pytest.fixture
def typed():
    return Trace.of([0.0, 1.0], [(column, values) for column, values, _ in COLUMNS])


@pytest.mark.parametrize(("column", "values", "dtype"), COLUMNS, ids=lambda one: getattr(one, "type", ""))
def test_a_signal_has_its_type_and_shares_its_memory_if_a_cell_is_enough(typed, column, values, dtype):
    found = typed[column.signal]
    assert (found.tolist(), found.dtype) == (values, dtype)
    assert np.shares_memory(found, typed.cells) == (column.type not in ("Float32", "String"))


def test_a_frame_and_a_dataset_have_the_types(typed):
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    frame, dataset = typed.to_pandas(), typed.to_xarray()
    for column, values, dtype in COLUMNS:
        assert frame[column.signal].tolist() == dataset[column.signal].values.tolist() == values
        if column.type != "String":
            assert frame[column.signal].dtype == dataset[column.signal].dtype == dtype
    assert np.shares_memory(frame["A.u"].to_numpy(), typed.cells)
    assert np.shares_memory(dataset["A.b"].values, typed.cells)
    assert frame.attrs["units"]["A.e"] == "m"


def test_numbers_of_all_types_are_doubles_together():
    columns = [(Column("A.x"), [0.5, 1.5]), (Column("A.u", type="UInt64"), [2**64 - 1, 3])]
    assert Trace.of([0.0, 1.0], columns).y.tolist() == [[0.5, 2.0**64], [1.5, 3.0]]


def test_texts_among_the_numbers_are_refused_by_name(typed):
    with pytest.raises(TypeError, match=r"without A\.s"):
        typed.y  # noqa: B018


@pytest.mark.parametrize(
    ("kind", "values"), [("Int64", [0.5]), ("Int64", [2**63]), ("UInt64", [-1]), ("Int32", np.array([1.0]))]
)
def test_values_that_are_none_of_their_type_are_refused(kind, values):
    with pytest.raises((OverflowError, TypeError)):
        Trace.of([0.0], [(Column("A.n", type=kind), values)])
