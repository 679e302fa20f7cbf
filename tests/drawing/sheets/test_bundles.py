"""Many connections from one component to another are one line with their number, and none of them is lost."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

import ssptool
from ssptool.drawing.diagram.arrange import arranged, bundled
from ssptool.drawing.diagram.model import MOST_APART, StatedSheet
from ssptool.option_words import DrawnConnections
from tests.drawing.sheets.random_systems import sheet
from tests.drawing.sheets.test_lanes import check_wiring
from tests.drawing.sheets.test_sheets import SVG, connector, element, system
from tests.safety.command_line import typed


def texts(stated: StatedSheet) -> Counter[str]:
    return Counter(text for line in stated.lines for text in line.described)


@st.composite
def dense(draw) -> StatedSheet:
    """Few components with many connectors; each input takes one output of any."""
    names = [f"C{k}" for k in range(draw(st.integers(2, 4)))]
    faces = {
        name: [(f"y{k}", "output") for k in range(draw(st.integers(0, 14)))]
        + [(f"u{k}", "input") for k in range(draw(st.integers(0, 14)))]
        for name in names
    }
    outputs = [(name, pin) for name, face in faces.items() for pin, kind in face if kind == "output"]
    inputs = [(name, pin) for name, face in faces.items() for pin, kind in face if kind == "input"]
    chosen = st.sampled_from(outputs) if outputs else st.nothing()
    return sheet((), faces, [], [(draw(chosen), taker) for taker in inputs] if outputs else [])


@given(dense())
@settings(max_examples=30)
def test_no_connection_is_lost_and_what_is_drawn_keeps_its_wiring(stated):
    named = StatedSheet(
        **{name: getattr(stated, name) for name in ("path", "name", "canvas", "blocks", "notes", "pins")},
        lines=tuple(
            type(line)(line.start, line.end, None, (f"{line.start} – {line.end}",), line.spans) for line in stated.lines
        ),
    )
    made = bundled(named)
    assert texts(made) == texts(named)
    pairs = Counter((line.start[0], line.end[0]) for line in named.lines if line.start[0] != line.end[0])
    for (source, destination), number in pairs.items():
        bundle = ((source, f"{number} to {destination}"), (destination, f"{number} from {source}"))
        assert (bundle in {(line.start, line.end) for line in made.lines}) is (number > MOST_APART)
    pins = {(block.name, pin.name) for block in made.blocks for pin in block.pins}
    assert {end for line in made.lines for end in (line.start, line.end)} <= pins
    check_wiring(arranged({(): named}, connections=DrawnConnections.BUNDLED))


def pair(folder, number: int, places: str = ""):
    """Two components with so many connections, and a third one that takes the first of the signals."""
    sources = "".join(connector(f"y{k}", "output", places) for k in range(number))
    takers = "".join(connector(f"u{k}", "input") for k in range(number))
    lines = "".join(
        f'<ssd:Connection startElement="A" startConnector="y{k}" endElement="B" endConnector="u{k}"/>\n'
        for k in range(number)
    )
    lines += '<ssd:Connection startElement="C" startConnector="u" endElement="A" endConnector="y0"/>\n'
    parts = element("A", sources) + element("B", takers) + element("C", connector("u", "input"))
    return system(folder / "s", parts, lines)


def wires(svg: str) -> list[list[str]]:
    lines = etree.fromstring(svg).findall("svg:path[@class='wire']", SVG)
    return [str(line.findtext("svg:title", namespaces=SVG)).splitlines() for line in lines]


@pytest.mark.parametrize(("number", "arguments", "drawn"), [(8, {}, 9), (9, {}, 2), (9, {"connections": "all"}, 10)])
def test_more_than_eight_connections_are_one_line(tmp_path, number, arguments, drawn):
    picture = ssptool.draw(pair(tmp_path, number), **arguments).svg
    lines = wires(picture)
    assert len(lines) == drawn
    assert sorted(text for line in lines for text in line) == sorted(
        [*(f"A.y{k} – B.u{k}" for k in range(number)), "C.u – A.y0"]
    )
    labels = [text.text for text in etree.fromstring(picture).iterfind(".//svg:text[@class='label']", SVG)]
    assert ("9 to B" in labels) is ("9 from A" in labels) is (drawn == 2)
    assert "y0" in labels, "another component takes it"
    assert ("y1" in labels) is (drawn != 2)


def test_connectors_with_a_place_keep_their_lines(tmp_path):
    assert len(wires(ssptool.draw(pair(tmp_path, 9, 'x="1" y="0.5"')).svg)) > 2


def test_connections_to_an_element_whose_content_is_drawn_keep_their_lines():
    """They meet the connectors of the system inside."""
    faces = {"A": [(f"y{k}", "output") for k in range(9)], "B": [(f"u{k}", "input") for k in range(9)]}
    stated = sheet((), faces, [], [(("A", f"y{k}"), ("B", f"u{k}")) for k in range(9)])
    assert len(bundled(stated).lines) == 1
    assert bundled(stated, {"B"}) is stated


def test_the_command_line_draws_each_on_demand(tmp_path):
    path = pair(tmp_path, 9)
    counts = []
    for options in ([], ["--wires", "all"], ["--wires", "bundled"]):
        assert typed("draw", path, *options, "-o", tmp_path / "d.svg").code == 0
        counts.append(len(wires((tmp_path / "d.svg").read_text())))
    assert counts == [2, 10, 2]
    assert typed("draw", path, "--wires", "some").code == 2
    with pytest.raises(ValueError, match=r"wires: .*some.*bundled, all|bundled"):
        ssptool.draw(path, connections="some")
