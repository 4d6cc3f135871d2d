"""Writes the tree of modules in ARCHITECTURE.md from their docstrings; --check only compares."""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE, PAGE = ROOT / "src" / "vyre", ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- tree: python scripts/architecture.py -->\n```\n", "```\n<!-- /tree -->"
ORDER = [
    *("__init__", "plain", "errors", "model", "stats", "ir", "lang", "analysis", "emit", "plan"),
    *(
        "policy",
        "substrate",
        "settings",
        "store",
        "backend",
        "learn",
        "runtime",
        "seed",
        "kernels",
        "adapter",
        "report",
    ),
    *("testing", "cli"),
]


def docstring(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    line = text.split("\n\n")[0].replace("\n", " ")
    return line[0].lower() + line[1:].rstrip(".") if line else ""


def tree() -> str:
    lines = ["src/vyre/"]
    for name in ORDER:
        folder, module = SOURCE / name, SOURCE / f"{name}.py"
        if name == "settings":
            lines.append(f"  {'-' * 66} pure above, effects below")
        if module.exists():
            lines.append(f"  {name + '.py':<16}{docstring(module)}")
        elif (folder / "__init__.py").exists():
            lines.append(f"  {name + '/':<16}{docstring(folder / '__init__.py')}")
    return "\n".join(lines) + "\n"


def main() -> int:
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    old, _, after = rest.partition(END)
    if old == tree():
        return 0
    if "--check" in sys.argv:
        print("ARCHITECTURE.md is not current. Fix: run python scripts/architecture.py")
        return 1
    PAGE.write_text(before + BEGIN + tree() + END + after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
