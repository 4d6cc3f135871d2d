"""The language's guide: its blocks are one program that runs."""

import linecache
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vyre

GUIDE = Path(__file__).parents[2] / "docs/guide/language.md"


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the blocks of the guide define, once they ran."""
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    source = "\n".join(blocks)
    linecache.cache["<guide>"] = (len(source), None, source.splitlines(keepends=True), "<guide>")
    found = {"__name__": "guide", "blocks": blocks}

    exec(compile(source, "<guide>", "exec"), found)  # noqa: S102  # our own text

    return found


def test_the_blocks_of_the_guide_run(names: dict[str, Any]):
    assert len(names["blocks"]) >= 8


def test_the_reductions_of_the_guide_are_what_their_names_say(names: dict[str, Any]):
    rng = np.random.default_rng(0)
    x, v, c = (rng.standard_normal(shape).astype(np.float32) for shape in ((7, 50), 50, (4, 50)))
    exp = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    device = vyre.open("reference")

    def run(name: str, *arrays: Any, **options: Any) -> Any:
        return np.asarray(names[name](*map(device.array, arrays), **options))

    expected = {
        "softmax": (run("softmax", x), exp / exp.sum(1, keepdims=True)),
        "layer_norm": (
            run("layer_norm", x, eps=1e-5),
            (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5),
        ),
        "matrix_vector": (run("matrix_vector", x, v, shape=7), x @ v),
        "column_means": (run("column_means", x, shape=50), x.mean(0)),
        "nearest": (run("nearest", x, c, shape=7), ((x[:, None] - c) ** 2).sum(-1).argmin(1)),
        "dot": (run("dot", v, v), [v @ v]),
        "norm": (run("norm", v), [np.linalg.norm(v)]),
    }
    for name, (given, wanted) in expected.items():
        assert np.allclose(given, wanted, rtol=1e-4, atol=1e-5), name
