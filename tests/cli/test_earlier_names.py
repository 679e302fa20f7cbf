"""Names of settings of earlier versions: they hold for this version, with a warning."""

import json
import warnings
from pathlib import Path

import pytest

from ssptool import Settings, read_manifest, read_trace, reproduce, simulate, study
from ssptool.errors import RenamedSetting
from ssptool.studies.study_file import study_from

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
SHORT = {"master": "jacobi", "step_size": 0.01, "stop_time": 0.2}


def last(result):
    return float(result.unwrap()["System1.x1"][-1])


@pytest.fixture(scope="module")
def expected():
    """Final positions with held and with extrapolated inputs, which differ."""
    held, moving = (last(simulate(SYSTEM, **SHORT, approximation=how)) for how in ("hold", "extrapolate"))
    assert held != moving
    return {"hold": held, "extrapolate": moving}


@pytest.mark.parametrize("how", ["hold", "extrapolate"])
def test_a_keyword_and_a_setting(how, expected):
    with pytest.warns(RenamedSetting, match="^input is now approximation"):
        assert Settings(input=how) == Settings(approximation=how)
    with pytest.warns(RenamedSetting):
        assert last(simulate(SYSTEM, **SHORT, input=how)) == expected[how]
    with pytest.warns(RenamedSetting):
        assert last(simulate(SYSTEM, settings={**SHORT, "input": how})) == expected[how]


STUDY = {"system": str(SYSTEM), "results": {"x": "final('System1.x1')"}}


def test_a_key_of_a_study():
    table = {**STUDY, "settings": {"input": "hold"}, "factors": {"System1.m1": [2.0]}}
    with pytest.warns(RenamedSetting, match=r"settings\.approximation"):
        assert study_from(table).settings == Settings(approximation="hold")


def test_a_setting_that_a_factor_varies(expected, tmp_path):
    factors = {"way": {"setting": "input", "values": ["hold", "extrapolate"]}}
    with pytest.warns(RenamedSetting, match=r"factors\.way\.setting approximation"):
        results = study({**STUDY, "settings": SHORT, "factors": factors}, tmp_path / "s")
    assert list(results["x"]) == [expected["hold"], expected["extrapolate"]]


def test_an_option(ssptool, expected, tmp_path):
    options = ["--master", "jacobi", "--step-size", "0.01", "--stop-time", "0.2", "--output", tmp_path / "r.csv"]
    for name, line in (("--input", "warning: --input is now --approximation"), ("--approximation", "")):
        status, _, err = ssptool("run", SYSTEM, *options, name, "extrapolate")
        assert status == 0
        assert line in err
        assert ("--input" in err) == (name == "--input")
        assert read_trace(tmp_path / "r.csv")["System1.x1"][-1] == expected["extrapolate"]


def test_both_names_are_refused():
    with pytest.raises(ValueError, match="both are given; leave out input"):
        Settings(input="hold", approximation="hold")


def test_results_of_an_earlier_version_are_reproduced(tmp_path):
    """Their manifest is read without a warning: nobody typed the name."""
    file = tmp_path / "r.csv"
    simulate(SYSTEM, **SHORT, approximation="hold", output=file).unwrap()
    beside = file.with_name("r.csv.json")
    manifest = json.loads(beside.read_text())
    manifest["settings"]["input"] = manifest["settings"].pop("approximation")
    beside.write_text(json.dumps(manifest))
    with warnings.catch_warnings(action="error"):
        assert read_manifest(file)["settings"]["approximation"] == "hold"
        assert reproduce(file).verdict.value == "same bits"
