"""The reproduction of the figure of Chowdhury and Gopalan (NeurIPS 2019)."""
