"""A table of all parameters: what is written is read back as no change, and one changed cell as one change."""

import csv
import math
import shutil

import openpyxl
import pandas
import pytest

import ssptool
from ssptool.exceptions import BadData, MissingPackage, WrongArgument, WrongValue
from tests.editing.small_systems import snapshot, ssd
from tests.fmu.array_fmus import component as array_component
from tests.fmu.array_fmus import connector, pack, state_space, values, write_system
from tests.network.packages import bindings, component, content, mapped, model, package, ssm, ssv, system

pytestmark = pytest.mark.one_in(3)

TYPES = (
    '<SimpleType name="Gear"><Enumeration><Item name="first, low" value="1"/><Item name="se&quot;cond" value="2"/>'
    "</Enumeration></SimpleType>"
)
PLANT = model(
    'parameter k Real unit="mm" start="1.5" min="0" max="10"; parameter n Integer start="7" min="-5" max="40"; '
    'parameter on Boolean start="true"; parameter text String start="a"; '
    'parameter gear Enumeration declaredType="Gear" start="2"; parameter t Real unit="degC" start="20.25"; '
    'parameter big Real start="1e300"; parameter tiny Real start="1e-15"; output y Real unit="m"; '
    'input u Real unit="m" start="0.125"',
    types=TYPES,
)
TEXT = 'he said "no, 1,5"; a\nb  '
CHANGES = {
    "P.k": ("2.25", 2.25),
    "P.n": ("-5", -5),
    "P.on": ("false", False),
    "P.text": (TEXT, TEXT),
    "P.gear": ("first, low", 1),
    "P.t": ("21.5", 21.5),
    "P.tiny": ("2e-15", 2e-15),
    "Sub.P.u": ("0.5", 0.5),
    "q": ("9", 9.0),
}
ENDINGS = ["csv", "xlsx", "ssv"]


@pytest.fixture
def plant(tmp_path):
    """Values of the FMU, of a set in other units, through a mapping, and of a nested system."""
    folder = tmp_path / "plant"
    inner = system(
        "Sub", "parameter q Real m", [component("P", "Plant", bound=bindings(ssv("u Real value='0.25'")))], []
    )
    mapping = mapped(ssv("number Integer value='3'"), ssm("source='number' target='P.n'"))
    bound = bindings("source='resources/p.ssv'").removesuffix("</ssd:ParameterBindings>")
    bound += mapping.removeprefix("<ssd:ParameterBindings>")
    root = content("parameter q Real m", [component("P", "Plant"), inner], [], bound)
    values = ssv("P.k Real value='0.004' unit='m'", "P.t Real value='300' unit='K'", "q Real value='3'")
    package(folder, ssd(root), {"Plant": PLANT}, {"resources/p.ssv": values})
    return folder


@pytest.fixture
def arrays(tmp_path):
    folder = tmp_path / "arrays"
    (folder / "resources").mkdir(parents=True)
    pack(folder / "resources" / "S.fmu", state_space(2, 2, 2))
    connectors = [connector("u", "input", 2), connector("y", "output", 2)]
    parts = [array_component(name, "resources/S.fmu", connectors) for name in "AB"]
    return write_system(folder, parts, ["A.y -> B.u"], values("A.x0", [1, 2], 2))


def written(path, ending):
    table = path.parent / f"t.{ending}"
    ssptool.parameters(path, table)
    return table


def change(file, name, column, value):
    """One cell of a file with another content."""
    if file.suffix == ".xlsx":
        book = openpyxl.load_workbook(file)
        sheet = book.active
        columns = {cell.value: cell.column for cell in sheet[1]}
        row = next(row[0].row for row in sheet.iter_rows() if row[columns["name"] - 1].value == name)
        cell = sheet.cell(row, columns[column])
        cell.value = value
        if isinstance(value, str):
            cell.data_type = "s"
        book.save(file)
        return row
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    number = next(number for number, row in enumerate(rows) if row["name"] == name)
    rows[number][column] = value
    with file.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return number


def values_of(path):
    return {name: row.values for name, row in ssptool.parameters(path).items()}


def test_a_table_has_value_unit_origin_range_and_description_of_each_parameter(plant):
    table = ssptool.parameters(plant)
    assert (table["P.k"].value, table["P.k"].unit_name, table["P.k"].range) == (4.0, "mm", "0 … 10")
    assert table["P.t"].value == pytest.approx(26.85, abs=1e-12)
    assert (table["P.n"].value, table["P.n"].origin) == (3, "SystemStructure.ssd:4")
    assert (table["P.gear"].value, table["P.gear"].range) == ('se"cond', 'first, low, se"cond')
    assert table["P.text"].origin == "start value in the FMU"
    assert table["Sub.P.u"].value == 0.25
    assert "P.u" not in table and "P.y" not in table
    assert table["q"].type == "Float64"


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_was_written_is_no_change(plant, ending):
    before = snapshot(plant)
    table = written(plant, ending)
    with ssptool.edit(plant) as made:
        assert made.differences(table) == ()
        made.set(table)
        assert made.notes == ()
    assert snapshot(plant) == before


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
@pytest.mark.parametrize("name", CHANGES)
def test_one_changed_cell_is_one_changed_value(plant, ending, name):
    text, value = CHANGES[name]
    table = written(plant, ending)
    change(table, name, "value", text)
    before = values_of(plant)
    with ssptool.edit(plant) as made:
        assert [one.name for one in made.differences(table)] == [name]
        made.set(table)
        assert made.differences(table) == ()
    found = values_of(plant)
    assert found[name] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value,)
    assert {**found, name: None} == {**before, name: None}


def test_cells_of_a_workbook_have_the_types_of_their_values(plant):
    sheet = openpyxl.load_workbook(written(plant, "xlsx")).active
    cells = {row[0].value: row[3].value for row in sheet.iter_rows(min_row=2)}
    assert cells["P.k"] == 4 and isinstance(cells["P.n"], int) and cells["P.on"] is True
    for name, value in {"P.k": 2.25, "P.n": 5.0, "P.on": False}.items():
        change(plant.parent / "t.xlsx", name, "value", value)
    with ssptool.edit(plant) as made:
        made.set(plant.parent / "t.xlsx")
    found = values_of(plant)
    assert (found["P.k"], found["P.n"], found["P.on"]) == ((pytest.approx(2.25),), (5,), (False,))


def test_a_text_that_looks_like_a_formula_stays_a_text(plant):
    with ssptool.edit(plant) as made:
        made.set("P.text", "=1+1")
    table = written(plant, "xlsx")
    with ssptool.edit(plant) as made:
        assert made.differences(table) == ()


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_values_in_another_unit_are_converted(plant, ending):
    table = written(plant, ending)
    change(table, "P.k", "unit", "m")
    change(table, "P.k", "value", "0.0055")
    change(table, "P.t", "value", "310.15 K")
    with ssptool.edit(plant) as made:
        made.set(table)
    found = values_of(plant)
    assert found["P.k"] == (pytest.approx(5.5, rel=1e-12),)
    assert found["P.t"] == (pytest.approx(37, rel=1e-12),)


def test_the_same_value_in_another_unit_is_no_change(plant):
    table = written(plant, "csv")
    change(table, "P.k", "unit", "m")
    change(table, "P.k", "value", "0.004")
    change(table, "P.t", "unit", "K")
    change(table, "P.t", "value", "300")
    with ssptool.edit(plant) as made:
        assert made.differences(table) == ()


def test_the_table_of_one_system_is_a_parameter_set_of_another(plant, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(plant, other)
    with ssptool.edit(other) as made:
        made.set({"P.k": 7, "P.gear": "first, low", "P.text": TEXT, "P.n": 12})
    ssptool.parameters(other, tmp_path / "other.ssv")
    assert ssptool.flatten(plant, parameters=[tmp_path / "other.ssv"]).assignments
    with ssptool.edit(plant) as made:
        assert {one.name for one in made.differences(tmp_path / "other.ssv")} == {"P.k", "P.gear", "P.text", "P.n"}
        made.set(tmp_path / "other.ssv")
    assert values_of(plant) == values_of(other)


@pytest.mark.parametrize("ending", ENDINGS)
def test_arrays_have_one_row_each(arrays, ending):
    table = written(arrays, ending)
    found = ssptool.parameters(arrays)
    assert found["A.x0"].value == (1.0, 2.0) and found["B.A"].shape == (2, 2)
    with ssptool.edit(arrays) as made:
        assert made.differences(table) == ()
        if ending != "ssv":
            change(table, "B.A", "value", "1 2 3.5 4")
            made.set(table)
    if ending != "ssv":
        assert values_of(arrays) == {**{n: r.values for n, r in found.items()}, "B.A": (1.0, 2.0, 3.5, 4.0)}


WRONG = {
    ("P.kk", "name"): "P.k",
    ("twelve", "value"): "P.n",
    ("11", "value"): "P.k",
    ("2.5", "value"): "P.n",
    ("third", "value"): "P.gear",
    ("", "value"): "P.on",
    ("s", "unit"): "P.k",
    ("furlong", "unit"): "P.t",
    ("String", "type"): "P.k",
}
MESSAGES = {
    "P.kk": "did you mean P.k",
    "twelve": "P.n cannot be 'twelve': expected an integer",
    "11": "P.k cannot be 11: its FMU allows 0 to 10",
    "2.5": "P.n cannot be '2.5': expected an integer",
    "third": "expected one of first, low, se",
    "": "P.on has an empty cell, expected true or false",
    "s": "a value in s cannot be converted to mm",
    "furlong": "there is no unit 'furlong'",
    "String": "P.k is of type Float64, found String",
}


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
@pytest.mark.parametrize(("wrong", "name"), WRONG.items(), ids=lambda one: "-".join(one) if len(one) == 2 else "")
def test_what_is_wrong_is_refused_with_its_row_and_column(plant, ending, wrong, name):
    table = written(plant, ending)
    line = change(table, name, wrong[1], wrong[0] or None)
    before = snapshot(plant)
    with pytest.raises(BadData) as caught, ssptool.edit(plant) as made:
        made.set(table)
    (finding,) = caught.value.findings
    assert (finding.source, finding.column) == (str(table), wrong[1])
    assert ending == "csv" or finding.line == line
    assert MESSAGES[wrong[0]] in finding.message
    assert snapshot(plant) == before


def test_all_errors_of_a_table_are_listed(plant):
    table = written(plant, "csv")
    for name in ("P.k", "P.n", "P.on"):
        change(table, name, "value", "?")
    with pytest.raises(BadData) as caught, ssptool.edit(plant) as made:
        made.differences(table)
    assert [finding.line for finding in caught.value.findings] == sorted(one.line for one in caught.value.findings)
    assert len(caught.value.findings) == 3


@pytest.mark.parametrize("heading", ["name,units,value", "name", "value,unit", "name,value,value"])
def test_an_unknown_or_missing_column_is_refused(plant, tmp_path, heading):
    table = tmp_path / "t.csv"
    table.write_text(f"{heading}\n{','.join('1' for _ in heading.split(','))}\n")
    with pytest.raises(BadData, match=r"t\.csv:1"), ssptool.edit(plant) as made:
        made.set(table)


def test_a_name_has_one_row(plant, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("name,value\nP.k,1\nP.n,2\nP.k,3\n")
    with (
        pytest.raises(BadData, match=r"t\.csv:4: name: P\.k has a row before, .*t\.csv:2"),
        ssptool.edit(plant) as made,
    ):
        made.set(table)


def test_tables_of_spreadsheets_of_other_countries(plant, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("name;value;unit\nP.k;2,5;mm\nP.text;1,5;\n", encoding="utf-8-sig")
    with ssptool.edit(plant) as made:
        made.set(table)
    assert (values_of(plant)["P.k"], values_of(plant)["P.text"]) == ((2.5,), ("1,5",))


def test_a_frame_is_a_table(plant):
    frame = ssptool.parameters(plant).to_pandas()
    assert list(frame.columns) == ["type", "unit", "value", "origin", "range", "description"]
    with ssptool.edit(plant) as made:
        assert made.differences(frame) == ()
        frame.loc["P.k", "value"] = 3
        frame.loc["P.gear", "value"] = "first, low"
        assert [str(one).partition("  (")[0] for one in made.differences(frame)] == [
            "P.k: 4 mm → 3 mm",
            'P.gear: se"cond → first, low',
        ]
        made.set(frame)
    assert (values_of(plant)["P.k"], values_of(plant)["P.gear"]) == ((3.0,), (1,))


def test_a_frame_of_a_file_is_a_table(plant):
    frame = pandas.read_csv(written(plant, "csv"))
    with ssptool.edit(plant) as made:
        assert made.differences(frame) == ()
        frame.loc[frame["name"] == "P.t", "value"] = "22"
        assert [(one.name, one.after) for one in made.differences(frame)] == [("P.t", "22 degC")]


def test_a_frame_is_refused_by_its_row(plant):
    frame = pandas.DataFrame({"name": ["P.k", "P.n"], "value": [1.0, 2.5]})
    with pytest.raises(BadData, match=r"frame, row 1: value: P\.n cannot be '2\.5'"), ssptool.edit(plant) as made:
        made.set(frame)


def test_numbers_that_are_not_finite(tmp_path):
    fmu = model('parameter a Real start="1"; parameter b Real start="1"; output y Real')
    folder = tmp_path / "plant"
    package(folder, ssd(content("", [component("P", "Plant")], [])), {"Plant": fmu})
    with ssptool.edit(folder) as made:
        made.set({"P.a": math.inf, "P.b": math.nan})
    for ending in ENDINGS:
        with ssptool.edit(folder) as made:
            assert made.differences(written(folder, ending)) == ()
            assert made.differences(ssptool.parameters(folder).to_pandas()) == ()


def test_a_formula_without_result_is_refused(plant):
    table = written(plant, "xlsx")
    book = openpyxl.load_workbook(table)
    book.active["D2"] = "=1+1"
    book.save(table)
    with (
        pytest.raises(BadData, match=r"t\.xlsx:2: D: the formula '=1\+1' has no result"),
        ssptool.edit(plant) as made,
    ):
        made.set(table)


def test_what_a_workbook_cannot_store_is_refused(plant):
    with ssptool.edit(plant) as made:
        made.set("P.text", "x" * 40_000)
    with pytest.raises(WrongValue, match=r"40000 characters, and cells hold 32767"):
        ssptool.parameters(plant, plant.parent / "t.xlsx")
    assert not (plant.parent / "t.xlsx").exists()


def test_files_that_are_no_tables(plant, tmp_path):
    (tmp_path / "t.xlsx").write_text("no workbook")
    with ssptool.edit(plant) as made:
        with pytest.raises(WrongValue, match="is not a workbook"):
            made.set(tmp_path / "t.xlsx")
        with pytest.raises(WrongValue, match=r"of type \.csv, \.xlsx, \.ssv; found 't\.txt'"):
            made.set(tmp_path / "t.txt")
        with pytest.raises(WrongArgument, match="omitted for"):
            made.set(tmp_path / "t.csv", 5)
        with pytest.raises(WrongArgument, match="table must be the path"):
            made.differences("t.csv")


def test_without_openpyxl_the_extra_is_named(plant, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(MissingPackage, match=r"ssptool\[xlsx\]"):
        ssptool.parameters(plant, plant.parent / "t.xlsx")
