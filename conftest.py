"""Doctests of optional parts are collected only where what they need is installed."""

import importlib.util

collect_ignore_glob = []
if importlib.util.find_spec("optuna") is None:
    collect_ignore_glob += ["src/tailproof/integrations/*", "src/tailproof/tune/*"]
