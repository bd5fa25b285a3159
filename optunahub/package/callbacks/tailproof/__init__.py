"""Tailproof stopping callback: ends a study when further trials may gain little in the mean."""

try:
    from tailproof.integrations.optuna import confirm
    from tailproof.integrations.optuna import enqueue_baseline
    from tailproof.integrations.optuna import recommend
    from tailproof.integrations.optuna import resume_search
    from tailproof.integrations.optuna import StoppingCallback
except ImportError as error:
    raise ImportError(
        'This callback needs the tailproof library: pip install "tailproof[optuna]"'
    ) from error


__all__ = [
    "StoppingCallback",
    "confirm",
    "enqueue_baseline",
    "recommend",
    "resume_search",
]
