"""optuna-dashboard for a study, on this machine's loopback only."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tailproof import _checks
from tailproof.tune.optional import need
from tailproof.tune.session import STUDY_FILE
from tailproof.tune.study import file_url, masked, open_storage

HOST = "127.0.0.1"


def serve(storage: str | None, out: Path, port: int) -> int:
    """Serve the studies of a storage until interrupted; return the exit code.

    Parameters
    ----------
    storage : str or None
        An Optuna URL; None for the SQLite file in `out`.
    out : Path
    port : int
    """
    _checks.integer("port", port, low=1)
    optuna_dashboard = need("optuna_dashboard", "dashboard")
    if storage is None:
        path = out / STUDY_FILE
        if not path.is_file():
            raise ValueError(f"there is no study in {path}; give the --out or --storage of one.")
        storage = file_url(path)
    opened = open_storage(storage)
    print(f"{masked(storage)} on http://{HOST}:{port}/ (Ctrl-C to stop)", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        optuna_dashboard.run_server(opened, host=HOST, port=port)
    return 0
