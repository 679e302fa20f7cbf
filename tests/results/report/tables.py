"""What tables of a page say."""


def cells(root, caption: str) -> list[list[str]]:
    """The texts of the table with this caption, row by row, without its head."""
    table = root.xpath(f"//table[normalize-space(caption)='{caption}']")[0]
    return [[cell.text_content() for cell in row] for row in table.xpath("./tbody/tr")]
