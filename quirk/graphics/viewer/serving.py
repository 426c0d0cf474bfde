"""Start and stop of viser servers on this machine."""

from __future__ import annotations

import contextlib
import io
import socket
import sys
from collections.abc import Iterator
from typing import Any

from quirk.errors import InputError


def server_at(host: Any = "127.0.0.1", port: Any = 0) -> Any:
    """Return a new viser server without console output.

    By default any free port is used, and the server can be reached from this machine only.

    Raises
    ------
    InputError
        If viser is not installed, or the address or port cannot be used.
    """
    if not isinstance(host, str) or not host:
        raise InputError(f'view: host must be an address of this machine, such as "127.0.0.1"; got {host!r}')
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 2**16:
        raise InputError(f"view: port must be a whole number from 0 to 65535; got {port!r}")
    try:
        import viser
    except ImportError:
        raise InputError('pictures in a browser need viser: pip install "quirk-dynamics[viewer]"') from None
    _check_free(host, port)
    with _silence():
        return viser.ViserServer(host=host, port=port, verbose=False)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Context manager that suppresses the console output of viser and of the library rich."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        console.quiet = before


def _check_free(host: str, port: int) -> None:
    """Raise an InputError if the address or port cannot be used; without this check viser would wait forever."""
    try:
        with socket.socket(socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        raise InputError(f"view: nothing can be served at {host}:{port}: {error}; choose another") from error


def stopped(server: Any) -> None:
    """Stop a viser server without console output."""
    with _silence():
        server.stop()


def announced(content: str, url: str, block: bool) -> None:
    """Print the address of a view.

    `content` is the name of the displayed object, and `block` is True if Ctrl-C ends the view.
    """
    end = "Ctrl-C ends it" if block else "close() ends it"
    print(f"quirk: {url} shows {content}; {end}", file=sys.stderr)
