"""Small files cannot make work without end: each limit is named with the value that is beyond it."""

import json
import resource
import shutil
import struct
import subprocess
import sys
import zlib
from itertools import pairwise
from pathlib import Path

import pytest

import ssptool
from ssptool.documents.csv_columns import read_columns
from ssptool.foreign_text import MOST_LEVELS
from ssptool.network.tree import MOST_ELEMENTS
from ssptool.studies.expressions import DEEPEST, BadExpression, Expression
from tests.safety.command_line import typed

pytestmark = pytest.mark.one_in(3)

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("9**3999999 % 7**3999999", 3 * 3999999 + 1),
        ("9**9**9", 3 * 9**9 + 1),
        ("(2**1000) * (2**1000)", 1001 + 1001 - 1),
        ("1 << 5000", 5001),
        ("a * a", 801 + 801 - 1),
    ],
)
def test_integers_of_expressions_have_a_limit(text, bits):
    with pytest.raises(BadExpression, match=f"an integer would have {bits} bits or more, at most 1024"):
        Expression(text).evaluate({"a": 2**800})


@pytest.mark.parametrize(
    ("text", "value"), [("2**10 * 3", 3072), ("2**1000", 2**1000), ("2**-2", 0.25), ("(-2)**3", -8), ("2.5**3", 15.625)]
)
def test_ordinary_powers_and_products_have_their_value(text, value):
    assert Expression(text).evaluate({}) == value


def test_levels_of_expressions_have_a_limit():
    assert Expression("+".join(["1"] * DEEPEST)).evaluate({}) == DEEPEST
    with pytest.raises(BadExpression, match=f"2000 levels .* at most {DEEPEST}"):
        Expression("+".join(["1"] * 2000))


@pytest.fixture
def multiplying(tmp_path):
    """Thirty systems, each of which refers to the next twice: 2³⁰ places."""
    namespaces = "".join(
        f' xmlns:{prefix}="http://ssp-standard.org/SSP1/SystemStructure{name}"'
        for prefix, name in (("ssc", "Common"), ("ssd", "Description"))
    )
    systems = "".join(
        f'<ssd:System name="s{i}" id="s{i}"><ssd:Elements>'
        f'<ssd:Component name="a" type="application/x-ssp-definition" source="#s{i + 1}"/>'
        f'<ssd:Component name="b" type="application/x-ssp-definition" source="#s{i + 1}"/></ssd:Elements></ssd:System>'
        for i in range(30)
    )
    (tmp_path / "b.ssd").write_text(
        f'<ssd:SystemStructureDescription{namespaces} version="2.0" name="b"><ssd:System name="r"><ssd:Elements>'
        f"{systems}</ssd:Elements></ssd:System></ssd:SystemStructureDescription>"
    )
    return tmp_path / "b.ssd"


@pytest.mark.parametrize("command", [["info"], ["graph"], ["explain", "--all"], ["plan"]], ids=lambda line: line[0])
def test_systems_that_multiply_by_reference_end(multiplying, command):
    assert typed(*command[:1], multiplying, *command[1:]).code in (0, 1)


@pytest.fixture
def vast(tmp_path):
    """A connector with 10⁹ elements in its sixth line."""
    namespaces = "".join(
        f'\n xmlns:{prefix}="http://ssp-standard.org/SSP1/SystemStructure{name}"'
        for prefix, name in (("ssc", "Common"), ("ssd", "Description"))
    )
    (tmp_path / "vast.ssd").write_text(
        f'<ssd:SystemStructureDescription{namespaces} version="2.0" name="v">\n<ssd:System name="r"><ssd:Connectors>\n'
        '<ssd:Connector name="u" kind="input"><ssc:Float64/>\n<ssc:Dimension size="1000000000"/></ssd:Connector>\n'
        "</ssd:Connectors></ssd:System></ssd:SystemStructureDescription>"
    )
    return tmp_path / "vast.ssd"


@pytest.mark.parametrize("command", ["validate", "plan", "run"])
def test_a_connector_with_too_many_elements_is_named_with_its_place_and_the_limit(vast, command):
    done = typed(command, vast)
    assert done.code == 1
    said = done.out + done.err
    assert "DIM-101" in said and "vast.ssd:6" in said
    assert "'u' has 1000000000 elements (1000000000), the limit is 100000" in said


@pytest.mark.parametrize("command", [["explain", "--all"], ["diff"], ["graph"]], ids=lambda line: line[0])
def test_as_many_elements_as_are_allowed_need_less_than_a_gigabyte(vast, command):
    """Ten million were allowed, and took ten."""
    vast.write_text(vast.read_text().replace("1000000000", str(MOST_ELEMENTS)))
    line = [
        sys.executable,
        "-m",
        "ssptool",
        command[0],
        vast,
        *(command[1:] or ([vast] if command[0] == "diff" else [])),
    ]
    done = subprocess.run(line, capture_output=True, text=True, preexec_fn=limited_memory)
    assert done.returncode == 0, done.stderr


def limited_memory():
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))


def test_one_of_them_is_drawn_and_all_of_them_are_refused(multiplying, tmp_path):
    assert typed("draw", multiplying, "-o", tmp_path / "one.svg").code == 0
    for arguments in (["-o", tmp_path / "all.html"], ["--depth", "40", "-o", tmp_path / "all.svg"]):
        refused = typed("draw", multiplying, *arguments)
        assert refused.code == 2
        assert "systems would be drawn, at most 1000; draw one of them as .svg or .png: --level NAME" in refused.err
        assert not arguments[-1].exists()
    results = tmp_path / "r.csv"
    ssptool.simulate(SYSTEM, stop_time=0.01, step_size=0.01, output=results)
    manifest = results.with_name("r.csv.json")
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "system": "b"}))
    assert typed("report", multiplying, results, "-o", tmp_path / "report.html").code == 0
    assert "at most 1000 of " in (tmp_path / "report.html").read_text()


def test_a_header_of_many_columns_is_read_in_time_that_grows_with_their_number(tmp_path):
    """The names were counted one by one for each of them: a day for a million."""
    names = [f"a{number}" for number in range(1_000_000)]
    table = tmp_path / "u.csv"
    table.write_text(f"time,{','.join(names)},a7\n0{',1' * 1_000_001}\n")
    _, findings = read_columns(table)
    assert [finding.column for finding in findings] == ["a7"]


@pytest.mark.parametrize("command", ["plot", "compare", "report"])
def test_results_with_a_name_as_long_as_a_book_are_refused(tmp_path, command):
    """Pictures and pages of one of 50 MB had no end."""
    results = tmp_path / "r.csv"
    results.write_text(f"time,{'a' * 5_000}\n0,1\n1,2\n")
    arguments = {"plot": [results], "compare": [results, results], "report": [SYSTEM, results]}[command]
    done = typed(command, *arguments)
    assert done.code in (1, 2)
    assert "r.csv: the name of a signal has 5000 characters, at most 4000" in done.err


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def test_an_icon_that_declares_too_many_pixels_is_refused(tmp_path):
    """109 kB of it took 4.5 GB of memory as a picture."""
    shutil.copytree(SYSTEM, tmp_path / "system")
    size = struct.pack(">IIBBBBB", 30_000, 30_000, 1, 0, 0, 0, 0)
    (tmp_path / "system/resources/icon.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", size))
    structure = tmp_path / "system/SystemStructure.ssd"
    structure.write_text(
        structure.read_text().replace("<ssd:ElementGeometry ", '<ssd:ElementGeometry iconSource="resources/icon.png" ')
    )
    done = typed("draw", tmp_path / "system", "--output", tmp_path / "d.svg")
    assert done.code != 0
    assert "resources/icon.png has 30000 x 30000 pixels" in " ".join(done.err.split())
    assert not (tmp_path / "d.svg").exists()


def levels(brackets, inner, count):
    """So many lists or tables within each other."""
    return brackets[0] * count + inner + brackets[1] * count


@pytest.mark.parametrize("count", [MOST_LEVELS + 1, 5_000, 200_000])
@pytest.mark.parametrize(
    ("name", "head", "arguments"),
    [
        ("study.toml", "a = ", ["study"]),
        ("settings.toml", "[tool.ssptool]\nselect = ", ["validate", str(SYSTEM), "--settings"]),
        ("scenario.json", "", ["run", str(SYSTEM), "--scenario"]),
        ("trace.csv.json", "", ["reproduce"]),
    ],
)
def test_levels_of_data_have_a_limit_that_the_message_names(tmp_path, name, head, arguments, count):
    (tmp_path / name).write_text(head + levels("[]", "", count), encoding="utf-8")
    (tmp_path / "trace.csv").write_text("time,x\n0,1\n1,2\n", encoding="utf-8")
    file = tmp_path / (name.removesuffix(".json") if name.startswith("trace") else name)
    done = typed(*arguments, file)
    assert done.code in (1, 2)
    assert "nested deeper than the limit of 100 levels" in " ".join((done.out + done.err).split())


@pytest.mark.parametrize("key", ["description", "defaults", "events", "end", "events: [{time: 1, value: *m}] #"])
def test_aliases_of_a_scenario_are_not_multiplied(tmp_path, key):
    """Each list has the one before it nine times: 9¹³ texts."""
    names = "abcdefghijklm"
    lists = [f"{two}: &{two} [{','.join(['*' + one] * 9)}]" for one, two in pairwise(names)]
    text = "\n".join(["a: &a [x, x, x, x, x, x, x, x, x]", *lists, f"{key}: *m" if "#" not in key else key])
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    done = typed("run", str(SYSTEM), "--scenario", tmp_path / "s.yaml")
    assert done.code == 1
    assert "the scenario cannot be used" in (done.out + done.err)
    assert len(done.out + done.err) < 10_000


BEYOND = "<a>" * 100_000
ENTITIES = "".join(f'<!ENTITY e{k + 1} "{f"&e{k};" * 10}">' for k in range(9))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (BEYOND, "XML-001"),
        (f'<!DOCTYPE a [<!ENTITY e0 "x">{ENTITIES}]><a>&e9;</a>', "XML-011"),
        ('<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>', "XML-011"),
    ],
    ids=["depth", "entities", "external entity"],
)
@pytest.mark.parametrize("name", ["SystemStructure.ssd", "values.ssv"])
def test_depth_and_entities_of_xml_are_refused(tmp_path, text, code, name):
    (tmp_path / name).write_text(text, encoding="utf-8")
    done = typed("validate", tmp_path / name)
    assert done.code == 1
    assert code in (done.out + done.err) and "root:" not in (done.out + done.err)


def test_a_value_as_long_as_a_book_does_not_fill_the_terminal(tmp_path, monkeypatch):
    (tmp_path / "ssptool.toml").write_text(f'for = ["{"x" * 2_000_000}"]\n')
    monkeypatch.chdir(tmp_path)
    done = typed("validate", SYSTEM)
    assert done.code == 2
    assert "xxx … " in done.err and " characters … xxx" in done.err
    assert "omsimulator" in done.err
    assert len(done.err) < 10_000


def test_a_name_as_long_as_a_book_does_not_fill_the_report(tmp_path):
    sound = (SYSTEM / "SystemStructure.ssd").read_text()
    (tmp_path / "x.ssd").write_text(sound.replace('startElement="System1"', f'startElement="{"x" * 10**6}"'))
    done = typed("validate", tmp_path / "x.ssd")
    assert done.code == 1
    assert " characters … " in done.out
    assert len(done.out) < 100_000
