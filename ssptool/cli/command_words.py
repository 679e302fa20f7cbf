"""Command names of other programs: some work as aliases, for others a message names the commands to use."""

from collections.abc import Mapping
from difflib import SequenceMatcher

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("simulate", "sim", "cosim", "co-simulate", "execute", "exec"), ("run",)),
    **dict.fromkeys(("check", "lint", "verify"), ("validate",)),
    **dict.fromkeys(("show", "list", "inspect", "describe", "tree", "ls", "dump", "model-description"), ("info",)),
    **dict.fromkeys(("create", "init"), ("new",)),
    **dict.fromkeys(("delete", "rm"), ("remove",)),
    "mv": ("rename",),
    **dict.fromkeys(("cp", "clone"), ("duplicate",)),
    "group": ("wrap",),
    "ungroup": ("unwrap",),
    **dict.fromkeys(("zip", "archive", "package"), ("pack",)),
    **dict.fromkeys(("unzip", "extract"), ("unpack",)),
    "params": ("parameters",),
    **dict.fromkeys(("examples", "demo"), ("example",)),
    "rules": ("rule",),
    "why": ("explain",),
    "diagram": ("draw",),
    **dict.fromkeys(("gui", "ui", "view", "open"), ("studio",)),
    **dict.fromkeys(("optimize", "optimise"), ("study",)),
    **dict.fromkeys(("calibrate", "fit"), ("study", "calibrate")),
    "linearise": ("linearize",),
    **dict.fromkeys(("eigenvalues", "eig"), ("modes",)),
    **dict.fromkeys(("steady-state", "equilibrium"), ("trim",)),
    "version": ("--version",),
}
"""Words that other programs have for a command → what is typed here. They work, and no list names them."""

_NEW_STUDY = "study new SYSTEM --design lhs"
_INFO = ("info SYSTEM",)
_PICTURES = ("plot RESULTS.csv", "draw SYSTEM", "graph SYSTEM")

SERVING: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("doe", "montecarlo", "monte-carlo", "uq", "batch", "experiment"), (_NEW_STUDY,)),
    **dict.fromkeys(("scan", "vary"), ("sweep SYSTEM NAME=FROM:TO:N", _NEW_STUDY)),
    "sensitivity": ("study new SYSTEM --design saltelli", "study new SYSTEM --design morris"),
    **dict.fromkeys(("get", "value", "query"), ("explain SYSTEM NAME", "parameters SYSTEM")),
    **dict.fromkeys(("fix", "repair", "format", "fmt"), ("validate SYSTEM --fix",)),
    **dict.fromkeys(("import", "load", "fmu2ssp"), ("convert FILE.fmu SYSTEM", "add SYSTEM FILE.fmu")),
    **dict.fromkeys(("ssp2fmu", "tofmu", "to-fmu"), ("export SYSTEM FILE.fmu",)),
    **dict.fromkeys(("merge", "couple"), ("add SYSTEM FILE.fmu", "connect SYSTEM A B")),
    "build": ("new SYSTEM.ssp A.fmu B.fmu", "pack FOLDER"),
    **dict.fromkeys(("edit", "change", "modify"), ("studio SYSTEM", "set SYSTEM NAME=VALUE", "connect SYSTEM A B")),
    **dict.fromkeys(("serve", "server", "web"), ("studio SYSTEM", "mcp FOLDER", "lsp")),
    **dict.fromkeys(("compile", "translate"), ("run SYSTEM --compile",)),
    "platforms": ("doctor SYSTEM", "export SYSTEM FILE.fmu --platforms linux64,win64"),
    **dict.fromkeys(("variables", "signals", "units", "components", "fmu", "fmi", "ssd", "fmpy", "oms"), _INFO),
    **dict.fromkeys(("cat", "head"), (*_INFO, "unpack SYSTEM.ssp FOLDER")),
    **dict.fromkeys(("grep", "find", "search"), ("explain SYSTEM --all", "parameters SYSTEM")),
    "blame": ("explain SYSTEM NAME",),
    "poles": ("modes SYSTEM",),
    **dict.fromkeys(("connections", "links", "wires"), ("explain SYSTEM --all", "draw SYSTEM")),
    **dict.fromkeys(("loops", "dependencies", "deps"), ("graph SYSTEM",)),
    **dict.fromkeys(("debug", "log", "logs"), ("run SYSTEM --verbose", "run SYSTEM --fmu-log FILE.csv", "plan SYSTEM")),
    **dict.fromkeys(("start", "step"), ("run SYSTEM", "studio SYSTEM")),
    **dict.fromkeys(("initialize", "initialise", "instantiate"), ("plan SYSTEM", "run SYSTEM --verbose")),
    **dict.fromkeys(
        ("bode", "nyquist", "step-response"), ("linearize SYSTEM --input NAME --measure NAME --output FILE.svg",)
    ),
    **dict.fromkeys(("results", "result"), ("plot RESULTS.csv", "report RESULTS.csv", "study results FOLDER")),
    **dict.fromkeys(("visualize", "visualise", "chart", "figure"), _PICTURES),
    **dict.fromkeys(("grid", "lhs"), ("sweep SYSTEM NAME=FROM:TO:N", _NEW_STUDY)),
    **{word: (f"study new SYSTEM --design {word}",) for word in ("sobol", "morris", "saltelli")},
    "resume": ("study resume FOLDER",),
    "status": ("study status FOLDER", "info SYSTEM"),
    **dict.fromkeys(("time", "profile", "benchmark"), ("run SYSTEM --statistics",)),
    "trace": ("explain SYSTEM NAME", "run SYSTEM --log-coupling FILE.csv"),
    **dict.fromkeys(("csv", "save"), ("run SYSTEM --output FILE.csv", "parameters SYSTEM --output FILE.csv")),
    "dashboard": ("studio SYSTEM", "report RESULTS.csv"),
    "animate": ("plot RESULTS.csv --live", "report RESULTS.csv"),
    "test": ("validate SYSTEM", "compare RESULTS.csv REFERENCE.csv"),
    "html": ("report RESULTS.csv", "studio SYSTEM"),
    **dict.fromkeys(("docs", "manual", "tutorial"), ("--help", "example", "COMMAND --help")),
    **dict.fromkeys(("completion", "completions"), ("--install-completion", "--show-completion")),
    **dict.fromkeys(("config", "env", "cache", "install", "update", "uninstall", "sync", "self"), ("doctor",)),
    **dict.fromkeys(("commit", "push", "pull", "stash", "rebase", "tag"), ("unpack SYSTEM.ssp FOLDER", "diff A B")),
    **dict.fromkeys(("branch", "checkout"), ("variant add SYSTEM NAME", "run SYSTEM --variant NAME")),
    **dict.fromkeys(("undo", "revert", "restore", "reset"), ("unset SYSTEM NAME", "studio SYSTEM")),
}
"""Words of other programs → commands that serve the same purpose, as they are typed."""

OPTIONS_MEANT: Mapping[str, Mapping[str, str]] = {
    "run": {
        **dict.fromkeys(("dry-run", "n", "explain"), "`ssptool plan SYSTEM`"),
        **dict.fromkeys(("validate", "check", "lint"), "`ssptool validate SYSTEM`"),
        **dict.fromkeys(("watch", "live", "follow"), "`ssptool plot RESULTS.csv --live`"),
        **dict.fromkeys(("force", "f", "overwrite"), "a run replaces earlier results"),
        **dict.fromkeys(("temp-dir", "tmp-dir"), "TMPDIR names the folder for temporary files"),
    },
    "validate": {
        **dict.fromkeys(("rules", "rule", "only", "enable"), "--select"),
        **dict.fromkeys(("exclude", "disable", "skip"), "--ignore"),
        "verbose": "--all",
        **dict.fromkeys(("repair", "write"), "--fix"),
    },
    "info": {"all": "--variables '*'", "verbose": "--variables '*'"},
    "plot": {**dict.fromkeys(("save", "save-as", "show"), "--output"), "s": "--signals"},
    "compare": {
        **dict.fromkeys(("rtol", "rel-tol", "tolerance", "relative-tolerance"), "--relative"),
        **dict.fromkeys(("atol", "abs-tol", "absolute-tolerance"), "--absolute"),
    },
    "export": {
        "fmi-version": "--fmi",
        **dict.fromkeys(("type", "fmi-type", "kind"), "--interface"),
        **dict.fromkeys(("o", "output", "out", "to"), "`ssptool export SYSTEM FILE.fmu`"),
    },
    "add": {"as": "--name"},
    "example": {"list": "`ssptool example`", "all": "`ssptool example`"},
    "new": {**dict.fromkeys(("o", "output"), "`ssptool new SYSTEM.ssp A.fmu B.fmu`")},
    "study calibrate": {"data": "`ssptool study new SYSTEM --data FILE`"},
}
"""Command → words for its options in other programs → what is typed here, or why there is no such option."""

SIMILAR, SIMILAR_BEGUN_ALIKE = 0.8, 0.6
"""Least similarity of a command that is meant by a misspelt word; the lower one if both begin with the same letter."""


def about(word: str, commands: Mapping[str, object]) -> list[str]:
    """Lines about a word that is not a command: first that it is none, then what may be meant."""
    if word in SERVING:
        return [f"there is no command {word}; use instead:", *(f"`ssptool {line}`" for line in SERVING[word])]
    near = max((*commands, *SYNONYMS), key=lambda one: SequenceMatcher(None, word, one).ratio())
    least = SIMILAR_BEGUN_ALIKE if near[:1] == word[:1] else SIMILAR
    meant = f"; did you mean {near}?" if SequenceMatcher(None, word, near).ratio() >= least else ""
    return [f"there is no command {word}{meant}", "`ssptool --help` lists all commands"]
