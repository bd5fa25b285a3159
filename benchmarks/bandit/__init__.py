"""Regret of `Bandit` beside other bandit policies: problems, policies, runs, tables."""
