"""Doors to other people's tools; each loads its tool when it is opened, never before."""
