"""The yardstick of the practical optimizer: problems, methods, runs and the page about them."""
