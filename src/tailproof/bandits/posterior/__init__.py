"""Posterior mean and variance of the arms: ridge regression, explicit features, Nystrom."""
