"""Adapters to other tools; each loads its tool when it is imported, never before."""
