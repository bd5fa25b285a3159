"""The model of the practical optimizer: a Gaussian process with a robust loss."""
