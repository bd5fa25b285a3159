"""Tailproof sampler: the best mean when single payoffs are heavy-tailed."""

try:
    from tailproof.integrations.optuna import TailproofSampler, recommend, release_overdue
except ImportError as error:
    raise ImportError(
        'This sampler needs the tailproof library: pip install "tailproof[optuna]"'
    ) from error

__all__ = ["TailproofSampler", "recommend", "release_overdue"]
