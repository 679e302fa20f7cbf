"""Names at a position are found from the position alone, and are those of the whole system."""

from pathlib import Path

import pytest
from pygls.workspace import PositionCodec

from ssptool.documents.element import Element
from ssptool.language_server.names import Mention, definitions_of, mentions_at
from ssptool.language_server.snapshot import SystemSnapshot

ROOT = Path(__file__).parents[2]
SYSTEMS = sorted({file.parent for file in (ROOT / "systems").rglob("SystemStructure.ssd")})
RULES = sorted((ROOT / "tests" / "rules").rglob("pass-*.ssd"))


def essence(found: list[Mention]) -> list[tuple[object, ...]]:
    return [(one.named, one.document.name, one.element, one.attribute, one.defines, one.before) for one in found]


@pytest.mark.parametrize("system", [*SYSTEMS, *RULES], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_names_at_a_position_are_those_that_the_whole_system_has_there(system: Path):
    with SystemSnapshot(system, {}, PositionCodec()) as snapshot:
        known: dict[tuple[Element, str], list[Mention]] = {}
        for mentions in snapshot.names.of.values():
            for one in mentions:
                known.setdefault((one.element, one.attribute), []).append(one)
        for file in snapshot.package.files:
            for element in () if file.document is None else file.document.root.iter("*"):
                for attribute in ("", *element.attrib):
                    found = mentions_at(snapshot.package, element, attribute)
                    assert sorted(map(repr, essence(found))) == sorted(
                        map(repr, essence(known.get((element, attribute), [])))
                    )
        for named, mentions in snapshot.names.of.items():
            near = definitions_of(snapshot.package, named)
            if near is not None:
                assert essence(near) == essence([one for one in mentions if one.defines])
