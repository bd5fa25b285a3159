"""The arena: ours and the rivals on the same problems under the same noise."""
