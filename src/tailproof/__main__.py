"""The command line as a process: `tailproof` and `python -m tailproof`.

Ctrl-C is handled before anything else is imported. `_signal` is the part of `signal` that is built
into the interpreter; importing `signal` itself takes most of the time until `cli` is imported.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal


def _end(*_: object) -> None:
    """End `python -m tailproof` with one line, and the exit code a shell expects after Ctrl-C."""
    os.write(2, b"tailproof: interrupted.\n")
    os._exit(130)


def run() -> None:
    """Handle Ctrl-C, import the command line and run it as a process: `python -m tailproof`."""
    default = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
    if default:  # not ignored, as in the background of a script
        _signal.signal(_signal.SIGINT, _end)
    from tailproof.cli import run_as_process

    if default:  # the command line has handlers of its own
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    run_as_process()


if __name__ == "__main__":
    run()
