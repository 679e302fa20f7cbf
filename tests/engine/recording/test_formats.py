"""Rows on their way to files and back: every format, whole, cut off, and beside what."""

import json
from contextlib import contextmanager, suppress
from dataclasses import asdict
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.io import loadmat, savemat

from ssptool import read_manifest, read_trace
from ssptool.engine.recording.csv import NATIVE, CsvTail, Lines
from ssptool.engine.recording.formats import FORMATS, ResultsNotWritten, check_output, open_writer
from ssptool.engine.recording.writer import FootedFile
from ssptool.engine.trace import Column
from ssptool.errors import MissingPackage, UnusableFile, WrongValue
from ssptool.types import Trace
from tests.engine.recording.files import at_once, write

HAS_PYARROW = find_spec("pyarrow") is not None
parquet = pytest.mark.skipif(not HAS_PYARROW, reason="pyarrow is not installed")
COLUMNS = (Column("A.x", "m", description="Länge"), Column('odd, "name"'), Column("B.y[1]", "m/s2"))
MANIFEST = json.dumps({"columns": [asdict(column) for column in COLUMNS]})
FLOATS = ("Float64",) * 5
hdf5 = pytest.mark.skipif(find_spec("h5py") is None, reason="h5py is not installed")
ENDINGS = [pytest.param(ending, marks={".parquet": parquet, ".h5": hdf5}.get(ending, ())) for ending in FORMATS]


def some_rows(first=0, count=5):
    t = 0.1 * np.arange(first, first + count)
    return np.column_stack([t, np.sin(t), 1e300 * t, -t])


@pytest.mark.parametrize("ending", ENDINGS)
@given(
    times=arrays(float, 3, elements=st.floats(allow_nan=False, allow_infinity=False)),
    values=arrays(float, (3, 3), elements=st.floats(allow_nan=True, allow_infinity=True)),
)
def test_numbers_come_back_with_the_same_bits(times, values, ending, tmp_path_factory):
    rows = np.column_stack([times, values])
    path = tmp_path_factory.mktemp("files") / f"trace{ending}"
    writer = open_writer(path, COLUMNS)
    writer.write(rows)
    writer.close(MANIFEST)
    trace = read_trace(path)
    assert np.array_equal(np.column_stack([trace.t, trace.cells]), rows, equal_nan=True)


@contextmanager
def no_file_beyond(size):
    """To a writer as a full disk is: a write ends at that size [byte], and the next one fails."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [20_001, 100_000])
def test_of_a_group_of_rows_without_room_parquet_keeps_what_fits(tmp_path, size):
    """Numbers at random are not compressed, 8 bytes each; times are. Small groups and their footers take a part of the
    room, less than half of it.
    """
    pytest.importorskip("pyarrow")
    path = tmp_path / "trace.parquet"
    columns = [Column(f"x{number}", "m") for number in range(3)]
    rows = np.column_stack([np.arange(50_000.0), np.random.default_rng(8).normal(size=(50_000, 3))])
    with no_file_beyond(size):
        writer = open_writer(path, columns)
        with pytest.raises(ResultsNotWritten):
            writer.write(rows)
            writer.close("{}")
    trace = read_trace(path)
    assert np.array_equal(trace.y, rows[: len(trace), 1:])
    assert size / 2 < 8 * 3 * len(trace) < size


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("size", [1, 20_001])
def test_a_file_that_takes_no_more_is_closed(tmp_path, ending, size):
    """Else it would stay open, and a studio or a notebook would run out of files."""
    open_files = Path("/proc/self/fd")
    if not open_files.exists():
        pytest.skip("no list of open files")
    before = len(list(open_files.iterdir()))
    with no_file_beyond(size), pytest.raises(ResultsNotWritten):
        writer = open_writer(tmp_path / f"trace{ending}", COLUMNS)
        for chunk in range(400):
            writer.write(some_rows(5 * chunk))
        writer.close(MANIFEST)
    assert len(list(open_files.iterdir())) <= before


@pytest.mark.parametrize("size", [3_000, 5_003, 20_001])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_can_grow_no_more_keeps_the_rows_that_are_in_it(tmp_path, monkeypatch, ending, size):
    at_once(monkeypatch)
    path = tmp_path / f"trace{ending}"
    chunks = [some_rows(5 * chunk) for chunk in range(400)]
    taken = 0
    # Datasets grow by 1024 rows.
    with no_file_beyond(size + 40_000 if ending == ".h5" else size):
        writer = open_writer(path, COLUMNS)
        with pytest.raises(ResultsNotWritten, match=f"trace{ending}: .* at t = ") as caught:
            for chunk in chunks:
                writer.write(chunk)
                taken += len(chunk)
        writer.write(some_rows())  # what comes now is gone, and
        writer.close(MANIFEST)  # nothing is said twice
    assert caught.value.time == pytest.approx(0.1 * taken)
    trace = read_trace(path)
    # Of CSV whole lines, of MAT whole chunks; Parquet loses the group that it could not begin.
    assert (0 if ending == ".parquet" else taken) < len(trace) + 1 <= taken + 5
    assert np.array_equal(np.column_stack([trace.t, trace.cells]), np.concatenate(chunks)[: len(trace)])


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_cannot_be_begun_is_named(tmp_path, ending):
    path = tmp_path / "none" / f"trace{ending}"
    with pytest.raises(ResultsNotWritten, match=rf"trace{ending}: results cannot be written: no such file") as caught:
        open_writer(path, COLUMNS)
    assert caught.value.time is None


@pytest.mark.parametrize("ending", ENDINGS)
def test_names_units_and_descriptions_come_back(tmp_path, ending):
    path = tmp_path / f"trace{ending}"
    writer = open_writer(path, COLUMNS)
    writer.write(some_rows())
    writer.close(MANIFEST)
    assert read_trace(path).columns == COLUMNS
    assert read_manifest(path) == json.loads(MANIFEST)


ODD = (" before", "after ", "a\nb", 'a"b', "a,b;c", "ü日💥", "a [m]", "time", "[", "\t", "'a'", "\u200b", "=1+1", "#")


@pytest.mark.parametrize("ending", ENDINGS)
def test_odd_names_come_back(tmp_path, ending):
    path = tmp_path / f"trace{ending}"
    columns = tuple(Column(name, "m") for name in ODD)
    writer = open_writer(path, columns)
    writer.write(np.arange(2.0 * (1 + len(ODD))).reshape(2, -1))
    writer.close(json.dumps({"columns": [asdict(column) for column in columns]}))
    trace = read_trace(path)
    assert trace.columns == columns
    assert [trace[name][0] for name in ODD] == list(range(1, 1 + len(ODD)))


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_nobody_closed_holds_what_was_written(tmp_path, ending, monkeypatch):
    at_once(monkeypatch)
    path = tmp_path / f"trace{ending}"
    writer = open_writer(path, COLUMNS)
    for k in range(4):
        writer.write(some_rows(5 * k))
        trace = read_trace(path)
        assert len(trace) == 5 * (k + 1)
        assert np.array_equal(trace["A.x"], np.sin(trace.t))
    assert read_manifest(path) == {}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_without_rows_can_be_read(tmp_path, ending):
    path = tmp_path / f"trace{ending}"
    writer = open_writer(path, COLUMNS)
    assert len(read_trace(path)) == 0
    writer.close(MANIFEST)
    trace = read_trace(path)
    assert (len(trace), trace.signals) == (0, tuple(column.signal for column in COLUMNS))


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_but_time_can_be_recorded(tmp_path, ending):
    path = tmp_path / f"trace{ending}"
    writer = open_writer(path, ())
    writer.write(some_rows()[:, :1])
    writer.close("{}")
    assert read_trace(path).y.shape == (5, 0)


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_no_trace_is_refused(tmp_path, ending):
    path = tmp_path / f"trace{ending}"
    path.write_bytes(b"something else\n")
    with pytest.raises(UnusableFile, match=f"trace{ending}"):
        read_trace(path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_damaged_file_is_told_as_one(tmp_path, ending):
    """Bytes changed anywhere, and a text in another encoding: an error of ours, or a trace; never one of a library."""
    path = tmp_path / f"trace{ending}"
    writer = open_writer(path, COLUMNS)
    writer.write(some_rows())
    writer.close(MANIFEST)
    sound, random = path.read_bytes(), np.random.default_rng(1)
    damaged = [np.frombuffer(sound, np.uint8).copy() for _ in range(40)]
    for one in damaged:
        one[random.integers(0, len(one), 4)] = random.integers(0, 256, 4)
    for content in [*map(bytes, damaged), sound[: len(sound) // 2], sound.decode("latin-1").encode("utf-16")]:
        path.write_bytes(content)
        for read in (read_trace, read_manifest):
            with suppress(UnusableFile):
                read(path)


def test_mat_files_of_later_versions_are_refused_with_the_version_that_is_read(tmp_path):
    """SciPy's reader of them ends the process at some damage."""
    path = tmp_path / "trace.mat"
    savemat(path, {"data_2": np.eye(2)}, format="5")
    with pytest.raises(UnusableFile, match=r"trace\.mat: it is a MAT file of version 5 to 7.*save -v4"):
        read_trace(path)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("time", [np.nan, np.inf])
def test_a_time_that_is_no_number_is_refused_with_its_row(tmp_path, ending, time):
    path = tmp_path / f"trace{ending}"
    writer = open_writer(path, COLUMNS)
    rows = some_rows()
    rows[2, 0] = time
    writer.write(rows)
    writer.close(MANIFEST)
    with pytest.raises(UnusableFile, match=f"trace{ending}: the time of row 3 is {time}; it must be finite"):
        read_trace(path)


# -- choice of the format ------------------------------------------------------------------------------------


def test_an_unknown_ending_is_refused_with_those_known(tmp_path):
    with pytest.raises(WrongValue, match=r"results are files of type .*\.mat, \.h5, \.mf4; found 'trace\.xlsx'"):
        check_output(tmp_path / "trace.xlsx")


def test_a_format_whose_package_is_missing_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setattr("ssptool.engine.recording.formats.find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match=r"pip install 'ssptool\[parquet\]'"):
        check_output(tmp_path / "trace.parquet")
    check_output(tmp_path / "trace.csv")


def test_results_as_mdf_are_refused_with_the_ending_that_they_have(tmp_path):
    with pytest.raises(WrongValue, match=r"run\.MDF.*\.mf4"):
        check_output(tmp_path / "run.MDF")


def test_a_folder_that_does_not_exist_is_told_before_anything_is_run(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere: no such folder"):
        check_output(tmp_path / "nowhere" / "trace.csv")


# -- CSV -----------------------------------------------------------------------------------------------------


def test_csv_has_time_first_and_quotes_what_it_needs(tmp_path):
    path = tmp_path / "trace.csv"
    writer = open_writer(path, COLUMNS[:2])
    writer.write(np.array([[0.0, 1.0, 2.0]]))
    assert path.read_text() == 'time,A.x [m],"odd, ""name"""\n0.0,1.0,2.0\n'


@pytest.mark.skipif(not NATIVE, reason="the native part is not built")
@given(rows=arrays(float, (4, 5), elements=st.floats(allow_nan=True, allow_infinity=True)))
def test_native_code_writes_numbers_as_python_does(rows):
    assert Lines(FLOATS).of(rows) == Lines(FLOATS).of(rows)


@pytest.mark.skipif(not NATIVE, reason="the native part is not built")
def test_native_code_changes_its_notation_where_python_does():
    powers = np.array([10.0**k for k in range(-30, 30)])
    rows = np.concatenate(
        [powers, -powers, powers * 1.25, np.nextafter(powers, 0), [0.0, -0.0, 5e-324, 1.7976931348623157e308]]
    )
    assert Lines(FLOATS[:1]).of(rows[:, None]) == Lines(FLOATS[:1]).of(rows[:, None])


def test_what_csv_cannot_hold_is_in_a_file_beside_it(tmp_path):
    path = tmp_path / "trace.csv"
    open_writer(path, COLUMNS).close(MANIFEST)
    assert json.loads((tmp_path / "trace.csv.json").read_text(encoding="utf-8"))["columns"][0]["unit"] == "m"


def test_facts_of_an_earlier_run_are_not_taken_for_those_of_this(tmp_path):
    path = tmp_path / "trace.csv"
    open_writer(path, COLUMNS).close(MANIFEST)
    open_writer(path, (Column("A.x"),))
    assert read_trace(path).units == (None,)


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_the_last_row_counts_with_and_without_a_line_end(tmp_path, end):
    path = tmp_path / "trace.csv"
    path.write_text(f"time,x\n0.0,1.0\n0.1,2.34{end}", newline="")
    trace = read_trace(path)
    assert trace["x"].tolist() == [1.0, 2.34]
    assert trace.assumptions == ()


@pytest.mark.parametrize("last", ["2.5", "2.5\n", "2.5,", "2.5,-", '2.5,"0.', "2.5,1e", "2.5e"])
@pytest.mark.parametrize("head", ["time,x\n", "sep=,\ntime,x\n"])
def test_a_last_row_that_lacks_a_value_is_left_out_with_a_note_of_its_line(tmp_path, head, last):
    path = tmp_path / "trace.csv"
    path.write_text(f"{head}0.5,1.5\n1.5,99\n{last}")
    trace = read_trace(path)
    assert trace["x"].tolist() == [1.5, 99.0]
    (note,) = trace.assumptions
    assert f"trace.csv:{head.count(chr(10)) + 3}: " in note


def test_a_last_row_that_ends_inside_a_character_is_left_out(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_bytes("time,x\n0.5,Öl\n1.5,Ö".encode()[:-1])
    trace = read_trace(path)
    assert trace["x"].tolist() == ["Öl"]
    assert "trace.csv:3: " in trace.assumptions[0]


def test_of_a_run_that_has_not_ended_a_row_without_line_end_may_be_a_part(tmp_path):
    """`12` may be the beginning of `12.5`."""
    path = tmp_path / "trace.csv"
    writer = open_writer(path, COLUMNS[:1])
    writer.write(np.array([[0.5, 1.5], [1.5, 12.5]]))
    path.write_bytes(path.read_bytes()[: -len(".5\n")])
    trace = read_trace(path)
    assert trace["A.x"].tolist() == [1.5]
    assert "trace.csv:3: " in trace.assumptions[0]
    writer.close(MANIFEST)
    assert read_trace(path)["A.x"].tolist() == [1.5, 12.0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("t,x\n0,1\n", ":1: the first column must be 'time', or with a unit 'time .ms.'; found 't'"),
        ("", ":1: the first column must be 'time', or with a unit 'time .ms.'; the file is empty"),
        ("time,x\n0,1\n1\n2,3\n", ":3: 2 values expected, found 1"),
        ("time,x\n0,1\n1,2,3\n", ":3: 2 values expected, found 3"),
        ("sep=;\ntime;x\n0;1\n1\n2;3", ":4: 2 values expected, found 1"),
        ("time,x\n0,1\n1,one\n", ":3: x: expected a number, found 'one'"),
    ],
)
def test_csv_that_is_no_trace_is_refused_with_its_line(tmp_path, text, reason):
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(UnusableFile, match=reason):
        read_trace(path)


# -- Parquet -------------------------------------------------------------------------------------------------


@parquet
def test_parquet_is_what_other_tools_read(tmp_path):
    import pandas as pd
    import pyarrow.parquet as pq

    path = tmp_path / "trace.parquet"
    writer = open_writer(path, COLUMNS)
    for k in range(3):
        writer.write(some_rows(5 * k))
    writer.close(MANIFEST)
    frame = pd.read_parquet(path)
    assert list(frame.columns) == ["time", *(column.signal for column in COLUMNS)]
    assert np.array_equal(frame["A.x"], np.sin(frame["time"]))
    field = pq.read_schema(path).field("A.x")
    assert field.metadata[b"unit"] == b"m"


@parquet
def test_parquet_groups_follow_one_another_at_their_offsets(tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    at_once(monkeypatch)
    path = tmp_path / "trace.parquet"
    writer = open_writer(path, COLUMNS)
    for k in range(7):
        writer.write(some_rows(5 * k))
    writer.close(MANIFEST)
    metadata = pq.ParquetFile(path).metadata
    assert (metadata.num_row_groups, metadata.num_rows) == (7, 35)
    offsets = [metadata.row_group(k).column(0).data_page_offset for k in range(7)]
    assert offsets == sorted(offsets) and offsets[0] == 4
    assert [len(pq.ParquetFile(path).read_row_group(k)) for k in range(7)] == [5] * 7


@parquet
@pytest.mark.parametrize("sizes", [[9000], [1, 5000, 3, 4097], [4096, 4096], [100] * 90])
def test_parquet_has_all_rows_in_order_however_they_come(tmp_path, sizes):
    """Groups have 4096 rows here, or more."""
    path = tmp_path / "trace.parquet"
    columns = [Column(f"A.x[{k}]", type="Int16" if k % 2 else "Float64") for k in range(200)]
    writer, first = open_writer(path, columns), 0
    for size in sizes:
        rows = np.repeat(np.arange(first, first + size, dtype=float)[:, None], 201, axis=1)
        rows[:, 2::2].view(np.int64)[:] = rows[:, 2::2].astype(int) % 1000
        writer.write(rows)
        first += size
    writer.close("{}")
    trace = read_trace(path)
    assert np.array_equal(trace.t, np.arange(first))
    assert all(np.array_equal(trace[c.signal], trace.t % 1000 if c.type == "Int16" else trace.t) for c in columns)


@parquet
def test_all_footers_of_a_parquet_file_are_no_more_than_its_groups(tmp_path, monkeypatch):
    """Each is written over the one before; how much that is together is what grows with the square of the groups. They
    are no more than a 32nd part of all groups, besides the first, the last, and what one group adds to each.
    """
    monkeypatch.setattr("ssptool.engine.recording.parquet.GROUP_VALUES", 1)
    monkeypatch.setattr("ssptool.engine.recording.parquet.GROUP_ROWS", 1)
    monkeypatch.setattr("ssptool.engine.recording.writer.GROUP_SECONDS", 60.0)
    footers, finish = [], FootedFile.finish
    monkeypatch.setattr(FootedFile, "finish", lambda file, footer: (finish(file, footer), footers.append(len(footer))))
    writer = open_writer(tmp_path / "trace.parquet", [Column(f"A.x[{k}]") for k in range(20)])
    writer.write(np.zeros((200_000, 21)))
    writer.close("{}")
    added = max(after - before for before, after in pairwise(footers))
    assert len(footers) > 5
    assert sum(footers) <= 200_000 * 21 * 8 / 32 + 2 * footers[-1] + len(footers) * added


@parquet
def test_parquet_compresses_what_repeats_itself_and_no_numbers_that_differ(tmp_path):
    import pyarrow.parquet as pq

    path, count = tmp_path / "trace.parquet", 5000
    moving = np.random.default_rng(3).normal(size=count)
    held = np.repeat(moving[::50], 50)
    columns = [Column("moving"), Column("held"), Column("nan"), Column("n", type="Int32")]
    numbers = np.arange(count).astype(float)
    numbers.view(np.int64)[:] = numbers.astype(int)
    writer = open_writer(path, columns)
    writer.write(np.column_stack([np.arange(count), moving, held, np.full(count, np.nan), numbers]))
    writer.close("{}")
    group = pq.ParquetFile(path).metadata.row_group(0)
    chunks = {chunk.path_in_schema: chunk for chunk in map(group.column, range(5))}
    assert {name for name, chunk in chunks.items() if chunk.compression == "SNAPPY"} == {"held", "nan", "n"}
    assert chunks["held"].total_compressed_size < 8 * count / 5
    trace = read_trace(path)
    assert np.array_equal(trace["moving"], moving) and np.array_equal(trace["held"], held)


@parquet
def test_a_parquet_file_of_thousands_of_signals_has_groups_of_bounded_memory(tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    monkeypatch.setattr("ssptool.engine.recording.parquet.MOST_VALUES", 1 << 16)
    monkeypatch.setattr("ssptool.engine.recording.parquet.FEW_ROWS", 10)
    path = tmp_path / "trace.parquet"
    writer = open_writer(path, [Column(f"x{place}") for place in range(999)])
    writer.write(np.zeros((200, 1000)))
    writer.close("{}")
    metadata = pq.ParquetFile(path).metadata
    assert [metadata.row_group(place).num_rows for place in range(4)] == [65, 65, 65, 5]


@parquet
def test_parquet_has_the_types_of_the_signals(tmp_path):
    import pyarrow.parquet as pq

    path = tmp_path / "trace.parquet"
    columns = (Column("n", type="Int32"), Column("b", type="Boolean"), Column("x"), Column("A.s", type="String"))
    write(path, Trace.of([0.0, 1.0], zip(columns, ([-3, 4], [True, False], [0.5, 0.0], ["on", "off"]), strict=True)))
    table = pq.read_table(path)
    assert [str(type) for type in table.schema.types] == ["double", "int32", "bool", "double", "string"]
    assert table.to_pylist()[0] == {"time": 0.0, "n": -3, "b": True, "x": 0.5, "A.s": "on"}
    assert read_trace(path).types == ("Int32", "Boolean", "Float64", "String")
    encodings = [pq.ParquetFile(path).metadata.row_group(0).column(place).encodings for place in (3, 4)]
    assert ["RLE_DICTIONARY" in one for one in encodings] == [False, True]


# -- MAT -----------------------------------------------------------------------------------------------------


def test_mat_has_the_layout_of_trajectories(tmp_path):
    """Aclass, names and descriptions as columns of text, dataInfo with places, data_2 with one column per row."""
    path = tmp_path / "trace.mat"
    writer = open_writer(path, COLUMNS)
    rows = some_rows()
    writer.write(rows[:2])
    writer.write(rows[2:])
    writer.close(MANIFEST)
    content = loadmat(path, chars_as_strings=False)
    assert ["".join(row).strip() for row in content["Aclass"]] == ["Atrajectory", "1.1", "", "binTrans"]
    assert ["".join(column).strip() for column in content["name"].T] == ["Time", "A.x", 'odd, "name"', "B.y[1]"]
    assert "".join(content["description"][:, 3]).strip() == "[m/s2]"
    assert content["dataInfo"].tolist() == [[0, 2, 2, 2], [1, 2, 3, 4], [0, 0, 0, 0], [-1, -1, -1, -1]]
    assert np.array_equal(content["data_2"], rows.T)
    assert list(content)[:6] == ["Aclass", "name", "description", "dataInfo", "data_1", "data_2"]


# -- HDF5 ----------------------------------------------------------------------------------------------------


@hdf5
def test_hdf5_has_a_dataset_of_its_type_for_each_signal(tmp_path):
    import h5py

    path = tmp_path / "trace.h5"
    columns = (Column("n", type="Int32"), Column("b", type="Boolean"), Column("x", "m"), Column("A.s", type="String"))
    write(path, Trace.of([0.5, 1.5], zip(columns, ([-3, 4], [True, False], [0.5, 0.0], ["on", "κ"]), strict=True)))
    with h5py.File(path) as file:
        assert list(file) == ["time", "n", "b", "x", "A.s"]
        assert [str(file[name].dtype) for name in file] == ["float64", "int32", "bool", "float64", "object"]
        assert [file[name][0] for name in file] == [0.5, -3, True, 0.5, b"on"]
        assert file["x"].attrs["unit"] == b"m"
        assert json.loads(file.attrs["ssptool"])["status"] == "completed"


@hdf5
def test_names_that_hdf5_takes_for_paths_come_back(tmp_path):
    columns = tuple(Column(name) for name in ("a/b", "a∕b", ".", "/", "./x", "time", "signal"))
    write(tmp_path / "trace.h5", Trace.of([0.5], [(column, [float(place)]) for place, column in enumerate(columns)]))
    trace = read_trace(tmp_path / "trace.h5")
    assert trace.columns == columns and trace.y.tolist() == [[0, 1, 2, 3, 4, 5, 6]]


@hdf5
@pytest.mark.parametrize("sizes", [[9000], [1, 5000, 3, 4097], [1023, 1, 1, 1024], [100] * 90])
def test_hdf5_has_all_rows_in_order_however_they_come(tmp_path, sizes):
    path, first = tmp_path / "trace.h5", 0
    writer = open_writer(path, [Column("A.x"), Column("A.n", type="Int16")])
    for size in sizes:
        rows = np.repeat(np.arange(first, first + size, dtype=float)[:, None], 3, axis=1)
        rows[:, 2].view(np.int64)[:] = rows[:, 1].astype(int) % 1000
        writer.write(rows)
        first += size
    writer.close("{}")
    trace = read_trace(path)
    assert np.array_equal(trace.t, np.arange(first))
    assert np.array_equal(trace["A.x"], trace.t) and np.array_equal(trace["A.n"], trace.t % 1000)


@hdf5
def test_an_hdf5_file_has_all_of_a_group_or_nothing_wherever_its_writer_is_killed(tmp_path, monkeypatch):
    """The file as it is before, amid and after each call of the system."""
    at_once(monkeypatch)
    path, found = tmp_path / "trace.h5", []

    def observed(file, content):
        for part in (content[: len(content) // 2], content[len(content) // 2 :]):
            file.write(part)
            found.append(path.read_bytes())

    writer = open_writer(path, COLUMNS)
    writer.write(some_rows())
    for module in ("hdf5", "writer"):
        monkeypatch.setattr(f"ssptool.engine.recording.{module}.put", observed)
    writer.write(some_rows(5))
    copy, counts = tmp_path / "copy.h5", []
    for content in found:
        copy.write_bytes(content)
        trace = read_trace(copy)
        assert np.array_equal(np.column_stack([trace.t, trace.cells]), some_rows(0, len(trace)))
        counts.append(len(trace))
    assert counts == sorted(counts) and set(counts) == {5, 10}


@hdf5
def test_of_a_group_of_rows_without_room_hdf5_keeps_what_fits(tmp_path):
    path = tmp_path / "trace.h5"
    with no_file_beyond(100_000):
        writer = open_writer(path, COLUMNS)
        with pytest.raises(ResultsNotWritten):
            writer.write(some_rows(0, 4096))
    trace = read_trace(path)
    assert len(trace) == 2048  # 4 columns of 8 bytes
    assert np.array_equal(np.column_stack([trace.t, trace.cells]), some_rows(0, 2048))


@hdf5
def test_hdf5_files_of_other_tools_are_read(tmp_path):
    """Packed, big-endian, with texts of fixed length, and in the layouts of the first versions."""
    import h5py

    with h5py.File(tmp_path / "other.h5", "w", libver="earliest") as file:
        file["z"] = np.array([1.5, -2.5], ">f4")
        file["time"] = [0, 1]
        file.create_dataset("n", data=np.array([7, 8], "u2"), compression="gzip")
        file["mode"] = np.array([b"on", b"off"])
        file["n"].attrs["unit"] = np.bytes_("mm")
    trace = read_trace(tmp_path / "other.h5")
    assert dict(zip(trace.signals, trace.types, strict=True)) == {"mode": "String", "n": "UInt16", "z": "Float32"}
    assert trace.t.tolist() == [0, 1] and trace["z"].tolist() == [1.5, -2.5] and trace["n"].tolist() == [7, 8]
    assert trace["mode"].tolist() == ["on", "off"] and trace.units == (None, "mm", None)


def _elsewhere(file, h5py):
    file["x"] = h5py.ExternalLink("other.h5", "/x")


def _raw(file, h5py):
    file.create_dataset("x", (2,), "f8", external=[("secret.txt", 0, 16)])


def _group(file, h5py):
    file["x/y"] = [1.0, 2.0]


def _length(file, h5py):
    file["x"] = [1.0, 2.0, 3.0]


def _table(file, h5py):
    file["x"] = np.zeros(2, [("a", "f8"), ("b", "i4")])


def _huge(file, h5py):
    del file["time"]
    file.create_dataset("time", (2**40,), "f8", chunks=(1024,))


def _no_time(file, h5py):
    file.move("time", "t")


@hdf5
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (_elsewhere, "x is not a dataset"),
        (_raw, "the values of x are in other files"),
        (_group, "x is not a dataset"),
        (_length, r"x has the shape \(3,\), the time \(2,\)"),
        (_table, "x has values of type"),
        (_huge, f"time declares {2**40} values, more than are in the file"),
        (_no_time, "one dataset must be 'time', or with a unit .*; found t"),
    ],
)
def test_hdf5_that_is_no_trace_is_refused_with_what_was_found(tmp_path, content, reason):
    import h5py

    with h5py.File(tmp_path / "trace.h5", "w") as file:
        file["time"] = [0.0, 1.0]
        content(file, h5py)
    with pytest.raises(UnusableFile, match=rf"trace\.h5: {reason}"):
        read_trace(tmp_path / "trace.h5")


@hdf5
def test_a_heap_of_texts_that_has_no_end_is_refused(tmp_path):
    """HDF5 2.0 would go through it for ever."""
    path = tmp_path / "trace.h5"
    write(path, Trace.of([0.0, 1.0], [(Column("A.s", type="String"), ["one", "two"])]))
    content = bytearray(path.read_bytes())
    heap = content.index(b"GCOL")
    content[heap + 16 : heap + 32] = bytes(16)  # free space of no length
    path.write_bytes(content)
    with pytest.raises(UnusableFile, match=f"the heap at byte {heap} is damaged"):
        read_trace(path)


# -- CSV of other tools --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '"time","A.y","A.b"\n0.0,1.5,0.0\n1.0,2.5,1.0\n',  # FMPy
        "\ufefftime, A.y, A.b\n0, 1.5, 0\n1, 2.5, 1\n",
        "Time;A.y;A.b\r\n0;1.5;0\r\n1;2.5;1\r\n",
        "time [s]\tA.y\tA.b\n0\t1.5\t0\n1\t2.5\t1\n",
        "sep=|\r\ntime|A.y|A.b\r\n0|1.5|0\r\n1|2.5|1\r\n",
    ],
    ids=["quotes", "mark and blanks", "semicolons", "tabs", "stated separator"],
)
def test_csv_files_of_other_tools_are_read(tmp_path, text):
    (tmp_path / "r.csv").write_text(text, encoding="utf-8", newline="")
    trace = read_trace(tmp_path / "r.csv")
    assert trace.signals == ("A.y", "A.b")
    assert trace.t.tolist() == [0.0, 1.0]
    assert trace["A.y"].tolist() == [1.5, 2.5]
    assert trace.assumptions == ()


@pytest.mark.parametrize(
    "text",
    [
        "time;A.y;A.s\n0;1,5;a\n0,25;-2,5e-3;b,1\n",
        'sep=;\r\ntime;A.y;A.s\r\n0;1,5;a\r\n0,25;-2,5e-3;"b,1"\r\n',
        'time,A.y,A.s\n0,"1,5",a\n"0,25","-2,5e-3","b,1"\n',
        "time\tA.y\tA.s\n0\t1,5\ta\n0,25\t-2,5e-3\tb,1\n",
    ],
    ids=["semicolons", "stated separator", "commas and quotes", "tabs"],
)
def test_a_csv_file_with_decimal_commas_is_read_and_the_trace_says_so(tmp_path, text):
    """As spreadsheets write them where a comma begins the decimals."""
    (tmp_path / "r.csv").write_text(text, encoding="utf-8", newline="")
    trace = read_trace(tmp_path / "r.csv")
    assert trace.t.tolist() == [0.0, 0.25]
    assert trace["A.y"].tolist() == [1.5, -2.5e-3]
    assert trace["A.s"].tolist() == ["a", "b,1"]
    assert trace.assumptions == ("r.csv: a comma begins the decimals of numbers, as in '1,5'",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("time;x\n0;1,5\n1;2.5\n", ":2: x: expected a number, found '1,5'"),
        ("time;x\n0;1.234,5\n1;2,5\n", ":2: x: expected a number, found '1.234,5'"),
        ("sep=\ntime;x\n0;1\n", ":1: the first column must be 'time', or with a unit 'time .ms.'; found 'sep='"),
        ("sep=;\ntime;x\n0;one\n1;1\n", ":3: x: expected a number, found 'one'"),
    ],
)
def test_numbers_of_two_kinds_in_one_csv_file_are_refused(tmp_path, text, reason):
    (tmp_path / "trace.csv").write_text(text)
    with pytest.raises(UnusableFile, match=reason):
        read_trace(tmp_path / "trace.csv")


def test_units_in_the_header_of_a_csv_file_are_read(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("time,speed [km/h],C.y[2],free []\n0,1.5,2,3\n")
    found = [(column.signal, column.unit) for column in read_trace(path).columns]
    assert found == [("speed", "km/h"), ("C.y[2]", None), ("free", None)]


def test_a_signal_that_a_csv_file_has_in_two_units_is_refused(tmp_path):
    (tmp_path / "r.csv").write_text("time,speed [km/h],speed [m/s]\n0,3.6,1\n")
    with pytest.raises(UnusableFile, match="speed"):
        read_trace(tmp_path / "r.csv")


@pytest.mark.parametrize("layout", ["binTrans", "binNormal"])
def test_trajectories_share_values_also_negated_and_may_be_constant_as_modelica_tools_write_them(tmp_path, layout):
    names = ["time", "x", "the_same", "minus_x", "k"]
    described = ["Time in s", "position [m|mm]", "", "", "stiffness [N/m]"]
    places = np.array([[0, 2, 2, 2, 1], [1, 2, 2, -2, 2], [0] * 5, [-1] * 5])
    tables = {"dataInfo": places, "data_1": np.array([[0.0, 2.0], [7.5, 7.5]])}
    tables["data_2"] = np.array([[0.0, 1.0, 2.0], [0.5, 0.25, -1.0]])
    letters = {"name": names, "description": described}
    width = {key: max(map(len, texts)) for key, texts in letters.items()}
    texts = {key: np.array([list(text.ljust(width[key])) for text in letters[key]]) for key in letters}
    turned = (lambda table: table.T) if layout == "binTrans" else (lambda table: table)
    texts = {key: np.array(["".join(row) for row in turned(table)]) for key, table in texts.items()}
    numbers = {key: table if layout == "binTrans" else table.T for key, table in tables.items()}
    path = tmp_path / "dymola.mat"
    savemat(path, {"Aclass": np.array(["Atrajectory", "1.1", "", layout]), **texts, **numbers}, format="4")
    trace = read_trace(path)
    assert trace.signals == ("x", "the_same", "minus_x", "k") and trace.units == ("m", None, None, "N/m")
    assert trace.t.tolist() == [0, 1, 2] and trace.descriptions[0] == "position"
    assert trace["the_same"].tolist() == [0.5, 0.25, -1] and trace["minus_x"].tolist() == [-0.5, -0.25, 1]
    assert trace["k"].tolist() == [7.5] * 3


def test_a_trajectory_file_that_refers_to_rows_it_does_not_have_is_refused(tmp_path):
    path = tmp_path / "bad.mat"
    content = {
        "Aclass": np.array(["Atrajectory", "1.1", "", "binTrans"]), "name": np.array(["tx", "i ", "m ", "e "]),
        "description": np.array(["  "]), "dataInfo": np.array([[0, 2], [1, 9], [0, 0], [-1, -1]]),
        "data_2": np.array([[0.0, 1.0], [0.5, 0.25]]),
    }  # fmt: skip
    savemat(path, content, format="4")
    with pytest.raises(UnusableFile, match="x are in row 9 of data_2"):
        read_trace(path)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_signal_that_is_there_twice_is_refused(tmp_path, ending):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / f"r.{ending}"
    if ending == "csv":
        path.write_text("time,A.y,A.y\n0,1,2\n")
    else:
        pq.write_table(pa.table([[0.0], [1.0], [2.0]], names=["time", "A.y", "A.y"]), path)
    with pytest.raises(UnusableFile, match=r"several columns for A\.y"):
        read_trace(path)


BRACKETS = [
    (Column("speed", "km/h"), [1.0, 2.0]),
    (Column("speed [km/h]"), [3.0, 4.0]),
    (Column("level [m]", "mm"), [5.0, 6.0]),
    (Column("x[1]", "m"), [7.0, 8.0]),
    (Column("y [2,3]", "N"), [9.0, 10.0]),
    (Column("ratio"), [11.0, 12.0]),
]


def written_csv(path, columns):
    writer = open_writer(path, [column for column, _ in columns])
    times = [0.0, 1.0]
    writer.write(np.column_stack([times, *(values for _, values in columns)]))
    writer.close(json.dumps({"columns": [asdict(column) for column, _ in columns]}))


@pytest.mark.parametrize("beside", [True, False])
def test_names_and_units_of_a_csv_file_survive_also_without_the_file_beside_it(tmp_path, beside):
    path = tmp_path / "r.csv"
    written_csv(path, BRACKETS)
    if not beside:
        (tmp_path / "r.csv.json").unlink()
    found = read_trace(path)
    assert [(one.signal, one.unit) for one in found.columns] == [(one.signal, one.unit) for one, _ in BRACKETS]
    assert all(found[column.signal].tolist() == values for column, values in BRACKETS)


def test_csv_files_without_units_in_their_header_have_those_of_the_file_beside_them(tmp_path):
    """As earlier versions wrote them, also with names that look like one with a unit."""
    path = tmp_path / "r.csv"
    written_csv(path, BRACKETS)
    names = ",".join(["time", *(f'"{column.signal}"' for column, _ in BRACKETS)])
    path.write_text("\n".join([names, *path.read_text(encoding="utf-8").splitlines()[1:], ""]), encoding="utf-8")
    found = read_trace(path).columns
    assert [(one.signal, one.unit) for one in found] == [(one.signal, one.unit) for one, _ in BRACKETS]


def test_a_unit_that_somebody_wrote_into_the_header_wins_over_the_file_beside_it(tmp_path):
    path = tmp_path / "r.csv"
    written_csv(path, BRACKETS[:1])
    path.write_text(path.read_text(encoding="utf-8").replace("km/h", "m/s"), encoding="utf-8")
    assert read_trace(path).units == ("m/s",)


def test_pandas_and_fmpy_read_the_header(tmp_path):
    path = tmp_path / "r.csv"
    written_csv(path, [BRACKETS[0], BRACKETS[3]])
    pandas = pytest.importorskip("pandas")
    assert list(pandas.read_csv(path)) == ["time", "speed [km/h]", "x[1] [m]"]
    from fmpy.util import read_csv as read_by_fmpy

    assert read_by_fmpy(path)["speed [km/h]"].tolist() == [1.0, 2.0]


# -- MDF4 ----------------------------------------------------------------------------------------------------


def test_mdf4_is_what_asammdf_reads(tmp_path):
    """Also two rows of one time, as on both sides of an event; texts and bytes have records of their own."""
    asammdf = pytest.importorskip("asammdf")
    columns = [
        (Column("A.x", "m", description="Länge <1>"), [1.5, np.nan, -0.0, np.inf]),
        (Column("A.n", type="Int64"), [2**63 - 1, -5, 0, 1]),
        (Column("A.s", type="String"), ["a", "", "κλ", "b"]),
        (Column("A.on", type="Boolean"), [True, False, True, True]),
        (Column("A.b", type="Binary"), [b"abc", b"\0\1\2", b"xyz", b"\xff\0y"]),
        (Column("A.f", "V", type="Float32"), [0.1, 1.0, 2.0, 3.0]),
    ]
    trace = Trace.of([0.0, 1.0, 1.0, 2.0], columns)
    write(tmp_path / "run.mf4", trace, chunks=3)
    with asammdf.MDF(tmp_path / "run.mf4") as file:
        found = {signal.name: signal for signal in file.iter_channels()}
        assert (file.version, file.masters_db, file.groups[0].channels[0].name) == ("4.10", {0: 0}, "time")
    assert all(signal.timestamps.tolist() == [0.0, 1.0, 1.0, 2.0] for signal in found.values())
    for name in ("A.x", "A.n", "A.f"):
        assert found[name].samples.tobytes() == trace[name].tobytes()
    assert found["A.on"].samples.tolist() == [1, 0, 1, 1]
    assert [text.decode() for text in found["A.s"].samples] == ["a", "", "κλ", "b"]
    assert [bytes(one) for one in found["A.b"].samples] == [b"abc", b"\0\1\2", b"xyz", b"\xff\0y"]
    assert (found["A.x"].unit, found["A.f"].unit, found["A.n"].unit) == ("m", "V", "")
    assert "<TX>Länge &lt;1&gt;</TX>" in found["A.x"].comment


def measured(path, *groups, **options):
    """A file of another tool: asammdf with groups of (name, values, unit) at times."""
    asammdf = pytest.importorskip("asammdf")
    with asammdf.MDF() as file:
        for times, signals in groups:
            file.append(
                [
                    asammdf.Signal(np.array(values), times, unit, name, encoding="utf-8")
                    for name, values, unit in signals
                ]
            )
        file.save(path, **options)


@pytest.mark.parametrize("compression", [0, 2])
def test_mdf4_files_of_other_tools_are_read(tmp_path, compression):
    t = np.arange(5000) / 100
    first = (t, [("v", np.sin(t), "m/s"), ("n", np.arange(5000, dtype=np.int16), "")])
    second = (t, [("gear", np.array([b"P"] * 2500 + [b"D"] * 2500), "")])
    measured(tmp_path / "other.mf4", first, second, compression=compression)
    trace = read_trace(tmp_path / "other.mf4")
    assert (trace.signals, trace.units, trace.types) == (
        ("v", "n", "gear"),
        ("m/s", None, None),
        ("Float64", "Int16", "String"),
    )
    assert np.array_equal(trace.t, t) and np.array_equal(trace["v"], np.sin(t))
    assert (trace["gear"][2499], trace["gear"][2500], trace["n"][-1]) == ("P", "D", 4999)
    assert read_manifest(tmp_path / "other.mf4") == {}


def test_mdf4_files_whose_channels_have_several_times_are_refused_with_the_way_to_one(tmp_path):
    t = np.arange(5.0)
    measured(tmp_path / "other.mf4", (t, [("v", t, "")]), (t / 2, [("w", t, "")]))
    with pytest.raises(UnusableFile, match=r"other\.mf4: its channels have different times.*resample"):
        read_trace(tmp_path / "other.mf4")


def test_mdf4_files_of_other_tools_need_asammdf(tmp_path, monkeypatch):
    measured(tmp_path / "other.mf4", (np.arange(3.0), [("v", [1.0, 2.0, 3.0], "")]))
    monkeypatch.setitem(__import__("sys").modules, "asammdf", None)
    with pytest.raises(MissingPackage, match=r"other\.mf4 needs asammdf: pip install 'ssptool\[mdf4\]'"):
        read_trace(tmp_path / "other.mf4")
    path = tmp_path / "own.mf4"
    writer = open_writer(path, COLUMNS)
    writer.write(some_rows())
    writer.close(MANIFEST)
    assert np.array_equal(read_trace(path)["A.x"], some_rows()[:, 1])


def test_times_of_a_measurement_may_have_a_unit(tmp_path):
    """By the factor of the unit, with one rounding: 250 ms are 0.25 s, 3 us are 3e-6 s."""
    import pandas

    for header, times, seconds in (
        ("time [ms]", [0.0, 250.0, 1500.0], [0.0, 0.25, 1.5]),
        ("Time [us]", [0.0, 3.0], [0.0, 3e-6]),
        ("time[min]", [0.0, 1.5], [0.0, 90.0]),
        ("time [s]", [0.0, 0.1], [0.0, 0.1]),
    ):
        frame = pandas.DataFrame({header: times, "T [degC]": range(len(times))})
        frame.to_csv(tmp_path / "m.csv", index=False)
        frame.to_parquet(tmp_path / "m.parquet", index=False)
        for name in ("m.csv", "m.parquet"):
            assert read_trace(tmp_path / name).t.tolist() == seconds, name
    (tmp_path / "m.csv").write_text("time [kg],x\n0,1\n", encoding="utf-8")
    with pytest.raises(UnusableFile, match=r"time \[kg\]"):
        read_trace(tmp_path / "m.csv")


def _hdf5_of_another_tool(path, name, unit, times):
    import h5py

    with h5py.File(path, "w") as file:
        file[name] = times
        if unit:
            file[name].attrs["units"] = unit
        file["T [degC]"] = np.arange(len(times))


def _trajectory(path, name, unit, times):
    described = f"{name} [{unit}]" if unit else name
    content = {
        "Aclass": np.array(["Atrajectory", "1.1", "", "binNormal"]), "name": np.array(["Time", "T   "]),
        "description": np.array([described, "[degC]".ljust(len(described))]),
        "dataInfo": np.array([[0, 1, 0, -1], [2, 2, 0, -1]]), "data_1": np.zeros((2, 1)),
        "data_2": np.column_stack([times, np.arange(len(times))]),
    }  # fmt: skip
    savemat(path, content, format="4")


def _parquet_of_pandas(path, name, unit, times):
    """pandas writes the index behind the columns."""
    import pandas

    index = pandas.Index(times, name=f"{name} [{unit}]" if unit else name)
    pandas.DataFrame({"T [degC]": np.arange(float(len(times)))}, index=index).to_parquet(path)


FOREIGN = {"a.h5": _hdf5_of_another_tool, "a.mat": _trajectory, "a.parquet": _parquet_of_pandas}


@pytest.mark.parametrize("name", FOREIGN)
def test_all_formats_have_times_and_columns_with_units(tmp_path, name):
    for unit, times, seconds in (
        ("ms", [0.0, 250.0], [0, 0.25]),
        ("min", [0.0, 1.5], [0, 90]),
        ("", [0.0, 3.0], [0, 3]),
    ):
        FOREIGN[name](tmp_path / name, "time", unit, times)
        trace = read_trace(tmp_path / name)
        assert trace.t.tolist() == seconds and trace.signals == ("T",) and trace.units == ("degC",)
    FOREIGN[name](tmp_path / name, "time", "parsec", [0.0, 1.0])
    with pytest.raises(UnusableFile, match="parsec"):
        read_trace(tmp_path / name)


def test_a_parquet_file_has_differences_of_time_as_times(tmp_path):
    import pandas

    index = pandas.to_timedelta([0.0, 0.25], unit="s")
    pandas.DataFrame({"x": [1.0, 2.0]}, index=index.rename("time")).to_parquet(tmp_path / "a.parquet")
    assert read_trace(tmp_path / "a.parquet").t.tolist() == [0, 0.25]


@parquet
def test_rows_that_follow_have_the_unit_of_their_times(tmp_path):
    (tmp_path / "a.csv").write_text("time [ms],x\n0,1\n250,2\n", encoding="utf-8")
    _parquet_of_pandas(tmp_path / "a.parquet", "time", "ms", [0.0, 250.0])
    for name in ("a.csv", "a.parquet"):
        from ssptool.engine.recording.parquet import ParquetTail

        tail = CsvTail if name.endswith("csv") else ParquetTail
        assert list(tail(tmp_path / name).read().times) == [0, 0.25], name
