"""Comparison of tailproof with other optimizers on the same problems under the same noise."""
