"""`tailproof tune`: tune any program from the shell.

One trial is one run of a command with the parameters' values in its arguments; its payoff is read
from what the program prints, its wall time or its exit code. Trials are kept in an Optuna storage,
which is all that several processes or machines share. Needs the extra `tune`.
"""
