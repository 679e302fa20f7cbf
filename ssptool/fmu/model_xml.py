"""The XML of a model description, out of an FMU and in the shape in which FMPy can read all of it."""

from collections.abc import Callable
from copy import deepcopy
from io import BytesIO
from pathlib import Path
from typing import Generic, TypeVar
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

from lxml import etree

from ssptool.documents.generated import parsed_model_description
from ssptool.documents.uncollected import uncollected
from ssptool.fmu.packed import MODEL_DESCRIPTION as MODEL_DESCRIPTION
from ssptool.fmu.packed import Recent, packed

MAXIMUM_SIZE = 256 * 1024 * 1024
"""Bytes of XML that are read at most; a larger model description is refused (a zip may hide gigabytes)."""

T = TypeVar("T")


class UnusableXml(Exception):
    """What is wrong with the FMU's file or its XML, in words for the user."""


class ByContent(Generic[T]):
    """A function of a model description that remembers its latest results.

    Checking a system, flattening it and running it ask for the same few FMUs again and again.
    """

    def __init__(self, read: Callable[[bytes], T]) -> None:
        self._read = read
        self._recent: Recent[T] = Recent()

    def __call__(self, content: bytes) -> T:
        known = self._recent.get(content)
        if known is None:
            with uncollected():
                known = self._read(content)
            self.remember(content, known)
        return known

    def remember(self, content: bytes, result: T) -> None:
        """For the next call, what another function has found out besides."""
        self._recent.put(content, result, len(content))


def parse(content: bytes) -> etree._Element:
    """The root element of a model description. External entities, DTDs and the network are never used.

    Raises
    ------
    UnusableXml
        It is not well-formed, or not a model description of FMI 1.0, 2.0 or 3.x.
    """
    try:
        root = parsed_model_description(content)
    except etree.XMLSyntaxError as error:
        raise UnusableXml(f"{MODEL_DESCRIPTION}, line {error.lineno}: {error.msg.partition(', line ')[0]}") from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise UnusableXml(f"{MODEL_DESCRIPTION} has a document type declaration, which FMI does not provide for")
    version = root.get("fmiVersion")
    if version is None:
        raise UnusableXml(f"{MODEL_DESCRIPTION} has no attribute fmiVersion at its root <{root.tag}>")
    if version not in ("1.0", "2.0") and not version.startswith("3."):
        raise UnusableXml(f'fmiVersion "{version}" is not supported; supported are 1.0, 2.0 and 3.x')
    if root.find("ModelVariables") is None:
        raise UnusableXml(f"{MODEL_DESCRIPTION} has no element ModelVariables")
    return root


def model_description(path: Path) -> bytes:
    """The model description of the FMU (a zip, or an unpacked folder) at `path`.

    Raises
    ------
    UnusableXml
        There is no such file, or no model description in it.
    """
    if path.is_dir():
        file = path / MODEL_DESCRIPTION
        if not file.is_file():
            raise UnusableXml(f"the folder holds no {MODEL_DESCRIPTION}")
        return file.read_bytes()
    if not path.is_file():
        raise UnusableXml("no such file")
    try:
        if (kept := packed(path).description) is not None:
            return kept
        with ZipFile(path) as archive:
            size = archive.getinfo(MODEL_DESCRIPTION).file_size
            if size > MAXIMUM_SIZE:
                raise UnusableXml(f"{MODEL_DESCRIPTION} has {size} bytes; at most {MAXIMUM_SIZE} are read")
            return archive.read(MODEL_DESCRIPTION)
    except KeyError:
        raise UnusableXml(f"the archive holds no {MODEL_DESCRIPTION}") from None
    except (BadZipFile, EOFError, NotImplementedError, OSError, RuntimeError, ZlibError) as error:
        raise UnusableXml(f"not an intact zip archive ({error})") from error


def in_memory_fmu(root: etree._Element) -> BytesIO:
    """A zip that holds nothing but this model description, without variables and model structure, for FMPy.

    Of FMI 1.0 it cannot do without the numbers of states and event indicators, which no other reader of an FMU for
    co-simulation needs.
    """
    head = etree.Element(root.tag, {str(name): str(value) for name, value in root.attrib.items()})
    if root.get("fmiVersion") == "1.0":
        for name in ("numberOfContinuousStates", "numberOfEventIndicators"):
            head.set(name, root.get(name, "0"))
    for child in root.iterchildren(etree.Element):
        head.append(etree.Element(child.tag) if child.tag in ("ModelVariables", "ModelStructure") else deepcopy(child))
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr(MODEL_DESCRIPTION, etree.tostring(head))
    return file


def unreadable_reason(error: Exception) -> str:
    """Why FMPy or we gave up, in words. FMPy's own exceptions are sentences; others need their kind named."""
    if isinstance(error, UnusableXml) or type(error) is Exception:
        return str(error)
    if isinstance(error, KeyError):
        return f"{MODEL_DESCRIPTION} refers to {error}, which it does not define"
    if isinstance(error, IndexError):
        return f"{MODEL_DESCRIPTION} refers to a variable index that does not exist"
    return f"{MODEL_DESCRIPTION}: {error}"
