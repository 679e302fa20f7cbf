"""The documents of a system: SSD, SSV, SSM and SSB files as typed XML trees, and the archive that holds them.

The tree is the document: each kind of element is a small class over its lxml node, declared once with its attributes,
defaults and children. What an edit does not touch is saved byte for byte, foreign content included, and every element
knows its file, line and address. This layer does not know FMUs or networks.
"""
