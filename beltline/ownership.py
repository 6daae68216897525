"""Whether code that was kept in a folder can be run: only if no other user could have put it there."""

import os
import stat


def foreign(folder: str | os.PathLike[str], *trusted: int, shared: bool = False) -> bool:
    """Return whether another user owns this folder or can write there.

    Root and the users ``trusted`` are as safe as this program. A group is not another user: its folders are shared on
    purpose. Where files have no owners, no other user is known. If ``shared``, others may write there as in ``/tmp``,
    where they can change nothing of this user.
    """
    if not hasattr(os, "geteuid"):
        return False
    known = os.stat(folder)
    writable = known.st_mode & stat.S_IWOTH and not (shared and known.st_mode & stat.S_ISVTX)
    return known.st_uid not in (0, os.geteuid(), *trusted) or bool(writable)
