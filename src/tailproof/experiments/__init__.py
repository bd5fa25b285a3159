"""Experiments: policies meet environments here, and nowhere else."""
