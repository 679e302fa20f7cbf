"""Names lead into nested structures and packages: the document inside is edited, and nothing else."""

import zipfile
from pathlib import Path

import pytest

import ssptool
from ssptool.documents.archive import Archive
from ssptool.editing.changes import EditError
from ssptool.editing.names import SharedStructure
from ssptool.errors import UnknownName
from tests.editing.small_systems import DUAL_MASS, errors, fmu, refused, snapshot
from tests.network.packages import bindings, component, content, model, package, packed, ssd, ssm, ssv

M = model('parameter k Real start="1" unit="m"; input u Real start="0" unit="m"; output y Real unit="m"')
FMU = packed({"modelDescription.xml": M})
INTERFACE = "input u Real m, output y Real m"
BOUND = bindings(ssv("k Real value='5' unit='m'"))


def part(fmu: str = "resources/m.fmu", bound: str = BOUND) -> str:
    """A system with one component `A`, whose parameter `k` has the value 5 m."""
    inside = component("A", "m", INTERFACE, bound)
    return ssd(content(INTERFACE, [inside], ["u -> A.u", "A.y -> y"])).replace("resources/m.fmu", fmu)


def host(name: str, source: str, bound: str = "") -> str:
    kind = "definition" if source.endswith(".ssd") else "package"
    connectors = content(INTERFACE, [], []).partition("<ssd:Elements>")[0]
    stated = f'name="{name}" type="application/x-ssp-{kind}" source="{source}"'
    return f"<ssd:Component {stated}>{connectors}{bound}</ssd:Component>"


FORMS = ["ssd", "ssp", "deep"]
INSIDE = {
    "ssd": "resources/l.ssd",
    "ssp": "resources/p.ssp!SystemStructure.ssd",
    "folder": "resources/f/SystemStructure.ssd",
    "deep": "resources/d.ssp!resources/p.ssp!SystemStructure.ssd",
}


def make(folder: Path, form: str, names: tuple[str, ...] = ("P",), bound: str = "", own: str = "") -> Path:
    """The component `F` and, made of the same part, those of `names`, with the binding `bound`; `own` is the root's."""
    text = part("m.fmu" if form == "ssd" else "resources/m.fmu")
    inner = packed({"SystemStructure.ssd": text, "resources/m.fmu": FMU})
    # One more level: its `P` is the package.
    around = ssd(content(INTERFACE, [host("P", "resources/p.ssp")], ["u -> P.u", "P.y -> y"]))
    files: dict[str, str | bytes] = {
        "ssd": {"resources/l.ssd": text},
        "ssp": {"resources/p.ssp": inner},
        "folder": {"resources/f/SystemStructure.ssd": text, "resources/f/resources/m.fmu": FMU},
        "deep": {"resources/d.ssp": packed({"SystemStructure.ssd": around, "resources/p.ssp": inner})},
    }[form]
    source = {"ssd": "resources/l.ssd", "ssp": "resources/p.ssp", "folder": "resources/f", "deep": "resources/d.ssp"}[
        form
    ]
    hosts = [host(name, source, bound) for name in names]
    wires = [f"F.y -> {name}.u" for name in names]
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    package(folder, ssd(content("", [component("F", "m", INTERFACE), *hosts], wires, own)), {"m": M}, files)
    return folder


@pytest.fixture(params=FORMS)
def form(request) -> str:
    return request.param


@pytest.fixture
def system(tmp_path, form) -> tuple[Path, str, str]:
    """A system, the name of the nested system that is edited, and the document in which that stands."""
    return make(tmp_path / "s", form), "P.P" if form == "deep" else "P", INSIDE[form]


def text_of(path: Path, document: str) -> str:
    with Archive.open(path) as archive:
        return archive.read(document).decode()


def changed(path: Path, before: dict[str, bytes]) -> list[str]:
    now = snapshot(path)
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def value_of(path: Path, name: str) -> object:
    return {str(signal): each.value for signal, each in ssptool.flatten(path).assignments.items()}.get(name)


def test_the_value_in_force_is_edited_where_it_stands(system):
    path, name, document = system
    before, text = snapshot(path), text_of(path, document)
    with ssptool.edit(path) as made:
        made.set(f"{name}.A.k", 7)
    assert changed(path, before) == [document.partition("!")[0]]
    assert text_of(path, document) == text.replace("value='5'", "value='7'")
    assert value_of(path, f"{name}.A.k") == 7.0


def test_the_file_is_named_as_the_outermost_archive_has_it(system):
    path, name, document = system
    with ssptool.edit(path, save=False) as made:
        made.set(f"{name}.A.k", 7)
        assert document in made.notes[0] or "the inline set" in made.notes[0]


def test_unset_leaves_the_start_value(system):
    path, name, _ = system
    with ssptool.edit(path) as made:
        made.unset(f"{name}.A.k")
    assert value_of(path, f"{name}.A.k") is None
    assert errors(path) == []


def test_the_other_entries_of_a_package_keep_their_bytes_and_order(tmp_path):
    path = make(tmp_path / "s", "deep")
    with zipfile.ZipFile(path / "resources" / "d.ssp") as before:
        names, structure = before.namelist(), before.read("SystemStructure.ssd")
    with ssptool.edit(path) as made:
        made.rename("P.P.A", "B")
    with zipfile.ZipFile(path / "resources" / "d.ssp") as after:
        assert (after.namelist(), after.read("SystemStructure.ssd")) == (names, structure)


def test_elements_are_renamed_with_their_connections(system):
    path, name, document = system
    text = text_of(path, document)
    with ssptool.edit(path) as made:
        made.rename(f"{name}.A", "B")
        assert made.notes == (f"in {document}: renamed A to B",)
    wanted = text.replace('name="A"', 'name="B"').replace('Element="A"', 'Element="B"')
    assert text_of(path, document) == wanted
    assert errors(path) == []


def test_parameters_of_the_structures_around_follow_a_renamed_element(tmp_path, form):
    name = "P.P" if form == "deep" else "P"
    own = bindings(ssv(f"{name}.A.k Real value='3' unit='m'"))
    path = make(tmp_path / "s", form, own=own)
    with ssptool.edit(path) as made:
        made.rename(f"{name}.A", "B")
        assert made.notes[-1] == "one parameter name follows"
    assert value_of(path, f"{name}.B.k") == 3.0


def test_the_binding_of_the_component_follows_too(tmp_path):
    path = make(tmp_path / "s", "ssp", bound=bindings(ssv("A.k Real value='3' unit='m'")))
    with ssptool.edit(path) as made:
        made.rename("P.A", "B")
    assert value_of(path, "P.B.k") == 3.0


def test_a_connector_is_renamed_inside_and_outside(tmp_path):
    path = make(tmp_path / "s", "ssp")
    with ssptool.edit(path) as made:
        made.rename("P.u", "v")
    assert errors(path) == []
    assert [str(wire.destination) for wire in ssptool.flatten(path).wires] == ["P.A.u"]
    assert 'startConnector="v"' in text_of(path, INSIDE["ssp"])


def test_disconnect_and_connect_inside_give_the_bytes_of_the_document_back(system):
    path, name, document = system
    text = text_of(path, document)
    with ssptool.edit(path) as made:
        made.disconnect(f"{name}.A.y", f"{name}.y")
    assert "A.y" not in text_of(path, document) and text_of(path, document) != text
    with ssptool.edit(path) as made:
        made.connect(f"{name}.A.y", f"{name}.y")
    assert text_of(path, document).replace('"/>', '" ></ssd:Connection>', 0).count("<ssd:Connection ") == 2
    assert errors(path) == []


def test_an_fmu_goes_into_the_package_in_which_its_component_stands(system, tmp_path):
    path, name, document = system
    new = fmu(tmp_path, "New", M)
    before = snapshot(path)
    with ssptool.edit(path) as made:
        made.add(new, into=name).connect(f"{name}.A.y", f"{name}.New.u")
    assert errors(path) == []
    folder = document.removesuffix("SystemStructure.ssd") if document != INSIDE["ssd"] else ""
    with Archive.open(path) as archive:
        assert archive.read(f"{folder}resources/New.fmu") == new.read_bytes()
    if "!" in document:
        assert changed(path, before) == [document.partition("!")[0]]


@pytest.mark.parametrize("form", ["ssd", "ssp"])
def test_a_new_connector_is_one_of_the_component_as_well(tmp_path, form):
    path = make(tmp_path / "s", form)
    with ssptool.edit(path) as made:
        made.add_connector("w", "output", of="P", unit="mm").connect("P.A.y", "P.w")
        made.add_system("S").add_connector("w", "input", of="S", unit="m").connect("P.w", "S.w")
    assert errors(path) == []


def test_removing_a_connector_removes_it_on_both_sides(tmp_path):
    path = make(tmp_path / "s", "ssp")
    with ssptool.edit(path) as made:
        made.remove("P.y")
    assert 'name="y" kind="output"' not in text_of(path, INSIDE["ssp"]).partition("<ssd:Elements>")[0]
    assert errors(path) == []


def test_another_fmu_is_judged_by_what_all_structures_around_say_of_it(tmp_path):
    path = make(tmp_path / "s", "ssp", own=bindings(ssv("P.A.k Real value='3'")))
    poor = fmu(tmp_path, "Poor", model('input u Real start="0" unit="m"; output y Real unit="m"'))
    with refused(path, "P.A.k: no such variable", EditError) as made:
        made.replace("P.A", poor)
    with ssptool.edit(path) as made:
        made.unset("P.A.k").unset("P.A.k").replace("P.A", poor)
    assert errors(path) == []


def test_sets_are_bound_mapped_and_taken_away_inside(tmp_path):
    path = make(tmp_path / "s", "ssp")
    before = text_of(path, INSIDE["ssp"])
    (tmp_path / "v.ssv").write_text(ssv("stiffness Real value='9' unit='m'"))
    with ssptool.edit(path) as made:
        made.bind(tmp_path / "v.ssv", to="P.A").map("stiffness", "k", to="P.A", of="v.ssv")
    assert value_of(path, "P.A.k") == 9.0
    with ssptool.edit(path) as made:
        made.unbind("v.ssv", to="P.A", with_resource=True)
    assert text_of(path, INSIDE["ssp"]) == before


# --- Documents of which several components are made ---


@pytest.fixture
def twice(tmp_path, form) -> Path:
    return make(tmp_path / "s", form, ("P", "Q"))


def first(form: str) -> str:
    return "P.P.A" if form == "deep" else "P.A"


def test_an_edit_of_one_of_them_is_refused_with_what_to_do(twice, form):
    with refused(
        twice, "use --shared all to edit it for all of them, or --shared copy to give", SharedStructure
    ) as made:
        made.rename(first(form), "B")
    with refused(twice, "is the structure of P, Q", SharedStructure) as made:
        made.remove(first(form))


def test_a_value_of_one_of_them_is_given_from_outside(twice, form):
    """Outer bindings win, so that the shared document can stay as it is."""
    name, other = first(form), first(form).replace("P", "Q", 1)
    before = snapshot(twice)
    with ssptool.edit(twice) as made:
        made.set(f"{name}.k", 7)
    assert (value_of(twice, f"{name}.k"), value_of(twice, f"{other}.k")) == (7.0, 5.0)
    assert changed(twice, before) == ["SystemStructure.ssd"]


def test_all_of_them_are_edited_if_that_is_meant(twice, form):
    name, other = first(form), first(form).replace("P", "Q", 1)
    with ssptool.edit(twice, shared="all") as made:
        made.set(f"{name}.k", 7)
    assert (value_of(twice, f"{name}.k"), value_of(twice, f"{other}.k")) == (7.0, 7.0)
    with ssptool.edit(twice, shared="all") as made:
        made.rename(name, "B")
    assert value_of(twice, f"{other[:-1]}B.k") == 7.0
    assert errors(twice) == []


def test_one_gets_a_copy_of_its_own_if_that_is_meant(twice, form):
    name, other = first(form), first(form).replace("P", "Q", 1)
    with ssptool.edit(twice, shared="copy") as made:
        made.rename(name, "B")
        assert made.notes[0].startswith("P has a copy of its own now, resources/")
    assert (value_of(twice, f"{name[:-1]}B.k"), value_of(twice, f"{other}.k")) == (5.0, 5.0)
    assert errors(twice) == []
    with ssptool.edit(twice) as made:
        made.rename(f"{name[:-1]}B", "C")
    assert errors(twice) == []


def test_an_unpacked_package_is_edited_in_its_folder(tmp_path):
    """`force`, because the rules want a file where the source of a component leads."""
    path, new = make(tmp_path / "s", "folder"), fmu(tmp_path, "New", M)
    before, text = snapshot(path), text_of(path, INSIDE["folder"])
    with ssptool.edit(path, force=True) as made:
        made.rename("P.A", "B").add(new, into="P")
    assert changed(path, before) == [INSIDE["folder"], "resources/f/resources/New.fmu"]
    assert text_of(path, INSIDE["folder"]) != text and 'source="resources/New.fmu"' in text_of(path, INSIDE["folder"])
    twice = make(tmp_path / "t", "folder", ("P", "Q"))
    with refused(twice, "unpacked package, which ssptool does not copy: pack it first", shared="copy") as made:
        made.rename("P.A", "B")


def test_parameters_of_all_users_follow_if_all_are_meant(tmp_path):
    own = bindings(ssv("P.A.k Real value='3' unit='m'", "Q.A.k Real value='4' unit='m'"))
    path = make(tmp_path / "s", "ssp", ("P", "Q"), own=own)
    with ssptool.edit(path, shared="all") as made:
        made.rename("P.A", "B")
        assert made.notes[-1] == "2 parameter names follow"
    assert (value_of(path, "P.B.k"), value_of(path, "Q.B.k")) == (3.0, 4.0)


@pytest.mark.parametrize("mapping", ["resources/m.ssm", "resources/other.ssm"])
def test_parameters_of_other_variants_follow_too_if_all_are_meant(tmp_path, mapping):
    """Whether they share the mapping or have one of their own; no variant loses a value."""
    bound = (
        "<ssd:ParameterBindings><ssd:ParameterBinding source='resources/v.ssv'>"
        "<ssd:ParameterMapping source='{}'/></ssd:ParameterBinding></ssd:ParameterBindings>"
    )
    path = make(tmp_path / "s", "ssp", own=bound.format("resources/m.ssm"))
    (path / "resources/v.ssv").write_text(ssv("stiffness Real value='3' unit='m'"))
    for name in {"resources/m.ssm", mapping}:
        (path / name).write_text(ssm("source='stiffness' target='P.A.k'"))
    ssptool.variants.add_variant(path, "other")
    other = path / "other.ssd"
    other.write_text(other.read_text().replace("resources/m.ssm", mapping))
    before = snapshot(path)
    with ssptool.edit(path, shared="all") as made:
        made.rename("P.A", "B")
        assert made.notes[-1] == "2 parameter names follow"
    for variant in (None, "other"):
        assignments = ssptool.flatten(path, variant=variant).assignments
        assert {str(signal): each.value for signal, each in assignments.items()}["P.B.k"] == 3.0
    with ssptool.edit(path, shared="all") as made:
        made.rename("P.B", "A")
    assert {name: text for name, text in snapshot(path).items() if not name.endswith(".ssp")} == {
        name: text for name, text in before.items() if not name.endswith(".ssp")
    }


def test_unset_of_a_shared_value_is_refused_because_it_would_be_one_of_all(twice, form):
    with refused(twice, "changes all of them", SharedStructure) as made:
        made.unset(f"{first(form)}.k")
    with ssptool.edit(twice, shared="all") as made:
        made.unset(f"{first(form)}.k")
    assert ssptool.flatten(twice).assignments == {}


def test_another_variant_that_uses_the_document_counts_as_well(tmp_path):
    path = make(tmp_path / "s", "ssp")
    ssptool.variants.add_variant(path, "other")
    with refused(path, "P of other.ssd", SharedStructure) as made:
        made.rename("P.A", "B")


def test_the_two_masses_at_one_wall_are_told_apart(tmp_path):
    path = Path(ssptool.pack(DUAL_MASS.with_name("mass_spring_damper"), tmp_path / "masses.ssp").path)
    with (
        pytest.raises(SharedStructure, match=r"resources/MassSpringDamper\.ssd is the structure of first, second"),
        ssptool.edit(path) as made,
    ):
        made.disconnect("first.mass", "first.spring_damper")
    with ssptool.edit(path, shared="copy") as made:
        made.disconnect("first.mass", "first.spring_damper")
    inside = [str(wire.destination) for wire in ssptool.flatten(path).wires if ".spring_damper" in str(wire.source)]
    assert inside == ["second.mass.f"]
    assert errors(path) == []


# --- Names that lead nowhere, or to two places ---


@pytest.mark.parametrize(
    ("edit", "hint"),
    [
        (lambda made: made.connect("F.y", "P.A.u"), "F.y is not inside P"),
        (lambda made: made.connect("P.A.y", "Q.A.u"), "Q.A.u is not inside P"),
        (lambda made: made.rename("P.AA", "B"), "there is no element or connector 'AA'; did you mean A?"),
        (lambda made: made.remove("P.A.zz"), "A has no connector 'zz'"),
        (lambda made: made.add_system("S", into="F"), "'F' is a component, not a system"),
        (lambda made: made.add_system("A", into="P"), "already an element 'A'"),
        (lambda made: made.set("P.A.kk", 1), "did you mean P.A.k"),
        (lambda made: made.bind("nowhere.ssv", to="P.A"), "neither as a file nor in resources/p.ssp"),
    ],
)
def test_names_that_cannot_be_reached_are_explained(tmp_path, edit, hint):
    path = make(tmp_path / "s", "ssp", ("P",))
    text = (
        (path / "SystemStructure.ssd")
        .read_text()
        .replace("</ssd:Elements>", host("Q", "resources/q.ssp") + "</ssd:Elements>")
    )
    (path / "SystemStructure.ssd").write_text(text)
    (path / "resources" / "q.ssp").write_bytes((path / "resources" / "p.ssp").read_bytes())
    with refused(path, hint, Exception) as made:
        edit(made)


def test_a_damaged_package_is_named(tmp_path):
    path = make(tmp_path / "s", "ssp")
    (path / "resources" / "p.ssp").write_bytes(b"no zip")
    with refused(path, "what P is made of cannot be read") as made:
        made.rename("P.A", "B")
    (path / "resources" / "p.ssp").unlink()
    with refused(path, "P is made of 'resources/p.ssp', which is not in s") as made:
        made.rename("P.A", "B")


def test_a_system_of_the_same_document_is_named_where_it_stands(tmp_path):
    root = content(
        "",
        [
            f'<ssd:System name="S" id="s">{content("", [component("A", "m", INTERFACE)], [])}</ssd:System>',
            '<ssd:Component name="R" type="application/x-ssp-definition" source="#s"/>',
        ],
        [],
    )
    package(tmp_path / "s", ssd(root).replace("<ssd:Connections>\n</ssd:Connections>", ""), {"m": M})
    with refused(tmp_path / "s", "R refers to the system S: use this name instead") as made:
        made.rename("R.A", "B")


def test_an_edit_that_breaks_the_inside_is_not_saved(tmp_path):
    path = make(tmp_path / "s", "ssp")
    before = snapshot(path)
    text = fmu(tmp_path, "Text", model('input u Real start="0" unit="m"; output y String start="a"'))
    with pytest.raises(ssptool.exceptions.BrokenEdit, match=r"p\.ssp!SystemStructure\.ssd"), ssptool.edit(path) as made:
        made.replace("P.A", text, force=True)
    assert snapshot(path) == before


def test_a_diff_shows_the_documents_inside(tmp_path):
    path = make(tmp_path / "s", "deep")
    with ssptool.edit(path, save=False) as made:
        made.set("P.P.A.k", 7)
        assert made.diff().startswith(f"--- a/{INSIDE['deep']}\n+++ b/{INSIDE['deep']}\n")
        assert [line for line in made.diff().splitlines() if line[:2] in ("-<", "+<")] == [
            "-<ssv:Parameter name=\"k\"><ssv:Real value='5' unit='m'/></ssv:Parameter>",
            "+<ssv:Parameter name=\"k\"><ssv:Real value='7' unit='m'/></ssv:Parameter>",
        ]


def test_unknown_names_inside_are_errors_of_their_own_kind(tmp_path):
    with refused(make(tmp_path / "s", "ssp"), "'B'", UnknownName) as made:
        made.remove("P.B")
