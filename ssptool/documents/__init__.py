"""The documents of a system: SSD, SSV, SSM and SSB files as typed XML trees, and their archive.

The tree is the document: each kind of element is a small class over its lxml node, declared once with its attributes,
defaults and children. Parts that an edit does not change are saved byte for byte, including foreign content. Each
element has its file, line and address. This layer is independent of FMUs and networks.
"""
