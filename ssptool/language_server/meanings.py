"""Meanings of the attributes, words and lists of SSP for hover texts and completion.

An attribute is looked up first with its element, then alone: `name` means the same nearly everywhere.
"""

from collections.abc import Mapping

ATTRIBUTES: Mapping[str, str] = {
    "A": "Exponent of the ampere in the base units.",
    "K": "Exponent of the kelvin in the base units.",
    "author": "Name of the author of the document.",
    "cd": "Exponent of the candela in the base units.",
    "copyright": "Copyright notice of the document.",
    "description": "A sentence for readers.",
    "dictionary": "Name of a signal dictionary of this system, or of one around it.",
    "endConnector": "Connector at the other end of the connection.",
    "endElement": "Element of that connector; left out, it is the system itself.",
    "endIndices": "The element of an array that is connected: one index for each dimension, from 1.",
    "factor": "Factor f of f · v + offset.",
    "fileversion": "Version of the document, in the words of its author.",
    "generationDateAndTime": "Date and time at which the document was made, such as 2026-11-26T12:00:00Z.",
    "generationTool": "Tool that made the document.",
    "iconFixedAspectRatio": "Whether the icon keeps its proportions in the rectangle.",
    "iconFlip": "Whether the icon is mirrored, left to right.",
    "iconRotation": "Rotation of the icon, counter-clockwise [°].",
    "iconSource": "Image (PNG or SVG) that shows the element.",
    "id": "Identifier, unique in the file.",
    "implementation": "Interface of the FMU that is used.",
    "intervalCounter": "Interval of a clock, in ticks of its resolution.",
    "intervalDecimal": "Interval of a clock [s].",
    "intervalVariability": "Whether and when the interval of a clock changes.",
    "kg": "Exponent of the kilogram in the base units.",
    "kind": "Direction or role of the connector.",
    "license": "Licence of the document.",
    "m": "Exponent of the metre in the base units.",
    "mime-type": "Media type of the bytes; only equal ones can be connected.",
    "mol": "Exponent of the mole in the base units.",
    "name": "Name by which others refer to it.",
    "offset": "Offset b of factor · v + b.",
    "pointsX": "Horizontal places of the bends of the line.",
    "pointsY": "Vertical places of the bends of the line.",
    "prefix": "Text that is put before the names of the parameters of the set.",
    "priority": "Priority of the clock; smaller numbers come first.",
    "rad": "Exponent of the radian in the base units.",
    "resolution": "Ticks per second that counters of a clock count.",
    "role": "Purpose of the signature.",
    "rotation": "Rotation of the element, counter-clockwise [°].",
    "s": "Exponent of the second in the base units.",
    "shiftCounter": "Delay of the first tick of a clock, in ticks of its resolution.",
    "shiftDecimal": "Delay of the first tick of a clock [s].",
    "size": "Number of elements in this dimension.",
    "sizeConnector": "Connector whose value is the number of elements in this dimension.",
    "source": "File, as a URI relative to this document.",
    "sourceBase": "From where the URI counts: this document, or the file of the component.",
    "startConnector": "Connector at one end of the connection.",
    "startElement": "Element of that connector; left out, it is the system itself.",
    "startIndices": "The element of an array that is connected: one index for each dimension, from 1.",
    "startTime": "Start of the simulation [s].",
    "stopTime": "End of the simulation [s].",
    "supportsFraction": "Whether the clock is given by counters and a resolution.",
    "suppressUnitConversion": "Whether the number is passed on as it is although the units differ.",
    "systemInnerX": "Horizontal place inside the system, from 0 (left) to 1 (right).",
    "systemInnerY": "Vertical place inside the system, from 0 (bottom) to 1 (top).",
    "target": "Name of the variable or connector that gets the value.",
    "text": "Text of the note.",
    "type": "Media type of the content.",
    "unit": "Name of a unit that this document defines; left out, there is none.",
    "value": "The value, as a text of its type.",
    "version": "Version of SSP that the document follows.",
    "x": "Horizontal place at the element, from 0 (left) to 1 (right).",
    "x1": "Left edge.",
    "x2": "Right edge.",
    "y": "Vertical place at the element, from 0 (bottom) to 1 (top).",
    "y1": "Lower edge.",
    "y2": "Upper edge.",
    "Annotation type": "Name of the annotation, in reverse domain notation such as com.example.note.",
    "Component type": "Media type of the source; left out, it is an FMU.",
    "Connector name": "Name of the connector; at an FMU that of its variable.",
    "Enumeration name": "Name of an enumeration that this document defines.",
    "EnumerationItem value": "Number of the item.",
    "MapEntry source": "Value that is replaced.",
    "MapEntry target": "Value that takes its place.",
    "MappingEntry source": "Name of a parameter of the set, with the prefix of the binding.",
    "MetaData kind": "Relation of the metadata to what it describes.",
    "Parameter name": "Name of the parameter: the variable that it sets, or a name that a mapping knows.",
    "Signature kind": "Relation of the signature to what it signs.",
    "Unit name": "Name by which this document refers to the unit.",
}
"""Meanings by attribute, or by element and attribute."""

WORDS: Mapping[str, str] = {
    "kind input": "The element takes the value.",
    "kind output": "The element gives the value.",
    "kind inout": "Both directions, such as a bus.",
    "kind parameter": "Set before the run, and fixed during it.",
    "kind calculatedParameter": "Calculated from parameters before the run, and fixed during it.",
    "kind structuralParameter": "Decides sizes of arrays; set in configuration mode (SSP 2.0).",
    "kind constant": "Never changes (SSP 2.0).",
    "kind local": "Inside of the element; can be read, not set (SSP 2.0).",
    "kind unspecified": "Direction follows from the connections (SSP 2.0).",
    "implementation any": "Whichever interface the tool chooses.",
    "implementation CoSimulation": "Contains its own solver and steps itself.",
    "implementation ModelExchange": "Gives derivatives, which the tool integrates.",
    "implementation ScheduledExecution": "Its model partitions are activated one by one (FMI 3.0).",
    "sourceBase SSD": "From the folder of this document.",
    "sourceBase component": "From inside the file of the component.",
    "intervalVariability constant": "Known, and never changes.",
    "intervalVariability fixed": "Set before the run.",
    "intervalVariability tunable": "Set at events.",
    "intervalVariability changing": "The FMU tells the next interval at each tick.",
    "intervalVariability countdown": "The FMU tells at events when the next tick is.",
    "intervalVariability triggered": "Ticks by events, not by time.",
    "role authenticity": "Tells that the content comes from its author.",
    "role suitability": "Tells that the content suits a purpose.",
}
"""Meanings by attribute and word."""

LISTS: Mapping[str, str] = {
    "Annotations": "Data of tools, each under a name of its own.",
    "Connections": "The connections between connectors of the elements, and of the system itself.",
    "Connectors": "The connectors of the element.",
    "Elements": "Components, nested systems and references to signal dictionaries.",
    "Enumerations": "Enumerations that this document defines.",
    "GraphicalElements": "Notes in the diagram.",
    "ParameterBindings": "Parameter sets that give the element values; the last one wins.",
    "Parameters": "The parameters of the set.",
    "SignalDictionaries": "Dictionaries of signals of the system.",
    "Units": "Units that this document defines.",
}
"""Elements that only contain other elements."""


SINCE_2_0 = frozenset(
    {
        *("Clock", "Content", "Dimension", "MetaData", "Signature", "Value", "Float32", "Float64"),
        *("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"),
        *("startIndices", "endIndices", "size", "sizeConnector", "role", "systemInnerX", "systemInnerY"),
        *("intervalCounter", "intervalDecimal", "intervalVariability", "priority", "resolution"),
        *("shiftCounter", "shiftDecimal", "supportsFraction"),
    }
)
"""Elements and attributes that SSP 1.0 does not have."""
WORDS_SINCE_2_0 = frozenset(
    ("kind structuralParameter", "kind constant", "kind local", "kind unspecified", "implementation ScheduledExecution")
)


def meaning(element: str, attribute: str) -> str:
    """The meaning of an attribute of an element, by their local names; empty if it is not known."""
    return ATTRIBUTES.get(f"{element} {attribute}") or ATTRIBUTES.get(attribute, "")


def word_meaning(attribute: str, word: str) -> str:
    """The meaning of a word of a closed set, as the value of an attribute."""
    return WORDS.get(f"{attribute} {word}", "")
