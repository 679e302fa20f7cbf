"""Documents that other tools wrote: each is validated, explained, drawn and saved again; each error has a clause.

They stand in `shared/corpus` beside the project and are never copied into it.
"""

from pathlib import Path

import pytest

import ssptool
from ssptool.documents.archive import Archive
from ssptool.fmu.read_description import read_description

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of documents by other tools is not here")
STRUCTURES = sorted(CORPUS.rglob("*.ssd"))
OSP = sorted(path for path in CORPUS.rglob("OspSystemStructure*.xml"))
DESCRIPTIONS = sorted(CORPUS.rglob("modelDescription.xml"))

OMS = "OMSimulator/testsuite/tests/resources"
LIBCOSIM = "libcosim/tests/data"
OPENMCX = "openmcx/examples"
NO_FMU = {"URI-002": "SSP 2.0 §5.4: the source of a component is its FMU; the corpus has no binaries"}
GROUP = {"FMU-003": "SSP 2.0 §5.2.1 (MUST): the connector of an FMI 2.0 FMU has the name of one scalar variable"}
JUSTIFIED = {
    f"{OMS}/LOC/SystemStructure.ssd": NO_FMU,
    f"{OMS}/LinearTransformation/SystemStructure.ssd": NO_FMU,
    f"{OMS}/LinearTransformation3/SystemStructure.ssd": NO_FMU,
    f"{LIBCOSIM}/fmi2/quarter_truck/OspSystemStructure.xml": NO_FMU,
    f"{LIBCOSIM}/msmi/OspSystemStructure.xml": NO_FMU,
    f"{LIBCOSIM}/msmi/OspSystemStructure_EndTime.xml": NO_FMU,
    f"{LIBCOSIM}/msmi/OspSystemStructure_Bond.xml": NO_FMU,
    f"{LIBCOSIM}/msmi/OspSystemStructure_Dahlquist.xml": NO_FMU,
    f"{LIBCOSIM}/msmi/OspSystemStructure_StateInitExample.xml": NO_FMU,
    f"{LIBCOSIM}/ssp/demo/SystemStructure.ssd": NO_FMU,
    f"{LIBCOSIM}/ssp/demo/no_algorithm_element/SystemStructure.ssd": NO_FMU,
    f"{LIBCOSIM}/ssp/linear_transformation/SystemStructure.ssd": NO_FMU,
    f"{OPENMCX}/connections/model.ssd": GROUP,
    f"{OPENMCX}/units/model.ssd": GROUP,
    f"{OPENMCX}/vector_ports/model.ssd": GROUP,
    f"{OPENMCX}/getting_started/model.ssd": {
        "FMU-002": "SSP 2.0 §5.2.1 (MUST): a connector has the name of a variable of the FMU; 'in' and 'out' are none"
    },
}
"""Document → code of an error that is reported → the clause that makes it one, and the fact in the document."""
READ = [*STRUCTURES, *OSP]


@pytest.fixture(autouse=True)
def working_folder(monkeypatch):
    """The corpus: its systems name FMUs around them, which only their user may read."""
    monkeypatch.chdir(CORPUS)


def name(path: Path) -> str:
    return path.relative_to(CORPUS).as_posix()


def test_the_corpus_is_whole():
    assert (len(STRUCTURES), len(OSP), len(DESCRIPTIONS)) == (12, 8, 17)


@pytest.mark.parametrize("path", STRUCTURES + OSP, ids=name)
def test_every_error_is_justified_by_a_clause(path):
    found = {error.code for error in ssptool.validate(path).errors}
    assert found == set(JUSTIFIED.get(name(path), {}))


@pytest.mark.parametrize("path", STRUCTURES, ids=name)
def test_a_document_that_is_opened_and_saved_has_the_same_bytes(path):
    with Archive.open(path) as archive:
        document = archive.structure()
        assert document.root is not None
        assert document.to_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", READ, ids=name)
def test_a_structure_is_drawn_with_all_its_components(path, tmp_path):
    ssptool.draw(path, tmp_path / "drawn.svg")
    text = (tmp_path / "drawn.svg").read_text()
    with Archive.open(path) as archive:
        elements = archive.structure().structure.system.elements
    assert elements and all(element.name in text for element in elements)


@pytest.mark.parametrize("path", READ, ids=name)
def test_what_is_set_is_explained_with_its_place(path):
    for one in ssptool.explain(path):
        assert str(one)


@pytest.mark.parametrize("path", [*CORPUS.glob("openmcx/examples/*/model.ssd")], ids=name)
def test_systems_whose_fmus_are_here_are_planned(path):
    """What the clauses above make an error is accepted; a component of the vendor's own is left out."""
    plan = ssptool.plan(path, accept=["SSD-COMP-004", "FMU-002", "FMU-003"])
    assert plan.instances


@pytest.mark.parametrize("path", DESCRIPTIONS, ids=name)
def test_a_model_description_is_read_whole(path):
    """As many variables as the file has elements for them, and a verdict without a failure of ours."""
    description = read_description(path.parent)
    text = path.read_text(encoding="utf-8")
    stated = text.count("<ScalarVariable") if description.fmi_major < 3 else None
    assert stated is None or len(description.variables) == stated
    report = ssptool.validate(path.parent)
    assert not [found for found in report.diagnostics if found.code == "INTERNAL"]
