"""Chapters of the catalogue. Importing this module enters their rules."""

from ssptool.rules.annotations import ANNOTATIONS
from ssptool.rules.arrays import DIMENSIONS
from ssptool.rules.capabilities import FMUS
from ssptool.rules.clocks import CLOCKS
from ssptool.rules.connections import CONNECTIONS
from ssptool.rules.connectors import CONNECTORS
from ssptool.rules.dictionaries import DICTIONARIES
from ssptool.rules.elements import ELEMENTS
from ssptool.rules.enumerations import ENUMERATIONS
from ssptool.rules.experiment import EXPERIMENT
from ssptool.rules.fmu import FMU_COMPONENTS
from ssptool.rules.geometry import GEOMETRY
from ssptool.rules.interoperability import OTHER_TOOLS
from ssptool.rules.loops import LOOPS
from ssptool.rules.mappings import MAPPINGS
from ssptool.rules.metadata import METADATA
from ssptool.rules.package import ENTRIES
from ssptool.rules.parameters import BINDINGS
from ssptool.rules.sources import SOURCES
from ssptool.rules.tables import TABLES
from ssptool.rules.transformations import TRANSFORMATIONS
from ssptool.rules.units import UNITS
from ssptool.rules.values import PARAMETER_SETS
from ssptool.rules.xml import FILES

CHAPTERS = (
    ENTRIES,
    FILES,
    ANNOTATIONS,
    ENUMERATIONS,
    UNITS,
    DIMENSIONS,
    CLOCKS,
    TRANSFORMATIONS,
    METADATA,
    ELEMENTS,
    CONNECTORS,
    CONNECTIONS,
    LOOPS,
    DICTIONARIES,
    BINDINGS,
    PARAMETER_SETS,
    MAPPINGS,
    SOURCES,
    FMU_COMPONENTS,
    TABLES,
    FMUS,
    GEOMETRY,
    EXPERIMENT,
    OTHER_TOOLS,
)
"""In the order of the standard."""
