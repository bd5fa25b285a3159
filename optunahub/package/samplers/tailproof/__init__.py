"""Tailproof sampler: the best mean when single payoffs are heavy-tailed."""

try:
    from tailproof.integrations.optuna import enqueue_baseline
    from tailproof.integrations.optuna import recommend
    from tailproof.integrations.optuna import release_overdue
    from tailproof.integrations.optuna import SQLiteStorage
    from tailproof.integrations.optuna import TailproofSampler
except ImportError as error:
    raise ImportError(
        'This sampler needs the tailproof library: pip install "tailproof[optuna]"'
    ) from error


__all__ = [
    "SQLiteStorage",
    "TailproofSampler",
    "enqueue_baseline",
    "recommend",
    "release_overdue",
]
