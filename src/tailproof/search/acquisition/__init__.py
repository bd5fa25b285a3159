"""Acquisition: the upper confidence bound, its optimization, initial and exploratory designs."""
