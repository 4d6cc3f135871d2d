from pathlib import Path

import pytest

from vyre.store.sqlite.mounts import file_system, is_shared, read_mounts

TABLE = """/dev/sda1 / ext4 rw 0 0
proc /proc proc rw 0 0
filer:/home /home nfs4 rw 0 0
tmpfs /home/me/fast tmpfs rw 0 0
//server/share /mnt/my\\040share cifs rw 0 0
host /mnt/over ext4 rw 0 0
host /mnt/over 9p rw 0 0
sshfs /mnt/ssh fuse.sshfs rw 0 0
/dev/sdb /mnt/usb fuseblk rw 0 0
broken line
"""


@pytest.mark.parametrize(
    ("folder", "kind", "shared"),
    [
        ("/var/x", "ext4", False),
        ("/home/me/.cache", "nfs4", True),
        ("/homes", "ext4", False),
        ("/home/me/fast/x", "tmpfs", False),
        ("/mnt/my share/x", "cifs", True),
        ("/mnt/over", "9p", True),
        ("/mnt/ssh/x", "fuse.sshfs", True),
        ("/mnt/usb", "fuseblk", False),
    ],
)
def test_a_folder_is_on_the_innermost_mount(folder: str, kind: str, shared: bool):
    assert file_system(Path(folder), TABLE) == kind
    assert is_shared(Path(folder), TABLE) is shared


def test_a_system_without_a_table_is_taken_as_local():
    assert file_system(Path("/home"), "") == ""
    assert not is_shared(Path("/home"), "")


def test_a_windows_share_is_known_by_its_name():
    assert is_shared(Path("\\\\server\\share"), "")


def test_the_systems_own_table_can_be_read():
    assert isinstance(read_mounts(), str)
