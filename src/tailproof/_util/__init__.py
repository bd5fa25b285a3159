"""Helpers that every subpackage shares: one module for each chore."""
