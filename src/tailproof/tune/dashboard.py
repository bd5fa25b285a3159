"""optuna-dashboard for a study, on this machine's loopback only."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

from tailproof._util import checks
from tailproof._util.optional import require
from tailproof.tune.request import STUDY_FILE
from tailproof.tune.study import open_storage
from tailproof.tune.urls import file_url, masked, sqlite_file

HOST = "127.0.0.1"
_LAST_PORT = 65535


def serve(storage: str | None, out: Path, port: int) -> int:
    """Serve a dashboard of the studies of a storage, by default in `out`; return the exit code."""
    optuna_dashboard = require("optuna_dashboard", "dashboard")
    storage = storage or file_url(out / STUDY_FILE)
    path = sqlite_file(storage)
    if path is not None and not path.is_file():
        raise ValueError(f"there is no study in {path}; give the --out or --storage of one.")
    _check_dashboard_port(port)
    opened = open_storage(storage)
    print(f"{masked(storage)} on http://{HOST}:{port}/ (Ctrl-C to stop)", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        optuna_dashboard.run_server(opened, host=HOST, port=port)
    return 0


def _check_dashboard_port(port: int) -> None:
    """Raise an error if the dashboard cannot listen at a port."""
    checks.integer("port", port, low=1)
    if port > _LAST_PORT:
        raise ValueError(f"`1 <= port <= {_LAST_PORT}` must hold, but got port={port}.")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server will do
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise ValueError(
                f"port {port} of {HOST} cannot be used ({error.strerror}); give another --port."
            ) from None
