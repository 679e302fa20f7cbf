"""Courses of inputs in CSV files, and what may be wrong with them."""

import pytest
from pytest import approx

import ssptool
from ssptool.engine.stimuli.stimuli import Target
from ssptool.network.conversion import InvalidValue
from ssptool.network.network import Signal
from tests.engine.stimuli.pushed_mass import MASS

SETTINGS = ssptool.Settings(step_size=0.1)


@pytest.fixture
def drive(pushed2, tmp_path):
    """Simulate with a file of this content."""

    def simulate(text, **options):
        path = tmp_path / "push.csv"
        path.write_text(text, encoding="utf-8")
        inputs = ssptool.types.Inputs(path, **options)
        return ssptool.simulate(pushed2, inputs=inputs, settings=SETTINGS).unwrap()

    return simulate


def findings(drive, text, **options):
    with pytest.raises(ssptool.exceptions.BadData) as caught:
        drive(text, **options)
    return [(finding.line, finding.column, finding.message) for finding in caught.value.findings]


def test_rows_are_connected_by_lines_unless_they_are_to_be_held(drive):
    rows = "time,push\n0,0\n1,10\n"
    assert drive(rows)["Mass.v"][-1] == approx(5.0 / MASS)
    assert drive(rows, interpolation="hold")["Mass.v"][-1] == 0.0
    assert drive(rows, columns={"push": "hold"})["Mass.v"][-1] == 0.0


def test_a_unit_in_the_header_is_converted(drive):
    assert drive("time,push [kN]\n0,0.002\n")["push"] == approx(2.0)
    assert drive("time [s],push [N]\n0,2\n")["push"] == approx(2.0)


def test_a_byte_order_mark_blank_lines_and_quotes_do_no_harm(drive):
    assert drive('\ufeff"time","push"\r\n\r\n0,"2"\r\n')["push"] == approx(2.0)


def test_the_last_row_counts_with_and_without_a_line_end(drive):
    """The mean of the push is 5 N with the last row, and 0 N where it is not read."""
    rows = "time,push\n0,0\n1,10"
    assert drive(rows)["Mass.v"][-1] == drive(rows + "\n")["Mass.v"][-1] == approx(5.0 / MASS)


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_last_row_that_lacks_a_value_is_left_out_with_a_note_of_its_line(pushed2, tmp_path, end):
    path = tmp_path / "push.csv"
    path.write_text(f"time,push\n0,0\n1,10\n2{end}")
    result = ssptool.simulate(pushed2, inputs=path, settings=SETTINGS)
    assert result.unwrap()["Mass.v"][-1] == approx(5.0 / MASS)
    (note,) = [note for note in result.notes if "push.csv" in note]
    assert "push.csv:4: " in note


def test_what_a_run_has_written_can_be_read_back(pushed2, tmp_path):
    """Both sides of a jump included, and in the unit of the header, or else of the file beside it."""
    inputs = {"push": ssptool.types.Table((0.0, 0.35, 0.35, 1.0), (0.0, 1.0, 4.0, 2.0))}
    out = tmp_path / "push.csv"
    first = ssptool.simulate(pushed2, inputs=inputs, settings=SETTINGS, output=out, record="push").unwrap()
    again = ssptool.simulate(pushed2, inputs=out, settings=SETTINGS).unwrap()
    assert again.t.tolist() == first.t.tolist()
    assert again["push"] == approx(first["push"], abs=1e-15)
    text = out.read_text()
    out.write_text(text.replace("push [N]", "push [kN]"))
    thousandfold = ssptool.simulate(pushed2, inputs=out, settings=SETTINGS).unwrap()
    assert thousandfold["push"] == approx(1000 * first["push"])
    out.write_text(text.replace("push [N]", "push"))
    sidecar = out.with_name("push.csv.json")
    sidecar.write_text(sidecar.read_text().replace('"unit": "N"', '"unit": "kN"'))
    thousandfold = ssptool.simulate(pushed2, inputs=out, settings=SETTINGS).unwrap()
    assert thousandfold["push"] == approx(1000 * first["push"])


def test_everything_that_is_wrong_with_a_file_is_told_at_once_with_its_line(drive):
    found = findings(drive, "time,push,pull\n0,1,1\n0.5,x,1\n0.4,1,1\nnan,1,1\n1,1\n2,1e999,1\n")
    assert found == [
        (1, "pull", "the system has no input of this name; its free inputs are push"),
        (3, "push", "found 'x', expected a number"),
        (4, "time", "found time 0.4, less than 0.5 in the row before"),
        (5, "time", "found 'nan', expected a number of seconds"),
        (6, "", "3 values expected, found 2"),
        (7, "push", "found '1e999', expected a number that a double can hold, up to 1.8e308"),
    ]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("", (1, "", "the file is empty")),
        ("time,push\n", (1, "", "the file has no rows below the header")),
        ("time\n0\n", (1, "", "the file has no column besides time")),
        ("t,push\n0,1\n", (1, "", "the first column must be time [s], found 't'")),
        ("time;push\n0;1,5\n1;2.5\n", (2, "push", "found '1,5', expected a number")),
        ("time,push,push\n0,1,1\n", (1, "push", "several columns have this name")),
        ("time,push\n0,1\n1,\n", (3, "push", "a value is missing")),
        ("time,push [m]\n0,1\n", (1, "push", "a value in m cannot be converted to N")),
        ("time,push [furlong]\n0,1\n", (1, "push", "a value in furlong cannot be converted to N")),
        ("time,Mass.F\n0,1\n", (1, "Mass.F", "it is connected: push drives it")),
    ],
)
def test_a_file_that_cannot_be_used_says_why(drive, text, finding):
    assert findings(drive, text) == [finding]


def test_a_file_of_a_spreadsheet_with_decimal_commas_is_the_same_input(pushed2, tmp_path):
    """What drives the input says how it was read: in the summary, the plan and the manifest."""
    points, commas = tmp_path / "points.csv", tmp_path / "commas.csv"
    points.write_text("time,push [N]\n0,0.5\n0.5,1.25\n1,2\n")
    commas.write_text("sep=;\ntime;push [N]\n0;0,5\n0,5;1,25\n1;2\n")
    first, second = (ssptool.simulate(pushed2, inputs=one, settings=SETTINGS).unwrap() for one in (points, commas))
    assert second.cells.tobytes() == first.cells.tobytes()
    assert first["push"][0] == 0.5
    (source,) = ssptool.plan(pushed2, inputs=commas, settings=SETTINGS).stimuli.sources
    assert source.origin == f"{commas}, column push (linear, decimal commas)"


def test_a_file_that_is_no_text_is_refused(pushed2, tmp_path):
    path = tmp_path / "push.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ssptool.exceptions.BadData, match=r"push\.csv:1: not a CSV file in UTF-8"):
        ssptool.simulate(pushed2, inputs=path)


def test_a_file_that_is_not_there_is_told(pushed2, tmp_path):
    with pytest.raises(FileNotFoundError):
        ssptool.simulate(pushed2, inputs=tmp_path / "nothing.csv")


# -- values of other types -----------------------------------------------------------------------------------

GEARS = {"first": 1, "second": 2}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("Int64", str(2**62 + 1), 2**62 + 1),
        ("UInt8", "255.0", 255),
        ("Boolean", "true", True),
        ("Boolean", "0.0", False),
        ("String", " a b", " a b"),
        ("Enumeration", "second", 2),
        ("Enumeration", "1.0", 1),
        ("Float32", "0.5", 0.5),
    ],
)
def test_texts_become_values_of_the_type_of_the_input(kind, text, value):
    found = Target(Signal("", "u"), kind, None, GEARS).read(text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("Int8", "128"),
        ("Int32", "1.5"),
        ("Boolean", "2"),
        ("Enumeration", "third"),
        ("Float64", "1,5"),
        ("UInt8", "-1"),
    ],
)
def test_texts_that_are_no_values_of_the_type_are_refused(kind, text):
    with pytest.raises(InvalidValue):
        Target(Signal("", "u"), kind, None, GEARS).read(text)


def test_what_the_fmu_does_not_allow_is_refused():
    with pytest.raises(InvalidValue, match="a number from 0 to 5"):
        Target(Signal("", "u"), "Float64", None, minimum=0.0, maximum=5.0).read("6")
