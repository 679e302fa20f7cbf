"""The extension for VS Code that comes with ssptool, and its installation."""

import shutil
import subprocess
import sys
from pathlib import Path

from ssptool.errors import WrongUsage

EDITORS = ("code", "codium", "code-insiders", "code-server")
"""Commands of VS Code and of its kin, which install extensions in the same way."""


PACKAGE = Path(__file__).parents[1]


def extension_file() -> Path:
    """The package of the extension: that of the wheel, or that which `make vsix` has made in a clone.

    Raises WrongUsage if there is none.
    """
    bundled, clone = PACKAGE / "editors" / "ssptool.vsix", PACKAGE.parent
    built = clone / "build" / "vsix" / "ssptool.vsix"
    if bundled.is_file():
        return bundled
    if not (clone / "editors" / "vscode" / "package.json").is_file():
        raise WrongUsage(
            "this installation has no extension for VS Code: install a wheel that `make wheels` has made where npm is, "
            "or run `make vsix` in a clone and install build/vsix/ssptool.vsix in the editor"
        )
    if not built.is_file():
        raise WrongUsage(f"the extension for VS Code is not built in this clone: run `make vsix` in {clone}")
    return built


def install_extension() -> str:
    """Install the extension with the command of VS Code; returns what was done.

    Raises WrongUsage if there is no extension, no such command, or the command fails.
    """
    file = extension_file()
    program = next(filter(None, map(shutil.which, EDITORS)), None)
    if program is None:
        raise WrongUsage(
            f"none of {', '.join(EDITORS)} is on the path; the extension is {file}: in VS Code, choose "
            f"'Extensions: Install from VSIX…', or run `code --install-extension {file}` where `code` is"
        )
    done = subprocess.run(
        [program, "--install-extension", str(file), "--force"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise WrongUsage(f"{program} did not install {file}: {said or f'status {done.returncode}'}")
    own = shutil.which("ssptool", path=str(Path(sys.executable).parent)) or "ssptool"
    return (
        f"installed {file} with {program}\n"
        "It starts the ssptool of .venv or venv in a trusted workspace, or that of the path. "
        f'To start this one, set "ssptool.command": ["{own}", "lsp"]'
    )
