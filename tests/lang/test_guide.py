"""The language's guide: its blocks are one program that runs."""

import linecache
import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs/guide/language.md"


def test_the_blocks_of_the_guide_run():
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    source = "\n".join(blocks)
    linecache.cache["<guide>"] = (len(source), None, source.splitlines(keepends=True), "<guide>")

    exec(compile(source, "<guide>", "exec"), {"__name__": "guide"})  # noqa: S102  # our own text

    assert len(blocks) >= 8
