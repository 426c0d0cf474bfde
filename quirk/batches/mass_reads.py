"""Detection of parts that read the mass or the inertia of a body while they are constructed.

The parameters of all other parts do not depend on the mass, so that members that differ only in this mass share them.
"""

from __future__ import annotations

from typing import Any

from ..bodies.body import Body

READ = ("mass", "inertia")


class _Watched(Body):
    """Body that appends "mass" or "inertia" to the list `_reads` whenever one of them is read."""

    _reads: list[str]

    def __getattribute__(self, name: str) -> Any:
        if name in READ:
            self._reads.append(name)
        return super().__getattribute__(name)


def watched(body: Body, reads: list[str]) -> Body:
    """Return a copy of a body that appends "mass" or "inertia" to the list `reads` whenever one of them is read."""
    copy = object.__new__(_Watched)
    vars(copy).update(vars(body), _reads=reads)
    return copy
