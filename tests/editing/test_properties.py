"""Whatever is edited in whatever order: the system stays valid, and what is refused leaves no trace."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import ssptool
from ssptool.documents.archive import Archive
from ssptool.documents.schema import schema_findings
from ssptool.errors import WrongUsage
from tests.editing.small_systems import FMUS, fmu
from tests.editing.test_terminals import INERTIA, SPRING, flange

ELEMENTS = st.sampled_from(["System1", "System2", "Sub", "Sub.System1", "A.B", "inertia", "Sub.spring", ""])
NAMES = st.sampled_from(["System1", "System2", "Sub", "A.B", "inertia", "spring", "x"])
CONNECTORS = st.sampled_from(
    ["System1.F", "System1.x1", "System2.x1", "System2.F", "u", "Sub.u", "Sub.y", "Sub.System1.F", "A.B.a1", "y"]
)
FILES = st.sampled_from(["System1.fmu", "System2.fmu", "inertia.fmu", "spring.fmu"])
VALUES = st.sampled_from(["1", "2.5", "-1e-3"])
VARIABLES = st.sampled_from(["System1.m1", "System2.k2", "Sub.System1.c1", "A.B.x1_start", "Sub.u", "inertia.tau"])
KINDS = st.sampled_from(["input", "output", "parameter", "inout"])

STEPS = st.one_of(
    st.tuples(st.just("add"), FILES, NAMES, ELEMENTS),
    st.tuples(st.just("add_system"), NAMES, ELEMENTS),
    st.tuples(st.just("add_connector"), st.sampled_from(["u", "y"]), KINDS, ELEMENTS),
    st.tuples(st.just("remove"), st.one_of(ELEMENTS, CONNECTORS)),
    st.tuples(st.just("rename"), st.one_of(ELEMENTS, CONNECTORS), NAMES),
    st.tuples(st.just("duplicate"), ELEMENTS, st.one_of(st.none(), NAMES)),
    st.tuples(st.just("wrap"), ELEMENTS, NAMES),
    st.tuples(st.just("unwrap"), ELEMENTS),
    st.tuples(st.just("move"), ELEMENTS, ELEMENTS),
    st.tuples(st.just("connect"), ELEMENTS, ELEMENTS),
    st.tuples(st.just("connect"), CONNECTORS, CONNECTORS),
    st.tuples(st.just("disconnect"), ELEMENTS, ELEMENTS),
    st.tuples(st.just("set"), VARIABLES, VALUES),
    st.tuples(st.just("set"), st.just("System1.m1"), VALUES, st.none(), st.sampled_from(["a.ssv", "b.ssv"])),
    st.tuples(st.just("set"), VARIABLES, VALUES, st.none(), st.sampled_from(["a.ssv", "b.ssv"])),
    st.tuples(st.just("map"), VARIABLES, VARIABLES),
    st.tuples(st.just("replace"), ELEMENTS, FILES),
    st.tuples(st.just("unset"), VARIABLES),
    st.tuples(st.just("unbind"), st.sampled_from(["inline", "a.ssv"]), ELEMENTS),
    st.tuples(st.just("unmap"), VARIABLES, VARIABLES),
    st.tuples(st.just("add_dictionary"), st.sampled_from(["d", "e"]), ELEMENTS),
    st.tuples(st.just("add_signal"), st.sampled_from(["d", "e"]), st.sampled_from(["u", "y"]), ELEMENTS),
    st.tuples(st.just("add_reference"), NAMES, st.sampled_from(["d", "e"]), ELEMENTS),
    st.tuples(st.just("remove_dictionary"), st.sampled_from(["d", "e"]), ELEMENTS),
)


def prepared(folder: Path, version: str) -> Path:
    """A system with the dual-mass oscillator, `Sub` with a component, and four FMUs in its resources."""
    fmu(folder, "inertia", INERTIA, flange("flange_b"))
    fmu(folder, "spring", SPRING, flange("flange_a"))
    with ssptool.new(folder / "made", ssp=version) as made:
        made.add(FMUS / "System1.fmu", FMUS / "System2.fmu").connect("System1", "System2")
        made.add_system("Sub").add(FMUS / "System1.fmu", into="Sub")
        made.add(folder / "inertia.fmu", folder / "spring.fmu").add("System1.fmu", name="A.B")
        made.set("System1.m1", 2).set("Sub.System1.c1", 3, into="a.ssv")
    return folder / "made"


def apply(made: ssptool.types.Editor, step: tuple[object, ...]) -> None:
    verb, *arguments = step
    if verb == "add":
        made.add(arguments[0], name=arguments[1], into=arguments[2])
    elif verb == "wrap":
        made.wrap(arguments[0], name=arguments[1])
    elif verb == "move":
        made.move(arguments[0], into=arguments[1])
    else:
        getattr(made, str(verb))(*arguments)


@settings(max_examples=30)
@given(st.lists(STEPS, min_size=1, max_size=8), st.sampled_from(["1.0", "2.0"]))
def test_edits_in_any_order_keep_a_system_valid(steps, version):
    """Every step that is not refused is followed by a check; a refused one by a comparison of the documents."""
    folder = Path(tempfile.mkdtemp())
    try:
        path = prepared(folder, version)
        for step in steps:
            before = {each.name: each.read_bytes() for each in path.rglob("*") if each.is_file()}
            try:
                with ssptool.edit(path) as made:
                    apply(made, step)
            except (WrongUsage, ssptool.exceptions.BrokenEdit):
                after = {each.name: each.read_bytes() for each in path.rglob("*") if each.is_file()}
                assert after == before
                continue
            assert [str(each) for each in ssptool.validate(path).errors] == [], step
            with Archive.open(path) as archive:
                document = archive.structure()
                assert list(schema_findings(document.root, document.version)) == []
    finally:
        shutil.rmtree(folder)


@settings(max_examples=30)
@given(st.lists(STEPS, min_size=1, max_size=8))
def test_a_verb_that_is_refused_has_changed_nothing_in_memory(steps):
    folder = Path(tempfile.mkdtemp())
    try:
        with ssptool.edit(prepared(folder, "2.0"), save=False, force=True) as made:
            for step in steps:
                before = made.diff()
                try:
                    apply(made, step)
                except WrongUsage:
                    assert made.diff() == before, step
    finally:
        shutil.rmtree(folder)
