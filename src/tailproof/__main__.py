"""`python -m tailproof` is the command line."""

from tailproof.cli import run_as_process

if __name__ == "__main__":
    run_as_process()
