"""The practical optimizer over a space of parameters: nothing to know in advance, no guarantee."""
