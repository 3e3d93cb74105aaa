"""The tables of docs/results.md, kept up to date among what is said of them."""

import re
from pathlib import Path

from benchmarks.paper.render import accuracies
from benchmarks.paper.tables import Scale, Table

DOCUMENT = Path(__file__).parents[2] / "docs" / "results.md"
SCALE = "mini"
BEGIN, END = r"<!-- table (?P<name>\S+) of (?P<data>\S+) -->\n", "<!-- end of table -->"
PLACE = re.compile(f"(?P<begin>{BEGIN}).*?{END}", re.DOTALL)


def fill(text: str, scale: Scale, tables: dict[str, Table]) -> str:
    """`text` with our rows of a table between its marks, `<!-- table NAME of DATA -->` and `<!-- end of table -->`."""

    def written(place: re.Match[str]) -> str:
        table = tables[place["name"]]
        columns = [column for column in table.columns if column.data == place["data"]]
        lines = accuracies(scale, table, columns, others=False)
        return place["begin"] + "\n" + "\n".join(lines) + "\n\n" + END

    return PLACE.sub(written, text)
