"""Everyday gestures: by menus, keys and the mouse, each of them edit verbs of the command line."""

import pytest

import ssptool
from benchmarks.studio_page import write_fmu
from ssptool.documents.diagnostics import Diagnostic, Position, Severity
from ssptool.errors import WrongUsage
from ssptool.studio.advice import page_advice
from ssptool.studio.calls import PageCalls
from ssptool.studio.findings import DrawnPlaces, finding_content
from ssptool.studio.session import EditSession
from tests.cli.browser import browser, violations
from tests.studio.conftest import box_of, connector_at, copy_of, drag

SSD = "SystemStructure.ssd"


@pytest.fixture
def folder(tmp_path):
    for name in ("page", "command"):
        copy_of("dual_mass_oscillator", tmp_path / name)
    return tmp_path


@pytest.fixture
def page(studio, chromium, folder):
    return chromium(studio(folder / "page" / "dual_mass_oscillator"))


@pytest.fixture
def calls(folder):
    calls = PageCalls(EditSession(folder / "page" / "dual_mass_oscillator"), lambda _: None)
    yield calls
    calls.close()


def command(folder):
    return folder / "command" / "dual_mass_oscillator"


def saved(page, folder) -> tuple[str, str]:
    """The document that the page saves, and that of the command line."""
    page.keyboard.press("Control+s")
    page.get_by_text("dual_mass_oscillator · saved").wait_for()
    return tuple((folder / one / "dual_mass_oscillator" / SSD).read_text() for one in ("page", "command"))


def choose(page, element: str, entry: str) -> None:
    """Take an entry of the menu of an element."""
    page.locator(f".block[data-of='{element}'] .frame").click(button="right")
    page.get_by_role("menuitem", name=entry).click()


@browser
def test_a_menu_offers_what_can_be_done_with_an_element(page, folder):
    page.locator(".block[data-of=System1] .frame").click(button="right")
    menu = page.get_by_role("menu")
    menu.wait_for()
    assert violations(page) == []
    page.keyboard.press("Escape")
    menu.wait_for(state="detached")
    choose(page, "System1", "Duplicate")
    page.locator(".block[data-of=System3].selected").wait_for()
    with ssptool.edit(command(folder), force=True) as editor:
        editor.duplicate("System1")
    ours, theirs = saved(page, folder)
    assert ours == theirs


@browser
def test_elements_are_put_into_a_system_opened_and_the_system_dissolved(page, folder):
    before = (command(folder) / SSD).read_text()
    page.locator("ssp-diagram").click(position={"x": 10, "y": 10})
    page.keyboard.press("Control+a")
    page.get_by_role("heading", name="2 elements").wait_for()
    page.keyboard.press("Control+g")
    page.get_by_label("Name").fill("Plant")
    page.keyboard.press("Enter")
    page.locator(".block[data-of=Plant].selected").wait_for()
    with ssptool.edit(command(folder)) as editor:
        editor.wrap("System1", "System2", name="Plant")
    ours, theirs = saved(page, folder)
    assert ours == theirs != before
    page.locator(".block[data-of=Plant] .frame").dblclick()
    page.locator(".block[data-of='Plant/System1']").wait_for()
    page.locator("#trail button").first.click()
    choose(page, "Plant", "Dissolve")
    page.locator(".block[data-of=System1]").wait_for()
    with ssptool.edit(command(folder)) as editor:
        editor.unwrap("Plant")
    ours, theirs = saved(page, folder)
    assert ours == theirs


@browser
def test_a_double_click_renames_and_escape_leaves_the_name(page, folder):
    frame = page.locator(".block[data-of=System1] .frame")
    frame.dblclick()
    page.get_by_label("New name").fill("Nothing")
    page.keyboard.press("Escape")
    page.get_by_label("New name").wait_for(state="detached")
    assert page.get_by_role("button", name="Undo").is_disabled()
    frame.dblclick()
    page.get_by_label("New name").fill("Left")
    page.keyboard.press("Enter")
    page.locator(".block[data-of=Left].selected").wait_for()
    with ssptool.edit(command(folder)) as editor:
        editor.rename("System1", "Left")
    ours, theirs = saved(page, folder)
    assert ours == theirs


@browser
def test_elements_are_dragged_into_a_system(page, folder):
    page.get_by_role("button", name="Add system").click()
    page.get_by_label("Name").fill("Inner")
    page.keyboard.press("Enter")
    page.locator(".block[data-of=Inner].selected").wait_for()
    start, end = (box_of(page, f".block[data-of={name}] .frame") for name in ("System2", "Inner"))
    middle = end["x"] + end["width"] / 2, end["y"] + end["height"] / 2
    drag(page, (start["x"] + start["width"] / 2, start["y"] + 15), middle, lit=".block[transform]")
    page.locator(".block[data-of=System2]").wait_for(state="detached")
    with ssptool.edit(command(folder), force=True) as editor:
        editor.add_system("Inner").move("System2", into="Inner")
    ours, theirs = saved(page, folder)
    assert ours == theirs


@browser
def test_elements_are_copied_into_another_system_by_keys(page, folder):
    page.get_by_role("button", name="Add system").click()
    page.get_by_label("Name").fill("Inner")
    page.keyboard.press("Enter")
    page.locator(".block[data-of=Inner].selected").wait_for()
    page.locator(".block[data-of=System2] .frame").click()
    page.keyboard.press("Control+c")
    page.locator(".block[data-of=Inner] .frame").dblclick()
    page.locator("#trail", has_text="Inner").wait_for()
    page.keyboard.press("Control+v")
    page.locator(".block[data-of='Inner/System2'].selected").wait_for()
    with ssptool.edit(command(folder), force=True) as editor:
        editor.add_system("Inner").duplicate("System2", into="Inner")
    ours, theirs = saved(page, folder)
    assert ours == theirs
    values = ssptool.flatten(folder / "page" / "dual_mass_oscillator").assignments
    found = {str(signal): one.value for signal, one in values.items()}
    mine = {name.removeprefix("Inner."): one for name, one in found.items() if name.startswith("Inner.")}
    assert mine == {name: one for name, one in found.items() if name.startswith("System2.")} != {}


@browser
def test_a_file_of_the_system_is_added_where_it_is_dropped(page, folder):
    diagram, frame = box_of(page, "ssp-diagram"), box_of(page, ".block[data-of=System1] .frame")
    below = {
        "x": frame["x"] - diagram["x"] + frame["width"] / 2,
        "y": frame["y"] - diagram["y"] + 1.4 * frame["height"],
    }
    entry = page.locator("ssp-palette").get_by_role("button", name="System1.fmu", exact=True)
    entry.drag_to(page.locator("ssp-diagram"), target_position=below)
    page.locator(".block[data-of=System3].selected").wait_for()
    added, first = box_of(page, ".block[data-of=System3] .frame"), box_of(page, ".block[data-of=System1] .frame")
    assert added["y"] > first["y"] + first["height"] / 2
    assert abs(added["x"] - first["x"]) < first["width"] / 2
    page.keyboard.press("Control+s")
    page.get_by_text("dual_mass_oscillator · saved").wait_for()
    with ssptool.edit(folder / "page" / "dual_mass_oscillator", save=False) as editor:
        elements = {one.name: one for one in editor.system.elements}
        assert elements["System3"].source == "resources/System1.fmu"
        corners = [getattr(elements["System3"].geometry, name) for name in ("x1", "y1", "x2", "y2")]
    assert corners == [round(one, 1) for one in corners]
    assert "System3.fmu" not in {path.name for path in (folder / "page").rglob("*.fmu")}


@browser
def test_keys_and_colours_are_explained(page):
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys and gestures")
    dialog.get_by_text("Ctrl-D").wait_for()
    assert violations(page) == []
    page.keyboard.press("Delete")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Legend").click()
    page.get_by_role("dialog", name="Legend").get_by_text("algebraic loop").wait_for()
    assert violations(page) == []
    page.keyboard.press("Escape")
    assert page.get_by_role("button", name="Undo").is_disabled()


@browser
def test_the_view_goes_to_the_selection_and_back(page):
    view = "document.querySelector('ssp-diagram').view"
    whole = page.evaluate(view)
    page.locator(".block[data-of=System2] .frame").click()
    page.keyboard.press("f")
    near = page.evaluate(view)
    assert near[2] < whole[2]
    box, diagram = box_of(page, ".block[data-of=System2] .frame"), box_of(page, "ssp-diagram")
    assert abs(box["x"] + box["width"] / 2 - diagram["x"] - diagram["width"] / 2) < 0.1 * diagram["width"]
    page.keyboard.press("0")
    assert page.evaluate(view) == whole


@browser
def test_moved_elements_end_at_guides_or_on_the_grid(page, folder):
    frame = box_of(page, ".block[data-of=System2] .frame")
    at = frame["x"] + frame["width"] / 2, frame["y"] + 15
    drag(page, at, (at[0] + 40, at[1] + 4), lit=".guide")
    page.get_by_text("dual_mass_oscillator · not saved").wait_for()
    assert page.locator(".guide").count() == 0
    saved(page, folder)
    with ssptool.edit(folder / "page" / "dual_mass_oscillator", save=False) as editor:
        first, second = (one.geometry for one in editor.system.elements)
    assert (first.y1, first.y2) == (second.y1, second.y2), "as before: it was drawn back to the row"
    page.get_by_label("Grid").check()
    frame = box_of(page, ".block[data-of=System2] .frame")
    at = frame["x"] + frame["width"] / 2, frame["y"] + 15
    page.mouse.move(*at)
    page.mouse.down()
    page.mouse.move(at[0] + 37, at[1] + 21, steps=4)
    page.mouse.up()
    page.get_by_text("dual_mass_oscillator · not saved").wait_for()
    saved(page, folder)
    with ssptool.edit(folder / "page" / "dual_mass_oscillator", save=False) as editor:
        geometry = editor.system.elements[1].geometry
        corner = geometry.x1, geometry.y1
    assert [one % 5 for one in corner] == [0, 0]


@browser
def test_panels_are_folded_and_stay_so(page):
    before = box_of(page, "ssp-diagram")
    page.locator("#split-right").dblclick()
    page.locator("#split-drawer").focus()
    page.keyboard.press("Enter")
    after = box_of(page, "ssp-diagram")
    assert after["width"] > before["width"] and after["height"] > before["height"]
    assert after["width"] * after["height"] > 0.6 * 1280 * 720
    assert violations(page) == []
    page.reload()
    page.locator("ssp-diagram svg").wait_for()
    assert box_of(page, "ssp-diagram") == after
    page.get_by_role("tab", name="Changes").click()
    page.get_by_text("Nothing is changed yet").wait_for()


def test_elements_are_copied_into_the_system_of_another_studio(calls, folder):
    calls.call("edit", {"edits": [{"verb": "set", "name": "System1.m1", "value": 2.5}]})
    with pytest.raises(WrongUsage, match="not the name of a package"):
        calls.call("copy", {"elements": [["System1"]], "name": "../a.ssp"})
    calls.call("copy", {"elements": [["System1"], ["System2"]], "name": "a.ssp"})
    ssptool.example("mass_spring_damper", folder / "other")
    there = PageCalls(EditSession(folder / "other"), lambda _: None)
    file = f"{calls.call('model', {})['copies']}/a.ssp"
    assert there.call("paste", {"file": file, "sheet": []})["added"] == [("System1",), ("System2",)]
    there.call("save", {})
    with pytest.raises(WrongUsage, match="has ended"):
        there.call("paste", {"file": file.replace("a.ssp", "b.ssp"), "sheet": []})
    there.close()
    network = ssptool.flatten(folder / "other")
    values = {str(signal): one.value for signal, one in network.assignments.items()}
    assert values["System1.m1"] == 2.5, "which is not saved"
    assert {str(one.destination) for one in network.wires} >= {"System1.F", "System2.x1"}
    ssptool.simulate(folder / "other", stop_time=0.1).unwrap()


def test_files_get_free_names_and_a_place_in_the_document(calls):
    files = [one["file"] for one in calls.call("palette", {})]
    assert "resources/System1.fmu" in files
    answer = calls.call("add", {"files": ["resources/System1.fmu"] * 2, "sheet": [], "at": [200.06, 30]})
    assert answer["added"] == [("System3",), ("System4",)]
    with calls._session.editor() as editor:
        geometry = [one.geometry for one in editor.system.elements[2:]]
    assert [(one.x1, one.y1) for one in geometry] == [(180.1, 10.0), (240.1, 10.0)]
    assert {one["used"] for one in calls.call("palette", {}) if one["file"] == "resources/System1.fmu"} == {3}
    with pytest.raises(WrongUsage, match="number"):
        calls.call("add", {"files": ["resources/System1.fmu"], "at": ["left", 3]})


def test_broken_xml_is_told_apart_from_findings(calls):
    about = calls.call("connection", {"sheet": [], "text": "System1.v1 – System2.v1"})
    where = {"file": about["file"], "line": about["line"], "before": about["xml"]}
    broken = calls.call("typed", {**where, "after": about["xml"].removesuffix("/>")})
    assert broken["findings"] == []
    assert [one["code"] for one in broken["broken"]] == ["XML-001"]


def test_commands_in_advice_become_edits_or_places_of_the_page(calls):
    text, actions = page_advice("connect it: `ssptool connect SYSTEM Plant.y 'Left wheel.u'`")
    assert text == ""
    assert actions == (
        ("Connect Plant.y with Left wheel.u", [{"verb": "connect", "a": "Plant.y", "b": "Left wheel.u"}]),
    )
    text, actions = page_advice("connect it with `ssptool connect`, or drive it with --inputs")
    assert "ssptool" not in text and "--" not in text and not actions
    assert page_advice("use `ssptool 'odd`")[0] == "use `ssptool 'odd`"
    calls.call("edit", {"edits": [{"verb": "disconnect", "a": "System1.v1", "b": "System2.v1"}]})
    found = [one for one in calls.call("findings", {})["findings"] if one["actions"]]
    assert len(found) == 1
    calls.call("edit", {"edits": found[0]["actions"][0]["edits"]})
    assert calls.call("changes", {})["diff"].count("\n+") <= 2


def test_a_finding_without_advice_has_no_actions():
    finding = Diagnostic("X-1", Severity.ERROR, Position("a.ssd", 1), "wrong")
    assert finding_content(finding, DrawnPlaces(()), {})["actions"] == []


@browser
def test_a_note_is_written_where_the_menu_was_and_moved_and_removed(page, folder):
    diagram = box_of(page, "ssp-diagram")
    page.locator("ssp-diagram").click(button="right", position={"x": 30, "y": diagram["height"] - 40})
    page.get_by_role("menuitem", name="New note…").click()
    page.get_by_label("Text").fill("Valid up to 80 °C")
    page.keyboard.press("Enter")
    note = ".noted[data-note='Valid up to 80 °C']"
    first = box_of(page, note)
    page.mouse.move(first["x"] + 5, first["y"] + 5)
    page.mouse.down()
    page.mouse.move(first["x"] + 45, first["y"] + 25, steps=3)
    page.mouse.up()
    page.get_by_role("tab", name="Changes (2)").wait_for()
    saved(page, folder)
    with ssptool.edit(folder / "page" / "dual_mass_oscillator", save=False) as editor:
        (known,) = editor.system.notes
        corners = [known.x1, known.y1, known.x2, known.y2]
    assert corners == [round(one, 1) for one in corners]
    assert corners[2] - corners[0] == pytest.approx(60)
    page.locator(f"{note} rect").click(button="right", position={"x": 9, "y": 9})
    page.get_by_role("menuitem", name="Remove").click()
    page.locator(note).wait_for(state="detached")
    ours, theirs = saved(page, folder)
    assert "ssd:Note" not in ours
    assert ours.count("\n") == theirs.count("\n"), "only the canvas is still as large as it was"


def chain(folder):
    """Two elements with one connection, and one without, all with one input and one output [m]."""
    write_fmu(folder / "One.fmu", 1)
    with ssptool.new(folder / "chain.ssp") as made:
        for name, x in (("A", 0), ("B", 200), ("Between", 100)):
            made.add(folder / "One.fmu", name=name)
            made.place(name, x, -100 if name == "Between" else 0)
        made.connect("A.y0", "B.u0")
    return folder / "chain.ssp"


@browser
def test_an_element_that_is_dropped_on_a_line_is_put_into_the_connection(studio, chromium, tmp_path):
    system = chain(tmp_path)
    page = chromium(studio(system))
    page.locator('.wire[data-connections*="A.y0 – B.u0"]').wait_for(state="attached")
    block = box_of(page, ".block[data-of=Between] .frame")
    ends = [connector_at(page, *end) for end in (("A", "y0"), ("B", "u0"))]
    middle = block["x"] + block["width"] / 2, block["y"] + block["height"] / 2
    page.mouse.move(middle[0], block["y"] + 12)
    page.mouse.down()
    page.mouse.move(middle[0], ends[0][1], steps=2)
    page.mouse.move(sum(x for x, _ in ends) / 2, ends[0][1] - middle[1] + block["y"] + 12, steps=3)
    page.locator("#hint", has_text="into A.y0 – B.u0").wait_for()
    page.mouse.up()
    for text in ("A.y0 – Between.u0", "Between.y0 – B.u0"):
        page.locator(f'.wire[data-connections*="{text}"]').wait_for(state="attached")
    page.keyboard.press("Control+s")
    page.get_by_text("chain.ssp · saved").wait_for()
    with ssptool.edit(system, save=False) as editor:
        ends = {(one.start_element, one.end_element) for one in editor.system.connections}
    assert ends == {("A", "Between"), ("Between", "B")}


def test_only_legal_ways_into_a_connection_are_offered(tmp_path):
    calls = PageCalls(EditSession(chain(tmp_path)), lambda _: None)
    (way,) = calls.call("insertions", {"sheet": [], "element": ["Between"], "text": "A.y0 – B.u0"})
    assert [one["verb"] for one in way["edits"]] == ["disconnect", "connect", "connect"]
    assert calls.call("insertions", {"sheet": [], "element": ["A"], "text": "A.y0 – B.u0"}) == []
    assert calls.call("changes", {})["diff"] == "", "they are looked at, not done"
    calls.call("edit", {"edits": way["edits"]})
    assert calls.call("insertions", {"sheet": [], "element": ["B"], "text": "A.y0 – Between.u0"}) == []
    calls.close()
