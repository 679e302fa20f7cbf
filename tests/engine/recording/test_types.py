"""Values of every type on their way to files and back, exactly."""

from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ssptool import read_trace
from ssptool.engine.recording.csv import Lines
from ssptool.engine.trace import Column
from ssptool.errors import UnusableFile
from ssptool.types import Trace
from tests.engine.recording.files import at_once, write

parquet = pytest.param(
    ".parquet", marks=pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")
)
hdf5 = pytest.param(".h5", marks=pytest.mark.skipif(find_spec("h5py") is None, reason="h5py is not installed"))
EXACT = [".csv", ".mf4", parquet, hdf5]
ALL = [*EXACT, ".mat"]

TEXTS = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(
    ["", ",", '"', '""', "a\nb", "\r\n", "\r", "κ, λ", " ", "1.5", "nan", "\u2028", "\x00", "x" * 300]
)
VALUES = {
    "Float64": st.floats(),
    "Float32": st.floats(width=32),
    "Boolean": st.booleans(),
    "String": TEXTS,
    "Binary": st.binary(max_size=6) | st.sampled_from([b"\x00", b"\xff\xfe", b"x" * 300]),
    **{f"Int{bits}": st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": st.integers(0, 2**bits - 1) for bits in (8, 16, 32, 64)},
    "Enumeration": st.integers(-(2**63), 2**63 - 1),
}
LIMITS = {
    "Int64": [-(2**63), 2**63 - 1, 2**53 + 1],
    "UInt64": [0, 2**64 - 1, 2**53 + 1],
    "Float64": [np.nan, np.inf, -0.0],
    "Float32": [np.nan, -np.inf, 0.10000000149011612],
    "Boolean": [True, False, True],
    "String": ["", 'a,"b"\nc', "κ"],
    "Binary": [b"", bytes(range(256)), "κ".encode()],
}


@st.composite
def traces(draw, kinds=tuple(VALUES)):
    n = draw(st.integers(0, 4))
    chosen = draw(st.lists(st.sampled_from(kinds), max_size=6))
    columns = [
        (Column(f"A.{kind}[{place}]", type=kind), draw(st.lists(VALUES[kind], min_size=n, max_size=n)))
        for place, kind in enumerate(chosen)
    ]
    return Trace.of(np.arange(n, dtype=float), columns)


def same(one, other):
    """Whether two traces have the same columns, with the same bits."""
    if one.columns != other.columns:
        return False
    pairs = [(one.t, other.t), *((one[signal], other[signal]) for signal in one.signals)]
    return all(a.dtype == b.dtype and a.tolist().__repr__() == b.tolist().__repr__() for a, b in pairs)


def has_nul(trace):
    """Whether a text has a NUL, which no FMU can set."""
    texts = [one for one in trace.columns if one.type == "String"]
    return any("\0" in value for one in texts for value in trace[one.signal])


@pytest.mark.parametrize("ending", EXACT)
@settings(max_examples=60)
@given(trace=traces(), closed=st.booleans())
def test_every_type_comes_back_exactly(trace, closed, ending, tmp_path_factory):
    """Also from a file that nobody closed, if it had time to be written."""
    path = tmp_path_factory.mktemp("files") / f"trace{ending}"
    assume(ending != ".h5" or not has_nul(trace))
    assert write(path, trace, closed=closed or ending != ".csv", chunks=2) == ()
    assert same(read_trace(path), trace)


@pytest.mark.parametrize("closed", [True, False])
@settings(max_examples=60)
@given(trace=traces([kind for kind in VALUES if "64" not in kind and kind not in ("String", "Binary", "Enumeration")]))
def test_mat_keeps_all_types_that_doubles_can_hold(trace, closed, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "trace.mat"
    assert write(path, trace, closed=closed) == ()
    assert same(read_trace(path), trace)


@pytest.mark.parametrize("ending", EXACT)
@pytest.mark.parametrize("kind", LIMITS)
def test_the_last_values_of_each_type_come_back(kind, ending, tmp_path):
    trace = Trace.of([0.0, 1.0, 2.0], [(Column("A.y", type=kind), LIMITS[kind])])
    write(tmp_path / f"trace{ending}", trace)
    found = read_trace(tmp_path / f"trace{ending}")
    assert same(found, trace)
    assert list(map(str, found["A.y"].tolist())) == list(map(str, LIMITS[kind]))


@pytest.mark.parametrize("ending", ALL)
def test_a_file_that_nobody_closed_keeps_its_types(ending, tmp_path, monkeypatch):
    at_once(monkeypatch)
    columns = [(Column("A.n", "m", "Int16", "how many"), [3, -4]), (Column("A.b", type="Boolean"), [True, False])]
    trace = Trace.of([0.0, 0.5], columns)
    write(tmp_path / f"trace{ending}", trace, closed=False, chunks=2)
    assert same(read_trace(tmp_path / f"trace{ending}"), trace)


# -- what MAT cannot hold ------------------------------------------------------------------------------------


def test_mat_is_without_texts_and_bytes_and_says_so(tmp_path):
    columns = [(Column("A.s", type="String"), ["on"]), (Column("A.b", type="Binary"), [b"on"]), (Column("A.x"), [2.5])]
    (note,) = write(tmp_path / "trace.mat", Trace.of([0.0], columns))
    assert "trace.mat is without A.s, A.b: MAT files hold neither texts nor bytes" in note
    found = read_trace(tmp_path / "trace.mat")
    assert (found.signals, found["A.x"].tolist()) == (("A.x",), [2.5])


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        ("Int64", 2**53, 2**53),
        ("Int64", 2**53 + 1, 2**53),
        ("Int64", 2**63 - 1, 2**63 - 1),
        ("UInt64", 2**63, 2**63),
        ("UInt64", 2**64 - 1, 2**64 - 1),
        ("Enumeration", -(2**60) - 1, -(2**60)),
    ],
)
def test_mat_names_the_signals_that_lost_digits(kind, value, read, tmp_path):
    """A double has 53 of them; what it rounds out of the range of a type is read as the last of the range."""
    trace = Trace.of([0.0, 1.0], [(Column("A.n", type=kind), [value, 1]), (Column("A.m", type=kind), [1, 1])])
    notes = write(tmp_path / "trace.mat", trace)
    assert read_trace(tmp_path / "trace.mat")["A.n"].tolist() == [read, 1]
    assert bool(notes) == (int(float(value)) != value or float(value) >= 2**64)
    assert not notes or ("lost digits of A.n: MAT" in notes[0])


# -- HDF5 ----------------------------------------------------------------------------------------------------


def test_hdf5_ends_a_text_at_a_nul_and_says_so(tmp_path):
    pytest.importorskip("h5py")
    columns = [(Column("A.s", type="String"), ["on\0off", "κ"]), (Column("A.b", type="Binary"), [b"a\0b", b"\0"])]
    (note,) = write(tmp_path / "trace.h5", Trace.of([0.0, 0.5], columns))
    assert "trace.h5 has texts of A.s up to their first NUL" in note
    found = read_trace(tmp_path / "trace.h5")
    assert found["A.s"].tolist() == ["on", "κ"] and found["A.b"].tolist() == [b"a\0b", b"\0"]


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 5_000])
def test_hdf5_reads_its_heaps_of_texts_of_any_length(tmp_path, length):
    pytest.importorskip("h5py")
    texts = [f"{place}" + "x" * length for place in range(700)]
    trace = Trace.of(np.arange(700.0), [(Column("A.s", type="String"), texts)])
    write(tmp_path / "trace.h5", trace, chunks=7)
    assert same(read_trace(tmp_path / "trace.h5"), trace)


# -- CSV -----------------------------------------------------------------------------------------------------


def test_parquet_has_columns_of_bytes(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    write(tmp_path / "trace.parquet", Trace.of([0.0, 1.0], [(Column("A.b", type="Binary"), [b"\x00\xff", b""])]))
    column = parquet.read_table(tmp_path / "trace.parquet")["A.b"]
    assert str(column.type) == "large_binary" and column.to_pylist() == [b"\x00\xff", b""]


def test_a_csv_column_of_bytes_with_something_else_is_refused_with_its_line(tmp_path):
    write(tmp_path / "trace.csv", Trace.of([0.0], [(Column("A.b", type="Binary"), [b"\x00"])]))
    path = tmp_path / "trace.csv"
    path.write_text(path.read_text().replace('"00"', '"0g"'))
    with pytest.raises(UnusableFile, match=r"trace.csv:2: .*hex"):
        read_trace(path)


def test_csv_writes_integers_and_booleans_as_integers_texts_and_bytes_in_quotes(tmp_path):
    columns = [("i", "Int64", [-(2**62) - 1]), ("u", "UInt64", [2**64 - 1]), ("b", "Boolean", [True])]
    columns += [("s", "String", ['say "κ",\nplease']), ("x", "Float32", [0.5]), ("y", "Binary", [b"\x0a\xff"])]
    trace = Trace.of([0.0], [(Column(name, type=kind), values) for name, kind, values in columns])
    write(tmp_path / "trace.csv", trace)
    expected = 'time,i,u,b,s,x,y\n0.0,-4611686018427387905,18446744073709551615,1,"say ""κ"",\nplease",0.5,"0aff"\n'
    assert (tmp_path / "trace.csv").read_text(encoding="utf-8") == expected


@given(trace=traces())
def test_native_code_writes_rows_as_python_does(trace):
    rows = np.column_stack([trace.t, trace.cells])
    kinds = ("Float64", *trace.types)
    assert Lines(kinds, trace.contents).of(rows) == Lines(kinds, trace.contents).of(rows)


def test_a_number_of_no_text_is_refused():
    rows = np.array([[0, 7]]).view(float)
    with pytest.raises(IndexError):
        Lines(("Float64", "String"), [b"", b"one"]).of(rows)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1.5", "nan"], "Float64"),
        (["1", "0"], "Float64"),
        ([str(2**53 + 1), "0"], "Int64"),
        ([str(2**64 - 1), "0"], "UInt64"),
        (["on", "off"], "String"),
    ],
)
def test_what_nothing_is_told_of_is_a_number_if_it_can_be(cells, kind, tmp_path):
    """And an integer only where a double would not do."""
    (tmp_path / "other.csv").write_text("time,x\n" + "".join(f"{k},{cell}\n" for k, cell in enumerate(cells)))
    trace = read_trace(tmp_path / "other.csv")
    assert trace.types == (kind,)
    assert list(map(str, trace["x"].tolist())) == [str(float(cell)) if kind == "Float64" else cell for cell in cells]


def test_a_text_that_was_cut_off_is_left_out(tmp_path):
    path = tmp_path / "trace.csv"
    write(path, Trace.of([0.0, 1.0], [(Column("A.s", type="String"), ["one", "two\nlines"])]), closed=False)
    path.write_text(path.read_text()[: -len('lines"\n')])
    assert read_trace(path)["A.s"].tolist() == ["one"]


@pytest.mark.parametrize(
    ("kind", "cell", "reason"),
    [
        ("Int8", "128", "128 is not a value of type Int8: -128 … 127"),
        ("UInt16", "-1", "-1 is not a value of type UInt16: 0 … 65535"),
        ("Int32", "1.5", "invalid literal"),
        ("Boolean", "2", "'2' is not a Boolean"),
    ],
)
def test_what_is_not_of_its_columns_type_is_refused_with_its_line(kind, cell, reason, tmp_path):

    path = tmp_path / "trace.csv"
    write(path, Trace.of([0.0], [(Column("A.n", type=kind), [1])]))
    path.write_text(f"time,A.n\n0.0,1\n1.0,{cell}\n")
    with pytest.raises(UnusableFile, match=f":3: .*{reason}"):
        read_trace(path)


@pytest.mark.parametrize("suffix", EXACT)
def test_long_texts_and_bytes_come_back(tmp_path, suffix):
    """Readers of CSV end a field at 131072 characters unless they are told otherwise."""
    columns = [
        (Column("A.text", type="String"), ["κ" * 2**18, "b"]),
        (Column("A.bytes", type="Binary"), [b"", bytes(2**20)]),
    ]
    trace = Trace.of([0.0, 1.0], columns)
    write(tmp_path / f"run{suffix}", trace)
    assert same(read_trace(tmp_path / f"run{suffix}"), trace)
