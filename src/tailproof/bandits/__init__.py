"""Policies on a finite set of arms, with the guarantees of the paper's theorems."""
