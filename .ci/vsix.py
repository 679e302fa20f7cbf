"""The extension for VS Code as a package that editors install, from editors/vscode with its bundle (`make vsix`).

`python .ci/vsix.py FILE.vsix` needs `dist/extension.js` and `dist/bundle.json`, which `npm run build` makes. The same
sources give the same bytes. The licences of what is bundled come along.
"""

import json
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "editors" / "vscode"
TYPES = {
    ".js": "application/javascript",
    ".json": "application/json",
    ".md": "text/markdown",
    ".txt": "text/plain",
    ".vsixmanifest": "text/xml",
}
MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id={name} Version={version} Publisher={publisher}/>
    <DisplayName>{title}</DisplayName>
    <Description xml:space="preserve">{description}</Description>
    <Tags>{tags}</Tags>
    <Categories>{categories}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={engine}/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
      <Property Id="Microsoft.VisualStudio.Code.ExecutesCode" Value="true"/>
    </Properties>
    <License>extension/LICENSE.txt</License>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
  </Assets>
</PackageManifest>
"""


def manifest(stated: Mapping[str, Any]) -> str:
    """The manifest of the package, from the `package.json` of the extension."""
    languages = stated["contributes"]["languages"]
    endings = [f"__ext_{ending[1:]}" for one in languages for ending in one["extensions"]]
    quoted = {name: quoteattr(stated[name]) for name in ("name", "version", "publisher")}
    return MANIFEST.format(
        **quoted,
        title=escape(stated["displayName"]),
        description=escape(stated["description"]),
        tags=escape(",".join([*stated["keywords"], *(one["id"] for one in languages), *endings])),
        categories=escape(",".join(stated["categories"])),
        engine=quoteattr(stated["engines"]["vscode"]),
    )


def notices(source: Path) -> str:
    """The licences of the packages of npm that are part of the bundle."""
    inputs = json.loads((source / "dist" / "bundle.json").read_text(encoding="utf-8"))["inputs"]
    folders = sorted({_package_of(name) for name in inputs if "node_modules/" in name})
    return "\n\n".join(_notice(source / folder) for folder in folders) + "\n"


def _package_of(name: str) -> str:
    """The folder of a package: `node_modules/semver` of `node_modules/semver/classes/range.js`."""
    before, _, rest = name.rpartition("node_modules/")
    parts = rest.split("/")
    return f"{before}node_modules/{'/'.join(parts[: 2 if rest.startswith('@') else 1])}"


def _notice(folder: Path) -> str:
    stated = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    text = next((one for one in sorted(folder.iterdir()) if one.name.lower().startswith(("license", "licence"))), None)
    if text is None:
        raise SystemExit(f"{folder} has no licence that could come along")
    return f"{stated['name']} {stated['version']}\n\n{text.read_text(encoding='utf-8').strip()}"


def files(source: Path) -> Iterator[tuple[str, bytes]]:
    """The entries of the package."""
    stated = json.loads((source / "package.json").read_text(encoding="utf-8"))
    kept = {name: value for name, value in stated.items() if name not in ("scripts", "devDependencies")}
    types = "".join(f'<Default Extension="{ending}" ContentType="{kind}"/>' for ending, kind in TYPES.items())
    content = f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{types}</Types>'
    yield "extension.vsixmanifest", manifest(stated).encode()
    yield "[Content_Types].xml", f'<?xml version="1.0" encoding="utf-8"?>\n{content}'.encode()
    yield "extension/package.json", json.dumps(kept, indent=2).encode()
    yield "extension/LICENSE.txt", (ROOT / "LICENSE").read_bytes()
    yield "extension/NOTICES.txt", notices(source).encode()
    grammars = [one["path"] for one in stated["contributes"]["grammars"]]
    configurations = [one["configuration"] for one in stated["contributes"]["languages"]]
    for name in ("README.md", stated["main"], *grammars, *configurations):
        yield f"extension/{name.removeprefix('./')}", (source / name).read_bytes()


def write(package: Path, source: Path = SOURCE) -> None:
    """Write the package; its entries have no time."""
    package.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(package, "w") as archive:
        for name, content in files(source):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
