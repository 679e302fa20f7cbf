"""Components whose FMU is missing, remote or damaged are shown as far as the SSD states them."""

import json
import re

import pytest

import ssptool
from ssptool.engine.failure import Unsupported
from tests.editing.small_systems import SINK, SOURCE, fmu, model, refused
from tests.network.packages import bindings, component, content, package, ssd, ssv

MISSING = "the FMU of B is missing: there is no file 'resources/Gone.fmu'"
REMOTE = "proxyfmu://localhost?file=Gone.fmu"


@pytest.fixture
def system(tmp_path):
    """`A` and `Sub.C` have FMUs, `B` between them has none."""
    own = bindings(ssv("k Real value='2'"))
    parts = [
        component("A", "Source", "output y Real m"),
        component("B", "Gone", "input u Real m, output y Real, output w", own),
        component("C", "Sink", "input u Real m"),
    ]
    root = content("", parts, ["A.y -> B.u", "B.y -> C.u"], bindings(ssv("B.k Real value='1'", "A.kk Real value='1'")))
    package(tmp_path / "plant", ssd(root), {"Source": SOURCE, "Sink": SINK})
    return tmp_path / "plant"


def remote(path):
    file = path / "SystemStructure.ssd"
    file.write_text(file.read_text().replace("resources/Gone.fmu", REMOTE))
    return path


def test_the_inventory_lists_them(system):
    entry = next(one for one in ssptool.info(system).components if one.name == "B")
    assert (entry.source, entry.missing) == ("resources/Gone.fmu", "FMU missing: there is no file 'resources/Gone.fmu'")
    assert (entry.inputs, entry.outputs) == (1, 2)
    text = ssptool.renderers.INVENTORY_RENDERERS["text"](ssptool.info(system))
    assert "FMU missing: there is no file 'resources/Gone.fmu'" in text
    assert "2 connections lead to missing components" in text
    assert [one.name for one in ssptool.info(system, component="B").components] == ["B"]
    assert all(not one.missing for one in ssptool.info(system).components if one.name != "B")


def test_a_damaged_fmu_is_not_said_to_be_missing(system):
    (system / "resources" / "Gone.fmu").write_bytes(b"no zip")
    entry = next(one for one in ssptool.info(system).components if one.name == "B")
    assert entry.missing == "FMU not readable: resources/Gone.fmu (`ssptool validate` says why)"


def test_their_connectors_are_explained_from_the_ssd(system):
    (u,) = ssptool.explain(system, "B.u")
    assert (u.kind, u.type, u.unit, u.origin, u.missing) == ("input", "Float64", "m", "missing", MISSING)
    assert [str(one.signal) for one in u.unresolved] == ["A.y"]
    (w,) = ssptool.explain(system, "B.w")
    text = ssptool.renderers.EXPLANATION_RENDERERS["text"]([w])
    assert "output of B, of unstated type, SystemStructure.ssd:" in text
    assert f"only the SSD is known, because {MISSING}" in text


def test_the_other_ends_of_their_connections_say_what_is_missing(system):
    text = ssptool.renderers.EXPLANATION_RENDERERS["text"](ssptool.explain(system, "A.y", "C.u"))
    assert f", but {MISSING}" in text
    assert "because it is connected to a missing component" in text
    assert "because the input is not connected" not in text


def test_the_table_has_their_connectors_and_parameters(system):
    table = ssptool.renderers.EXPLANATION_RENDERERS["table"](ssptool.explain(system))
    lines = {line.split()[0]: line for line in table.splitlines()}
    assert MISSING in lines["B.u"]
    assert f"not used, because {MISSING}" in lines["B.k"]
    (given,) = ssptool.explain(system, "B.k")
    paragraph = ssptool.renderers.EXPLANATION_RENDERERS["text"]([given])
    assert paragraph.startswith(f"the value of B.k is not used, because {MISSING}\n  set at SystemStructure.ssd:")
    assert "no such variable" in lines["A.kk"], "a wrong name in an FMU that is there stays one"
    content = json.loads(ssptool.renderers.EXPLANATION_RENDERERS["json"](ssptool.explain(system)))
    assert MISSING in json.dumps(content)


def test_unknown_names_in_them_name_the_missing_file(system):
    with pytest.raises(ssptool.exceptions.UnknownName, match=r"'B\.b' is unknown, because the FMU of B is missing"):
        ssptool.explain(system, "B.b")
    with pytest.raises(ssptool.exceptions.UnknownName, match=r"the system has no variable 'A\.b'"):
        ssptool.explain(system, "A.b")
    for verb in ("set", "unset"):
        with refused(system, MISSING) as made:
            getattr(made, verb)("B.b", *[2][: verb == "set"])
    with refused(system, "there is no variable or connector 'A.b'") as made:
        made.set("A.b", 2)
    with pytest.raises(LookupError, match=r"there is no file 'resources/Gone\.fmu'"):
        ssptool.explain(system, start_values={"B.b": 2})


def test_no_order_is_promised_through_remote_components(system):
    graph = ssptool.graph(remote(system))
    text = ssptool.renderers.GRAPH_RENDERERS["text"](graph)
    assert "can be run one after the other" not in text
    assert "not known of those through missing components: B" in text
    assert "A.y – B.u   not followed" in text
    assert f"B  (FMU not read: '{REMOTE}' is not a file of the package)" in text
    content = json.loads(ssptool.renderers.GRAPH_RENDERERS["json"](graph))
    assert [one["name"] for one in content["missing"]] == ["B"]
    assert "style=dotted" in ssptool.renderers.GRAPH_RENDERERS["dot"](graph)


def test_nothing_is_said_where_nothing_is_missing(system):
    model_of_b = model('input u Real unit="m"; output y Real unit="m"; output w Real; parameter k Real start="1"')
    fmu(system / "resources", "Gone", model_of_b)
    network = ssptool.flatten(system)
    assert (network.missing, network.unresolved, len(network.wires)) == ({}, (), 2)
    assert "missing" not in ssptool.renderers.INVENTORY_RENDERERS["text"](ssptool.info(system))
    assert "can be run one after the other" in ssptool.renderers.GRAPH_RENDERERS["text"](ssptool.graph(system))


def test_the_advice_for_an_fmu_outside_the_package_is_to_copy_it_there_which_helps(system, tmp_path):
    remote(system)
    (found,) = (one for one in ssptool.validate(system).diagnostics if one.code == "URI-004")
    advice = "copy the FMU into the package with `ssptool replace SYSTEM B FILE.fmu`"
    assert found.advice == advice
    with pytest.raises(Unsupported, match=re.escape(advice)):
        ssptool.plan(system, stop_time=1)
    given = fmu(tmp_path, "Copy", model('input u Real unit="m"; output y Real unit="m"; output w Real'))
    with ssptool.edit(system) as made:
        made.replace("B", given)
        assert f"replaced the FMU of B: resources/Copy.fmu instead of {REMOTE}" in made.notes
    assert ssptool.validate(system).errors == ()
    assert len(ssptool.flatten(system).components) == 3
