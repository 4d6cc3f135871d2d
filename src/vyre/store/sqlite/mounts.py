"""Which kind of file system a folder is on; SQLite's WAL needs memory shared by all its users."""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/self/mounts")

_SHARED = frozenset(
    [
        *("nfs", "nfs3", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afs", "9p", "virtiofs", "ceph"),
        *("lustre", "gpfs", "beegfs", "pvfs2", "orangefs", "glusterfs", "ocfs2", "gfs2", "panfs"),
        *("wekafs", "vboxsf", "vmhgfs", "prl_fs", "drvfs", "davfs", "ncpfs", "coda"),
    ]
)
_LOCAL_FUSE = frozenset(
    ["fuseblk", "fuse.fuse-overlayfs", "fuse.ext2", "fuse.ext4", "fuse.ntfs-3g"]
)
_OCTAL = re.compile(r"\\([0-7]{3})")


def read_mounts() -> str:
    """The mount table of this process; empty where the system has none to read."""
    try:
        return MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def file_system(folder: Path, mounts: str) -> str:
    r"""The type of the file system that `folder` is on, or empty where the table does not say.

    >>> table = "/dev/sda / ext4 rw 0 0\nfiler:/home /home nfs4 rw 0 0"
    >>> file_system(Path("/home/a/.cache"), table), file_system(Path("/tmp"), table)
    ('nfs4', 'ext4')
    """
    best, kind = -1, ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(_OCTAL.sub(lambda code: chr(int(code[1], 8)), fields[1]))
        depth = len(point.parts)
        # The last of several mounts on one point is the one that is seen.
        if depth >= best and folder.is_relative_to(point):
            best, kind = depth, fields[2]
    return kind


def is_shared(folder: Path, mounts: str) -> bool:
    """Whether other hosts may write to `folder`, as far as its file system tells."""
    if str(folder).startswith(("\\\\", "//")):
        return True  # a share by its Windows name
    kind = file_system(folder, mounts)
    return kind in _SHARED or (kind.startswith("fuse") and kind not in _LOCAL_FUSE)
