"""Without the extra, the command says what to install."""

import subprocess
import sys


def test_without_the_extra_the_command_says_how_to_install_it():
    code = (
        "import sys; sys.modules['pygls'] = None; sys.argv = ['ssptool', 'lsp']; "
        "from ssptool.cli.main import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, input="", check=False)
    assert done.returncode == 1
    assert done.stderr == "error: the language server needs pygls: pip install 'ssptool[lsp]'\n"
