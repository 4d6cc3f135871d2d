"""Every code block of the guide runs, every link leads somewhere, and the site builds."""

import linecache
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from vyre.testing import stand_ins

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide"
# The language's page has a test of its own.
PAGES = sorted(path.name for path in GUIDE.glob("*.md") if path.name != "language.md")
BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
KINDS = {"python", "sh", "text", "yaml"}


@dataclass(frozen=True)
class Block:
    kind: str
    title: str
    text: str


def blocks(path: Path) -> list[Block]:
    found = BLOCK.findall(path.read_text())
    title = re.compile(r'title="([^"]+)"')
    return [
        Block(kind, match[1] if (match := title.search(rest)) else "", text)
        for kind, rest, text in found
    ]


@pytest.mark.parametrize("name", PAGES)
def test_the_python_of_a_page_is_one_program_that_runs(name, tmp_path, monkeypatch):
    source = "\n".join(b.text for b in blocks(GUIDE / name) if b.kind == "python" and not b.title)
    monkeypatch.chdir(tmp_path)

    run(name, source, monkeypatch)


def run(name: str, source: str, monkeypatch) -> None:
    """Run a page's program as a module of its own."""
    where = f"<{name}>"
    linecache.cache[where] = (len(source), None, source.splitlines(keepends=True), where)
    space = {"__name__": f"guide_{name.partition('.')[0].replace('-', '_')}"}
    monkeypatch.setitem(sys.modules, space["__name__"], type(sys)(space["__name__"]))

    exec(compile(source, where, "exec", dont_inherit=True), space)  # noqa: S102  # our own text


@pytest.mark.parametrize(
    ("title", "library"),
    [
        ("with_opencl.py", "pyopencl"),
        ("with_template.py", "pyopencl"),
        ("with_torch.py", "torch"),
    ],
)
def test_what_needs_a_library_of_others_runs_where_it_is_installed(
    title, library, monkeypatch, request
):
    pytest.importorskip(library)
    if library == "pyopencl":
        request.getfixturevalue("opencl")
    run(title, titled(title).text, monkeypatch)


def titled(title: str) -> Block:
    (block,) = [block for name in PAGES for block in blocks(GUIDE / name) if block.title == title]
    return block


def test_what_needs_cupy_runs_with_its_names(monkeypatch):
    with stand_ins.cupy_by_name(stand_ins.LAUNCHES.place):
        run("with_cupy.py", titled("with_cupy.py").text, monkeypatch)


def test_what_needs_numba_runs_in_its_simulator(tmp_path):
    pytest.importorskip("numba.cuda")
    script = tmp_path / "with_numba.py"
    script.write_text(titled("with_numba.py").text)

    shown = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "VYRE_CACHE_DIR": str(tmp_path / "cache")},
    )

    assert shown.returncode == 0, shown.stderr
    assert "scale: that its configs compute the same" in shown.stdout


def test_the_triton_script_of_the_guide_runs_on_a_driver_that_writes_launches_down(
    tmp_path, monkeypatch
):
    pytest.importorskip("triton")
    pytest.importorskip("torch")
    from vyre.adapter.triton import launch, place, tuner  # it needs triton
    from vyre.testing import foreign, triton_driver

    made = triton_driver.FakeDriver()
    table = foreign.TablePlace(lambda: 1000)
    monkeypatch.setattr(tuner, "place_on", lambda _: place.Gpu(table))
    monkeypatch.setattr(launch, "job", lambda *_: None)
    (text,) = [b.text for b in blocks(GUIDE / "others.md") if b.title == "with_triton.py"]
    quick = triton_driver.QuickCompiler(tmp_path)
    with triton_driver.triton_on(made, tmp_path, quick), foreign.learning(foreign.Bench()) as bench:
        run("with_triton.py", text.replace('"cuda"', '"cpu"'), monkeypatch)
        assert bench.deciders.desk.drained(60)

    assert len(made.launches) == 100


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [n for n in PAGES if any(b.kind == "sh" for b in blocks(GUIDE / n))]
)
def test_the_commands_of_a_page_run(name, tmp_path, request):
    if any(block.title.endswith(".cl") for block in blocks(GUIDE / name)):
        request.getfixturevalue("opencl")
    lines = ["set -euo pipefail"]
    for block in blocks(GUIDE / name):
        if block.title:
            (tmp_path / block.title).write_text(block.text)
        elif block.kind == "sh":
            lines += [line for line in block.text.splitlines() if not line.startswith("pip ")]

    shown = subprocess.run(
        ["/bin/bash", "-c", "\n".join(lines)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "VYRE_CACHE_DIR": str(tmp_path / "cache"),
        },
    )

    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "Traceback" not in shown.stderr


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_only_kinds_of_blocks_that_are_checked(name):
    assert {block.kind for block in blocks(GUIDE / name)} <= KINDS


def test_what_is_said_to_be_installed_can_be():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    said = "\n".join(path.read_text() for path in [*GUIDE.glob("*.md"), ROOT / "README.md"])

    assert {name for names in re.findall(r"\.\[([\w,]+)\]", said) for name in names.split(",")} <= (
        extras.keys()
    )


@pytest.mark.parametrize(
    "path",
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_links_lead_to_files_that_are_there(path):
    targets = [link.partition("#")[0] for link in LINK.findall(path.read_text())]
    local = [link for link in targets if link and "://" not in link]

    assert [link for link in local if not (path.parent / link).exists()] == []


def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("material", reason="mkdocs is not installed: pip install '.[docs]'")

    shown = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )

    assert shown.returncode == 0, shown.stderr
    assert (tmp_path / "site" / "guide" / "first-kernel.html").exists()
    assert "https://fonts" not in (tmp_path / "site" / "index.html").read_text()
