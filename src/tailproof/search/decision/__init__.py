"""From trials to a decision: the baseline, confirmation, stopping, and failures."""
