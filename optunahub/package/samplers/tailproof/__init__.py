"""Tailproof sampler: the best mean when single payoffs are heavy-tailed."""

try:
    from tailproof.integrations.optuna import (
        SQLiteStorage,
        TailproofSampler,
        recommend,
        release_overdue,
    )
except ImportError as error:
    raise ImportError(
        'This sampler needs the tailproof library: pip install "tailproof[optuna]"'
    ) from error

__all__ = ["SQLiteStorage", "TailproofSampler", "recommend", "release_overdue"]
