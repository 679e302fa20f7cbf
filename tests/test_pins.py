"""What continuous integration installs: pinned with hashes, within pyproject.toml, and looked up in a database."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LINE = re.compile(r"(\S+)==(\S+) --hash=sha256:[0-9a-f]{64}")
KNOWN = {"name": "a", "version": "1", "vulns": []}
VULNERABLE = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1"}, {"id": "CVE-2"}]}
UNKNOWN = {"name": "c", "skip_reason": "not found"}


NOT_IN_CI = {"lief", "ziglang"}
"""Installed by `make cross` alone."""


def pins():
    lines = (ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = [LINE.fullmatch(line) for line in lines if not line.startswith("#")]
    assert None not in found
    return {canonicalize_name(one[1]): one[2] for one in found}


def requirements():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = [*project["project"]["optional-dependencies"].values(), *project["dependency-groups"].values()]
    stated = [project["build-system"]["requires"], project["project"]["dependencies"], *groups]
    return [Requirement(one) for group in stated for one in group if isinstance(one, str)]


def test_every_requirement_is_pinned_to_a_version_that_it_allows():
    found = pins()
    for one in requirements():
        if one.name not in {"ssptool", *NOT_IN_CI}:
            assert one.specifier.contains(found[canonicalize_name(one.name)]), one


@pytest.mark.parametrize(
    ("packages", "status", "told"),
    [
        ([UNKNOWN], 0, "audit skipped: none of 1"),
        ([KNOWN, UNKNOWN], 0, "not audited: c: not found\npackages audited: 1, with known vulnerabilities: 0"),
        ([KNOWN, VULNERABLE], 1, "vulnerable: b 2: CVE-1, CVE-2\npackages audited: 2, with known vulnerabilities: 1"),
    ],
)
def test_a_known_vulnerability_fails_and_a_database_out_of_reach_does_not(packages, status, told, capsys):
    spec = importlib.util.spec_from_file_location("audit", ROOT / ".ci" / "audit.py")
    audit = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(audit)
    assert audit.judge(packages) == status
    assert told in capsys.readouterr().out
