import os
import sys

from hypothesis import settings

# The tests start hundreds of interpreters: without bytecode each compiles the package again, and
# each worker of pytest-xdist all tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# One thread: the matrices are small, and results must not depend on how many cores there are.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# The same examples in every run, and none that fails because the machine is slow.
settings.register_profile("suite", derandomize=True, deadline=None)
settings.load_profile("suite")


def pytest_terminal_summary(terminalreporter):
    """Print the coverage shares the tests measured, also where nothing failed."""
    lines = [
        f"{report.nodeid.split('::')[-1]}: {value:.1%} of runs covered"
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == "coverage"
    ]
    if lines:
        terminalreporter.section("confidence bands")
        for line in sorted(lines):
            terminalreporter.write_line(line)
