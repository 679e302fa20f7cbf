"""Calls of a page that no page makes: names that lead out, wrong types, files that are too large."""

import http.client
from urllib.parse import urlsplit

import pytest

from ssptool.errors import WrongUsage
from ssptool.studio.calls import PageCalls
from ssptool.studio.session import EditSession
from tests.studio.conftest import COOKIES, copy_of
from tests.waiting import PATIENCE


@pytest.fixture
def calls(tmp_path):
    folder = tmp_path / "inside"
    folder.mkdir()
    made = PageCalls(EditSession(copy_of("dual_mass_oscillator", folder)), lambda _: None)
    (tmp_path / "secret.yaml").write_text("events: [{time: 0, variable: password-hunter2, value: 1}]", encoding="utf-8")
    (tmp_path / "secret.csv").write_text("time,password-hunter2\n0,1\n", encoding="utf-8")
    (folder / "innocent.csv").symlink_to(tmp_path / "secret.csv")
    yield made
    made.close()


@pytest.mark.parametrize("call", ["plan", "run"])
@pytest.mark.parametrize("name", ["../secret.{}", "{place}/secret.{}", "inside/../../secret.{}", "a\0b.{}", "a" * 5000])
@pytest.mark.parametrize(("argument", "ending"), [("scenario", "yaml"), ("inputs", "csv")])
def test_runs_take_no_stimuli_from_elsewhere(calls, tmp_path, call, name, argument, ending):
    stated = name.format(ending, place=tmp_path)
    with pytest.raises((WrongUsage, OSError)) as problem:
        calls.call(call, {"settings": {}, argument: stated})
    assert "hunter2" not in str(problem.value)


@pytest.mark.parametrize("call", ["plan", "run"])
def test_no_link_around_the_system_leads_runs_elsewhere(calls, call):
    with pytest.raises(WrongUsage) as problem:
        calls.call(call, {"settings": {}, "inputs": "innocent.csv"})
    assert "hunter2" not in str(problem.value)


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("run", {"settings": 1}),
        ("run", {"settings": {}, "scenario": 7}),
        ("run", {"settings": {}, "iterations": "yes"}),
        ("plan", {"settings": {}, "inputs": ["a.csv"]}),
        ("check", {"run": "1"}),
        ("start_study", {"file": None}),
        ("stimulus", {"file": {}, "change": "x", "arguments": {}}),
        ("plan", []),
        ("plan", "settings"),
        ("plan", None),
    ],
)
def test_wrong_types_are_a_message(calls, call, arguments):
    with pytest.raises(WrongUsage, match=call):
        calls.call(call, arguments)


def test_a_file_that_is_too_large_is_not_kept(studio, tmp_path, monkeypatch):
    address = urlsplit(studio(copy_of("dual_mass_oscillator", tmp_path)))
    client = http.client.HTTPConnection(address.hostname, address.port, timeout=PATIENCE)
    headers = {"Cookie": COOKIES[address.geturl()], "Origin": f"http://{address.netloc}"}
    for name, expected in (("a.fmu", 200), ("a\0b.fmu", 400), ("a" * 300 + ".fmu", 400)):
        client.request("POST", f"{address.path}files?name={name.replace(chr(0), '%00')}", body=b"x", headers=headers)
        answer = client.getresponse()
        answer.read()
        assert answer.status == expected, name
