"""Options of commands and arguments of functions: the same thing has the same name."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
import typer

import ssptool
from ssptool import Settings
from ssptool.api.run import RunOptions
from ssptool.cli.app import app
from ssptool.cli.options import bundled
from ssptool.cli.settings_options import LOGS, SEVERAL, settings_options
from ssptool.engine.settings import Kind, SettingsOptions, setting_field, settings_by_name

SETTINGS = set(SettingsOptions.__annotations__)
SYSTEM = set(RunOptions.__annotations__)
FUNCTIONS = {
    ("run",): (ssptool.simulate, SETTINGS),
    ("plan",): (ssptool.plan, SETTINGS),
    ("linearize",): (ssptool.linearize, SYSTEM),
    ("modes",): (ssptool.linearize, SYSTEM),
    ("trim",): (ssptool.trim, SYSTEM),
    ("sensitivities",): (ssptool.analysis.sensitivities, SETTINGS | SYSTEM),
    ("explain",): (ssptool.explain, set()),
    ("validate",): (ssptool.validate, set(inspect.signature(ssptool.fix).parameters)),
    ("plot",): (
        ssptool.plot,
        {
            one
            for function in (ssptool.studies.plot_study, ssptool.follow)
            for one in inspect.signature(function).parameters
        },
    ),
    ("compare",): (ssptool.compare, {"absolute", "relative", "time"}),  # the fields of `Tolerance`
    ("report",): (ssptool.report, set()),
    ("draw",): (ssptool.draw, set()),
    ("graph",): (ssptool.graph, set()),
    ("study", "run"): (ssptool.study, set()),
    ("study", "resume"): (ssptool.studies.resume_study, set()),
    ("study", "calibrate"): (ssptool.calibrate, set()),
    ("new",): (ssptool.new, set()),
    ("upgrade",): (ssptool.upgrade, set()),
    ("downgrade",): (ssptool.downgrade, set()),
    ("pack",): (ssptool.pack, set()),
    ("unpack",): (ssptool.unpack, set()),
    ("convert",): (ssptool.convert, set()),
    ("diff",): (ssptool.diff, set()),
    ("variant", "list"): (ssptool.variants.list_variants, set()),
    ("variant", "add"): (ssptool.variants.add_variant, set()),
    ("variant", "remove"): (ssptool.variants.remove_variant, set()),
}
OF_THE_SHELL = {
    "help": "printed",
    "help_all": "printed",
    "verbose": "`Result` has all",
    "quiet": "nothing is printed",
    "format": "printed",
    "all": "of `explain` without names",
    "plot": "of `run`: `Result.plot`; of `compare`: its argument",
    "for": "`tools`, since `for` is a keyword of Python",
    "from": "`like`, and of `run` `saved`, since `from` is a keyword of Python",
    "settings": "`settings_file`, since `settings` are those of a run",
    "no_settings": "`settings_file=False`",
    "fix": "`ssptool.fix`",
    "unsafe_fixes": "`ssptool.fix(unsafe=True)`",
    "diff": "`ssptool.fix(save=False).diff`",
    "live": "`ssptool.follow`",
    "unit": "`units`, a mapping",
    "display_units": '`units="display"`',
    "output": "of `validate`: where the report is printed",
    "export": "of `plan`: `ssptool.exportable`",
    "fmi": "of `plan`: `ssptool.exportable`",
    "wires": "`connections`, by its earlier name",
    "stability": "of `plan`: `ssptool.analysis.stability`",
    "advise": "of `plan`: `ssptool.analysis.advise`",
    "over": "of `modes`: `ssptool.analysis.root_locus`",
    "sweep": "of `linearize`: `ssptool.analysis.frequency_response`",
    "amplitude": "of `linearize`: `ssptool.analysis.frequency_response`",
    "sandbox": "of `plan`: printed whether `simulate` has one",
}
"""Options without an argument of the same name, and what stands for them in Python."""

NOT_OF_THE_SHELL = {
    "settings": "the object that the options make",
    "settings_file": "--settings",
    "options": "its fields",
    "progress": "always shown",
    "go_on": "Ctrl-C",
    "units": "--unit, --display-units",
    "saved": "--from",
    "keep": "for what a program does with the trace",
}


def options(command):
    """Parameter → the names of its options, without the leading dashes."""
    found = typer.main.get_command(app)
    for name in command:
        found = found.commands[name]
    return {
        one.name: {text.lstrip("-").replace("-", "_") for text in one.opts if text.startswith("--")}
        for one in found.params
        if one.param_type_name == "option" and not one.hidden
    }


@pytest.mark.parametrize("command", FUNCTIONS, ids=" ".join)
def test_an_option_is_called_as_the_argument(command):
    function, more = FUNCTIONS[command]
    known = set(inspect.signature(function).parameters) | more
    for names in options(command).values():
        assert names & known or names & set(OF_THE_SHELL), names


@pytest.mark.parametrize("command", FUNCTIONS, ids=" ".join)
def test_what_a_command_is_about_is_called_as_the_first_argument(command):
    """`SYSTEM` is `system`, wherever it stands."""
    found = typer.main.get_command(app)
    for name in command:
        found = found.commands[name]
    shown = {one.metavar.partition(".")[0].lower() for one in found.params if one.param_type_name == "argument"}
    first = next(iter(inspect.signature(FUNCTIONS[command][0]).parameters))
    assert ("system" in shown) == (first == "system")


@pytest.mark.parametrize("command", [("run",), ("plan",)], ids=" ".join)
def test_an_argument_of_a_run_has_an_option(command):
    function, more = FUNCTIONS[command]
    offered = set().union(*options(command).values())
    logs = set(LOGS) if command == ("plan",) else set()  # a plan writes no file
    wanted = (set(inspect.signature(function).parameters) | more) - {"system"} - set(NOT_OF_THE_SHELL) - logs
    assert wanted - offered == set()


def test_the_help_of_a_run_shows_the_common_options_first():
    """The first panel has no title of its own; each of the others is setting_field one subject."""
    found = typer.main.get_command(app).commands["run"]
    first = [one.name for one in found.params if one.param_type_name == "option" and not one.rich_help_panel]
    assert {"stop_time", "step_size", "start_values", "parameters", "inputs", "output", "record", "plot"} <= set(first)
    assert len(first) <= 16


def test_the_options_of_a_run_are_the_settings():
    """Name, default and help of each stand in its field, and are those that the command shows."""
    settings = settings_by_name(Settings)
    assert set(SettingsOptions.__annotations__) == set(settings)
    command = {one.name: one for one in typer.main.get_command(app).commands["run"].params}
    defaults = Settings()
    for name, setting in settings.items():
        option = command[name]
        assert option.opts == [f"--{name.replace('_', '-')}"]
        assert option.help.replace("\\[", "[").startswith(setting.help.removesuffix("."))
        assert (option.metavar, option.rich_help_panel or "") == (setting.metavar, setting.group)
        if setting.kind not in SEVERAL:
            assert option.get_default(typer.Context(typer.main.get_command(app))) == getattr(defaults, name)
    assert all(f"\n{name}\n    " in inspect.getdoc(Settings) for name in settings)


def test_a_further_setting_is_an_option_by_its_field_alone(capsys):
    @dataclass(frozen=True, kw_only=True)
    class Further(Settings):
        extra: float = setting_field(0.5, Kind.TIME, "Something new.", "E", "News")
        parts: Mapping[str, int] = setting_field(dict, Kind.COUNTS, "Some parts.", "NAME=N")

    @bundled(settings=settings_options(("extra", "parts"), Further))
    def command(settings: dict):
        made = Further.of(None, settings)
        print(made.extra, made.parts)

    further = typer.Typer()
    further.command()(command)
    for arguments in ([], ["--extra", "2ms", "--parts", "A=2", "--parts", "B=3"]):
        typer.main.get_command(further)(arguments, standalone_mode=False)
    assert capsys.readouterr().out == "0.5 {}\n0.002 {'A': 2, 'B': 3}\n"
    typer.main.get_command(further)(["--help"], standalone_mode=False)
    printed = capsys.readouterr().out
    assert all(text in printed for text in ("News", "--extra", "Something new.", "Some parts."))
