"""Frozen plans as text: other ways to write the same JSON change nothing, and what is not a plan is refused by line."""

import json
import zipfile

import numpy as np
import pytest

from tests.exporting.fmus import SYSTEMS, Messages, exported, in_fmpy, initialize, instance

PLAN = "resources/plan.json"
SYSTEM = SYSTEMS / "one_dof_oscillator"


@pytest.fixture
def rewritten(tmp_path):
    """An FMU with another text of its plan, made of that which it has."""
    fmu = exported(SYSTEM, tmp_path, stop_time=0.1)

    def write(change):
        other = tmp_path / "other.fmu"
        with zipfile.ZipFile(fmu) as source, zipfile.ZipFile(other, "w") as target:
            for name in source.namelist():
                content = source.read(name)
                target.writestr(name, change(content.decode()) if name == PLAN else content)
        return other

    return write


@pytest.mark.parametrize(
    "write",
    [
        lambda plan: json.dumps(plan, indent="\t").replace("\n", "\r\n"),
        lambda plan: json.dumps(plan, ensure_ascii=True).replace("/", "\\/"),
        lambda plan: " " + json.dumps({"unknown": [1e300, -0.0, 2**63, {"": [[]]}], **plan}) + "\n",
        lambda plan: json.dumps({**plan, "step": "HERE"}).replace('"HERE"', f"{plan['step'] * 1e3:.17g}E-0003"),
    ],
    ids=["blanks", "escapes", "more members", "exponents"],
)
def test_the_same_plan_in_other_words(write, rewritten):
    expected = in_fmpy(rewritten(lambda text: text), 0.01, stop_time=0.1)
    found = in_fmpy(rewritten(lambda text: write(json.loads(text))), 0.01, stop_time=0.1)
    np.testing.assert_array_equal(found, expected)


def test_names_with_any_letters(rewritten, tmp_path):
    """Those that JSON escapes, and one that it writes as two codes; the message on a missing file shows them."""
    name = 'Mäss "\\ \U0001d54d'
    for ascii_only in (False, True):

        def renamed(text, ascii_only=ascii_only):
            plan = json.loads(text)
            plan["parts"][0]["identifier"] = name
            return json.dumps(plan, ensure_ascii=ascii_only)

        assert name in refusal(rewritten(renamed), tmp_path / str(ascii_only))


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda text: "", "line 1, column 1: "),
        (lambda text: text[: len(text) // 2], "line 1, "),
        (lambda text: text + "\n\n}", "line 3, column 1: "),
        (lambda text: text.replace(":", "", 1), "line 1, "),
        (lambda text: "\n" + text.replace("{", "{,", 1), "line 2, column 2: "),
        (lambda text: text.replace('"name":"', '"name":"\\x', 1), "line 1, "),
        (lambda text: text.replace('"name":"', '"name":"\\ud834', 1), "line 1, "),
        (lambda text: text.replace('"name":"', '"name":"\n', 1), "line 2, "),
        (lambda text: '{"version":1-2}', "line 1, column "),
        (lambda text: '{"version":1e999}', "number overflow parsing '1e999'"),
        (lambda text: "[" * 300, "there are too many levels"),
        (lambda text: "[]", "the whole is an array, must be an object"),
        (lambda text: "{}", "the whole has no version"),
        (lambda text: '{"version":true}', "version is true, must be an integer"),
        (lambda text: text.replace('"wires":[', '"wires":[1,', 1), "wires[0] is 1, must be an object"),
    ],
)
def test_what_is_no_plan(write, message, rewritten, tmp_path):
    said = refusal(rewritten(write), tmp_path / "unpacked")
    assert "plan.json is not a plan: " in said
    assert message in said


def refusal(fmu, folder):
    """What an FMU says that cannot be instantiated or initialized."""
    said = Messages()
    with pytest.raises(Exception), instance(fmu, folder, said) as slave:  # noqa: B017
        initialize(slave)
    return "\n".join(text for _, _, text in said)
