"""Compiled code stays with its user, also where what was learned is shared."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vyre.backend.binaries import Binaries

CALL = """
import numpy as np, os, vyre
from vyre.kernels import saxpy
x = np.arange(9, dtype=np.float32)
with vyre.mode("off"):
    device = vyre.open("opencl:0")
    print(np.asarray(saxpy(device.array(x), device.array(x), a=2.0)).tolist())
print(os.environ["POCL_CACHE_DIR"])
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("opencl"),
    pytest.mark.skipif(os.name != "posix", reason="files have no owners there"),
]


def call(cache: Path, own: Path) -> tuple[str, Path]:
    """What a kernel gives in a process with these folders, and where PoCL keeps its code."""
    given = {name: text for name, text in os.environ.items() if name != "POCL_CACHE_DIR"}
    shown = subprocess.run(
        [sys.executable, "-c", CALL],
        capture_output=True,
        text=True,
        check=True,
        env={**given, "VYRE_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(own)},
    )
    result, folder = shown.stdout.splitlines()
    return result, Path(folder)


def test_in_a_folder_of_ones_own_all_is_together(tmp_path: Path):
    _, pocl = call(tmp_path / "cache", tmp_path / "own")

    assert pocl == tmp_path / "cache" / "pocl"
    assert pocl.stat().st_mode & 0o077 == 0
    assert not (tmp_path / "own" / "vyre").exists()


def test_in_a_folder_for_a_team_there_is_no_code(tmp_path: Path):
    team = tmp_path / "team"
    team.mkdir()
    team.chmod(0o777)
    for name in ("opencl", "pocl", "cubin"):  # whatever another put there
        (team / name).mkdir()
        (team / name / "planted").write_bytes(b"code")

    _, pocl = call(team, tmp_path / "own")

    assert pocl == tmp_path / "own" / "vyre" / "pocl"
    files = {str(path.relative_to(team)) for path in team.rglob("*") if path.is_file()}
    assert files == {"opencl/planted", "pocl/planted", "cubin/planted"}


def test_where_no_folder_is_private_code_ends_with_the_process(tmp_path: Path):
    team = tmp_path / "team"
    team.mkdir()
    team.chmod(0o777)

    result, pocl = call(team, team)

    assert result == "[0.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0, 21.0, 24.0]"
    assert pocl.name.startswith("vyre-")
    assert team not in pocl.parents
    assert not pocl.exists()
    assert not [path for path in team.rglob("*") if path.name in ("opencl", "pocl", "cubin")]


def test_a_file_that_another_swapped_changes_no_result(tmp_path: Path):
    first, _ = call(tmp_path / "cache", tmp_path / "own")
    kept = tmp_path / "cache" / "opencl"
    for name in [path.name for path in kept.glob("*")] if kept.exists() else []:
        Binaries(kept).put("other", b"other code")
        (kept / "other").replace(kept / name)

    again, _ = call(tmp_path / "cache", tmp_path / "own")

    assert again == first


GONE = """
import os, shutil, numpy as np, vyre
from vyre import In, Out, f32
x = vyre.open("opencl:0").array(np.ones(9, np.float32))

@vyre.kernel
def seven(x: In[f32], out: Out[f32]):
    out[vyre.gid()] = 7.0 * x[vyre.gid()]

shutil.rmtree(os.environ["VYRE_CACHE_DIR"])
print(np.asarray(seven(x)).tolist())
"""


def test_a_cache_folder_that_is_removed_meanwhile_is_made_again(tmp_path: Path):
    (tmp_path / "seven.py").write_text(GONE)
    given = {name: text for name, text in os.environ.items() if name != "POCL_CACHE_DIR"}

    shown = subprocess.run(
        [sys.executable, str(tmp_path / "seven.py")],
        capture_output=True,
        text=True,
        check=False,
        env={**given, "VYRE_CACHE_DIR": str(tmp_path / "cache")},
    )

    assert shown.stdout == f"{[7.0] * 9}\n", shown.stderr
    assert (tmp_path / "cache" / "pocl").stat().st_mode & 0o077 == 0
