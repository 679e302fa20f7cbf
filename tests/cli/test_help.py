"""Help texts: one form of default, one word for options that repeat, and the usual options of `run` first."""

import re
import shlex

import pytest
import typer

from ssptool.cli.app import EXAMPLES, MOST_OPTIONS, SUMMARIES, app


def every(name):
    command = typer.main.get_command(app).commands[name]
    return (command, *getattr(command, "commands", {}).values())


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_default_has_one_form_and_is_stated_once(name):
    for command in every(name):
        for option in command.params:
            text = option.help
            assert not re.search(r"[;,(] ?else |[Ww]ithout it\b|Default:|\[default|if none is given", text), text
            assert text.count("(default:") <= 1, text
            assert not getattr(option, "show_default", False), text  # typer would add another form
        assert not re.search(r"; else |Without it\b", command.help)


@pytest.mark.parametrize("name", SUMMARIES)
def test_options_that_repeat_end_with_one_word(name):
    for option in (option for command in every(name) for option in command.params):
        text = option.help
        assert text.endswith("Repeatable.") is bool(getattr(option, "multiple", False)), text
        assert not re.search(r"repeated:|[Rr]epeat it|may be repeated|given twice|again for", text), text


HEADLESS = r"(Of|By|Its|Then|With|Between|Such|Else|The same|All|Only|What|That|Refused|There) "
"""Beginnings of a help text whose subject is elsewhere: in the name of the option, or in the text above."""


@pytest.mark.parametrize("name", SUMMARIES)
def test_each_text_of_a_help_makes_sense_alone(name):
    for command in every(name):
        for option in command.params:
            assert not re.match(HEADLESS, option.help), option.help
            assert option.help[0].isupper() and option.help.endswith((".", "…")), option.help


def options_in(text):
    return set(re.findall(r"^│ +(--[a-z-]+)", text, re.MULTILINE))


def test_run_shows_twelve_options_and_the_others_when_asked(ssptool):
    usual, all_of_them = (options_in(ssptool("run", option)[1]) for option in ("--help", "--help-all"))
    shown = [one for one in typer.main.get_command(app).commands["run"].params if not getattr(one, "hidden", False)]
    own = {one.opts[0] for one in shown if one.opts[0][:2] == "--"}
    assert len(usual - {"--help", "--help-all"}) == 12
    assert {"--stop-time", "--set", "--inputs", "--output", "--plot", "--verbose"} <= usual
    assert all_of_them == own | {"--help"}
    assert "Show" in ssptool("run", "--help")[1]


@pytest.mark.parametrize("name", SUMMARIES)
def test_no_help_has_more_options_than_a_screen(ssptool, name):
    assert len(options_in(ssptool(name, "--help")[1])) <= MOST_OPTIONS + 2


def test_export_has_no_option_that_it_always_refuses(ssptool):
    """Its macro steps are fixed, and all parts are in one process."""
    refused = {"--adaptive", "--max-step-size", "--power-bonds", "--threads", "--processes"}
    assert refused.isdisjoint(options_in(ssptool("export", "--help-all")[1]))
    assert refused < options_in(ssptool("plan", "--help-all")[1])


@pytest.mark.parametrize("name", ["set", "bind", "rename", "place", "connect", "unset"])
def test_edits_promise_no_edit_of_an_fmu_or_of_another_format(ssptool, name):
    told = ssptool(name, "--help")[1]
    assert "System to edit" in told and "OspSystemStructure" not in told


def examples(name):
    """Words of each command below "Examples:", without a comment behind it."""
    for command in every(name):
        _, _, lines = (command.help or "").partition(EXAMPLES)
        for line in filter(None, lines.splitlines()):
            words = shlex.split(line.replace("\\[", "["), comments=True)
            assert words[0] == "ssptool", line
            yield words[1:]


@pytest.mark.parametrize("name", SUMMARIES)
def test_examples_have_options_that_their_commands_have(name):
    for words in examples(name):
        command, given = typer.main.get_command(app).commands[words[0]], words[1:]
        if inside := getattr(command, "commands", {}):
            command, given = (inside[given[0]], given[1:]) if given[0] in inside else (inside["run"], given)
        command.make_parser(typer.Context(command)).parse_args(given)


def test_an_example_with_an_option_that_a_command_lacks_is_found():
    command = typer.main.get_command(app).commands["rename"]
    with pytest.raises(Exception, match="--at"):
        command.make_parser(typer.Context(command)).parse_args(["plant", "A", "--at", "1"])
