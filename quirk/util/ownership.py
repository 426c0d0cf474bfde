"""Checks that no other user of the machine could have written a file or folder.

Files that are unpickled and executed must come from this user or the administrator. The rules are those of OpenSSH for
keys: the file, its folder and all parent folders belong to the user or to root, and only their owner may write to them.
Parent folders with the sticky bit, such as /tmp, may be writable by others, who cannot replace files of other owners
there. Write access of a group is rejected, unless the group is the user's private group, with the user's name and no
other members. On Windows nothing is checked, because users' folders are closed to others by default.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

ROOT = 0
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class UntrustedError(OSError):
    """Error raised if another user could have written a file or folder."""


def check_folder(folder: Path) -> None:
    """Raise UntrustedError if another user could write to a folder or replace it.

    For a folder that does not exist yet, the parent folders are checked.
    """
    if not hasattr(os, "geteuid"):
        return
    real = Path(os.path.realpath(folder))
    for place in (real, *real.parents):
        try:
            found = place.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue  # it will be created
        above = place != real and bool(found.st_mode & stat.S_ISVTX)
        _check(place, found, sticky=above)


def check_file(path: Path, descriptor: int) -> None:
    """Raise UntrustedError if another user owns an open file or may write to it.

    `descriptor` is the file descriptor; `path` is used in the message.
    """
    if hasattr(os, "geteuid"):
        _check(path, os.fstat(descriptor), sticky=False)


def _check(path: Path, status: os.stat_result, *, sticky: bool) -> None:
    user = os.geteuid()
    if status.st_uid not in (user, ROOT):
        raise UntrustedError(f"{path} belongs to another user: give another folder, or take it over with chown")
    writable = status.st_mode & OTHERS_WRITE
    if sticky or not writable or (writable == stat.S_IWGRP and _own_group(status.st_gid, user)):
        return
    raise UntrustedError(f"other users may write to {path}: chmod go-w {path}, or give another folder")


def _own_group(group: int, user: int) -> bool:
    """Whether the group with number `group` is the private group of the user with number `user`.

    A private group has the user's name and no other members.
    """
    import grp
    import pwd

    try:
        entry, owner = grp.getgrgid(group), pwd.getpwuid(user)
    except KeyError:
        return False
    return owner.pw_gid == group and entry.gr_name == owner.pw_name and set(entry.gr_mem) <= {owner.pw_name}
