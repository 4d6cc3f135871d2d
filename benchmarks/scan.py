"""How fast literals are found in a large file: Vyre against `grep -F` and Python's `re`.

The file is the standard library's own sources, over and over. All sides look for the same patterns
and must find the same matches, leftmost and longest; they take turns, and ratios are paired.
Python's `re` tries a thousand alternatives one after the other, so it sits that round out.
"""

import argparse
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

from measure import halves, interleave, ratio, save

import vyre
from vyre import settings
from vyre.kernels.literals import scan
from vyre.kernels.search import Literals, find_in, leftmost_longest

PATTERNS = {
    "1 rare": [b"KeyboardInterrupt"],
    "8 words": [
        b"KeyboardInterrupt",
        b"asyncio.sleep",
        b"NotImplementedError",
        b"collections.abc",
        b"xml.etree",
        b"contextlib",
        b"ResourceWarning",
        b"memoryview(",
    ],
}


def write_text(path: Path, size: int) -> None:
    sources = [p.read_bytes() for p in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py"))]
    text = b"".join(sources)
    with path.open("wb") as file:
        while size > 0:
            file.write(text[:size])
            size -= len(text)


def a_thousand(path: Path) -> list[bytes]:
    """Identifiers as they come in the text, each once."""
    words = re.findall(rb"[A-Za-z_]{8,24}", path.read_bytes()[: 64 << 20])
    return list(dict.fromkeys(words))[:1000]


def by_vyre(path: Path, patterns: list[bytes]) -> int:
    literals = Literals.of(patterns)
    count = free = 0
    with path.open("rb") as file:
        for part in find_in(file, literals):
            sizes = literals.lengths[part.numbers]
            kept = leftmost_longest(part.offsets, sizes, free)
            if kept:
                free = int(part.offsets[kept[-1]] + sizes[kept[-1]])
            count += len(kept)
    return count


def by_grep(path: Path, patterns: list[bytes]) -> int:
    """Into a pipe: grep stops at the first match where its output goes nowhere."""
    listed = path.with_suffix(".patterns")
    listed.write_bytes(b"\n".join(patterns) + b"\n")
    grep = shutil.which("grep") or "grep"
    shown = subprocess.run(  # noqa: S603  # our own words
        [grep, "-aFobf", str(listed), str(path)],
        capture_output=True,
        env=settings.for_child({"LC_ALL": "C"}),
    )
    return shown.stdout.count(b"\n")


def by_re(path: Path, patterns: list[bytes]) -> int:
    longest_first = sorted(patterns, key=len, reverse=True)
    wanted = re.compile(b"|".join(map(re.escape, longest_first)))
    return sum(1 for _ in wanted.finditer(path.read_bytes()))


def compare(name: str, path: Path, patterns: list[bytes], blocks: int) -> dict[str, object]:
    sides: dict[str, Callable[[], int]] = {
        "vyre": lambda: by_vyre(path, patterns),
        "grep": lambda: by_grep(path, patterns),
    }
    if len(patterns) < 100:
        sides["re"] = lambda: by_re(path, patterns)
    found = {side: run() for side, run in sides.items()}
    assert len(set(found.values())) == 1, f"the sides differ: {found}"
    times = interleave(sides, blocks=blocks, calls=1, warm_up=1)
    speed = {side: path.stat().st_size / median(t) / 1e6 for side, t in times.items()}
    against = {side: ratio(times[side], times["vyre"]) for side in sides if side != "vyre"}
    print(
        f"{name:<10} {found['vyre']:>9,} matches  "
        + "  ".join(f"{side} {rate:7.0f} MB/s" for side, rate in speed.items())
        + "  "
        + "  ".join(
            f"{side}/vyre {r['ratio']:.2f}x [{r['low']:.2f}, {r['high']:.2f}]"
            for side, r in against.items()
        )
    )
    return {
        "what": name,
        "matches": found["vyre"],
        "mb_per_s": {side: round(rate, 1) for side, rate in speed.items()},
        "time_over_vyre": against,
        "a_a": halves(times["vyre"]),
        "way": scan.explain().splitlines()[0],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--blocks", type=int, default=8)
    given = parser.parse_args()
    device = vyre.open()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        write_text(path, given.mib << 20)
        wanted = {**PATTERNS, "1000 words": a_thousand(path)}
        results = [compare(name, path, these, given.blocks) for name, these in wanted.items()]
    saved = save(
        "scan",
        results,
        device=f"{device.info.model}, {device.info.compiler}",
        mib=given.mib,
    )
    print(f"saved to {saved.name}")


if __name__ == "__main__":
    main()
