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
    *(
        "settings",
        "store",
        "backend",
        "learn",
        "runtime",
        "seed",
        "kernels",
        "adapter",
        *(
            "cupy",
            "numba",
            "opencl",
            "torch",
            "triton",
        ),  # the adapters' names for users: `import vyre.torch`
        "report",
        "testing",
        "cli",
    ),
]
PURE = LAYERS[: LAYERS.index("settings")]
WORLD = {"os", "time", "threading", "subprocess", "socket", "sqlite3", "logging"}
OPTIONAL = (
    *("pyopencl", "cuda", "llvmlite", "torch", "triton", "cupy", "numba", "hypothesis"),
    *("rich", "typer"),
)


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


def loaded(path: Path) -> set[str]:
    """The modules that importing a module loads; what only types ask for does not count."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {one if is_module(one) else str(node.module) for one in inner}
    return found


def is_module(name: str) -> bool:
    path = SOURCE.parent / name.replace(".", "/")
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


ROOMS = ["arrays", "compile", "devices", "call", "speculation"]
"""The rooms of the runtime; each loads those before it."""


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_of_the_runtime_loads_those_before_it(room: str):
    later = ROOMS[ROOMS.index(room) + 1 :]
    paths = sorted((SOURCE / "runtime" / room).glob("*.py"))

    assert paths
    for path in paths:
        rooms = {name.split(".")[2] for name in loaded(path) if name.startswith("vyre.runtime.")}
        assert not rooms & set(later), path.name


def test_the_runtime_is_nothing_but_rooms():
    assert {path.name for path in (SOURCE / "runtime").glob("*.py")} == {"__init__.py"}
    folders = {path.name for path in (SOURCE / "runtime").iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} == set(ROOMS)


@pytest.mark.parametrize("path", sorted((SOURCE / "learn").rglob("*.py")), ids=lambda p: p.name)
def test_learning_knows_no_kernel_and_no_source(path: Path):
    """What is launched is a subject's: `learn` has no part in programs, plans and emitters."""
    assert layers_used(path) & {"ir", "lang", "analysis", "emit", "plan", "runtime"} == set()


def test_no_module_is_imported_by_what_it_imports():
    names = {name_of(path): path for path in modules()}
    edges = {
        name: {other for other in loaded(path) if other in names and other != name}
        for name, path in names.items()
        if name != "vyre"
    }
    ended: set[str] = set()

    def walk(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join((*above[above.index(name) :], name))
        if name not in ended:
            for other in sorted(edges.get(name, ())):
                walk(other, (*above, name))
            ended.add(name)

    for name in sorted(edges):
        walk(name, ())


NAMES_BACKENDS = ("backend/", "runtime/devices/opened.py")
"""Where a backend may be known by its name: in its own folder and in the table of loaders."""


def names_compared(tree: ast.AST) -> list[int]:
    """The lines on which a `.backend` is compared with, looked up in or matched against texts."""

    def is_name(node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute) and node.attr == "backend"

    def holds_text(node: ast.AST) -> bool:
        return any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in ast.walk(node))

    def asks(node: ast.AST) -> bool:
        match node:
            case ast.Compare():
                sides = [node.left, *node.comparators]
                return any(map(is_name, sides)) and any(map(holds_text, sides))
            case ast.Match():
                return is_name(node.subject)
            case ast.Subscript():
                return is_name(node.slice)
            case ast.Call(func=ast.Attribute(value=held, attr="get" | "startswith" | "__eq__")):
                return any(map(is_name, (held, *node.args)))
        return False

    return [node.lineno for node in ast.walk(tree) if asks(node)]


@pytest.mark.parametrize(
    "code",
    [
        'device.info.backend == "cuda"',
        '"cuda" != info.backend',
        'info.backend in ("cuda", "opencl")',
        "BATCH.get(info.backend, 2)",
        'info.backend.startswith("cu")',
        "BATCH[info.backend]",
        'match info.backend:\n    case "cuda":\n        pass',
    ],
)
def test_a_question_for_a_name_is_found(code: str):
    assert names_compared(ast.parse(code)) == [1]


def test_code_asks_what_a_backend_can_do_and_never_what_it_is_called():
    asking = [
        f"{path.relative_to(SOURCE.parents[1])}:{line}"
        for path in (*modules(), *sorted((SOURCE.parents[1] / "scripts").glob("*.py")))
        if not str(path.relative_to(SOURCE.parents[1])).startswith(
            tuple(f"src/vyre/{allowed}" for allowed in NAMES_BACKENDS)
        )
        for line in names_compared(ast.parse(path.read_text()))
    ]

    assert asking == []


STARTS_THREADS = [
    *("adapter/beside.py", "backend/cpu/pool.py", "learn/desk.py", "learn/recorder.py"),
    "runtime/compile/worker.py",
]


def test_threads_are_started_where_learning_compiling_and_the_processor_need_them():
    """Whoever looks for what runs beside a call has these modules to read."""
    starting = [
        path.relative_to(SOURCE).as_posix()
        for path in modules()
        if layer_of(path) != "testing"  # contract kits call from several
        and any(
            isinstance(node, ast.Attribute) and node.attr in ("Thread", "start_new_thread")
            for node in ast.walk(ast.parse(path.read_text()))
        )
    ]

    assert starting == STARTS_THREADS


def test_no_module_hides_an_import_inside_a_function():
    """But for an optional library, which is loaded when its backend or its arrays are asked for."""
    hidden = [
        f"{path.relative_to(SOURCE)}:{inner.lineno}"
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for inner in ast.walk(node)
        if isinstance(inner, (ast.Import, ast.ImportFrom)) and not is_optional(inner)
    ]

    assert hidden == []


def is_optional(node: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import is of an optional library, or of our module that needs one."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        if node.module == "vyre.backend":
            return set(names) <= {"cuda", "opencl"}
        names = [str(node.module)]
    return all(name.split(".")[0] in OPTIONAL for name in names)


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
