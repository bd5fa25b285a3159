"""Tailproof sampler: the best mean when single payoffs are heavy-tailed."""

try:
    from tailproof.integrations.optuna import (
        SQLiteStorage,
        StoppingCallback,
        TailproofSampler,
        confirm,
        enqueue_baseline,
        recommend,
        release_overdue,
        resume_search,
    )
except ImportError as error:
    raise ImportError(
        'This sampler needs the tailproof library: pip install "tailproof[optuna]"'
    ) from error

__all__ = [
    "SQLiteStorage",
    "StoppingCallback",
    "TailproofSampler",
    "confirm",
    "enqueue_baseline",
    "recommend",
    "release_overdue",
    "resume_search",
]
