"""The layers of the architecture hold, and its page is current."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "vyre"
LAYERS = [
    *(
        "plain",
        "errors",
        "model",
        "stats",
        "ir",
        "lang",
        "analysis",
        "emit",
        "plan",
        "policy",
        "substrate",
    ),
    *("settings", "store", "backend", "runtime", "seed", "kernels", "adapter", "report"),
    *("testing", "cli"),
]
PURE = LAYERS[: LAYERS.index("settings")]
WORLD = {"os", "time", "threading", "subprocess", "socket", "sqlite3", "logging"}
OPTIONAL = ("pyopencl", "cuda", "torch", "triton", "cupy", "numba", "hypothesis", "rich", "typer")


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def layer_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            if node.module == "vyre":
                found |= {f"vyre.{alias.name}" for alias in node.names}
            else:
                found.add(str(node.module))
    return found


def layers_used(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imports(path) if name.startswith("vyre.")} & set(LAYERS)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_its_own_layer_or_a_lower_one(path: Path):
    layer = layer_of(path)
    if layer == "__init__":
        return

    assert layer in LAYERS, f"{layer} has no place in the order of layers"
    above = [used for used in layers_used(path) if LAYERS.index(used) > LAYERS.index(layer)]
    assert above == []


@pytest.mark.parametrize(
    "path",
    [path for path in modules() if layer_of(path) in PURE],
    ids=lambda path: str(path.relative_to(SOURCE)),
)
def test_a_pure_module_does_not_touch_the_world(path: Path):
    assert {name.split(".")[0] for name in imports(path)} & WORLD == set()


def test_only_the_settings_read_the_environment():
    readers = [path for path in modules() if re.search(r"\benviron\b", path.read_text())]

    assert {layer_of(path) for path in readers} <= {"settings"}


def test_no_module_hides_an_import_inside_a_function_of_a_pure_layer():
    hidden = []
    for path in modules():
        if layer_of(path) not in PURE:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                hidden += [
                    f"{path.name}:{inner.lineno}"
                    for inner in ast.walk(node)
                    if isinstance(inner, (ast.Import, ast.ImportFrom))
                ]

    assert hidden == []


def test_importing_vyre_loads_no_optional_library():
    code = "import sys, vyre; print(*{name.split('.')[0] for name in sys.modules})"

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert set(loaded.stdout.split()) & set(OPTIONAL) == set()


def test_the_architecture_page_shows_the_tree_as_it_is():
    script = SOURCE.parents[1] / "scripts" / "architecture.py"

    shown = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)

    assert shown.returncode == 0, shown.stdout + shown.stderr
