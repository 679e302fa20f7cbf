"""Print each package of a report of `pip install --dry-run --report -` with its version and the hash of its file.

The project itself, which comes without a hash, is left out.
"""

import json
import sys

HEAD = """\
# What .ci/run installs, each with the hash of its file (Linux x86_64, CPython 3.11). `make pins` writes it again.
"""


def main() -> None:
    lines = []
    for one in json.load(sys.stdin)["install"]:
        hashes = one["download_info"].get("archive_info", {}).get("hashes")
        if hashes:
            name = f"{one['metadata']['name']}=={one['metadata']['version']}"
            lines.append(f"{name} --hash=sha256:{hashes['sha256']}\n")
    print(HEAD + "".join(sorted(lines, key=str.lower)), end="")


if __name__ == "__main__":
    main()
