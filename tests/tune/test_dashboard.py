import contextlib
import random
import socket
import sys
import time
import urllib.error
import urllib.request

import pytest

GOOD = ("--minimize", "--int", "n", "1", "9")


def free_port():
    """Return a port below those that the system gives to others, so that it stays free."""
    for port in random.SystemRandom().sample(range(10_000, 30_000), 100):
        with socket.socket() as found, contextlib.suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port
    raise OSError("no port is free")


@pytest.mark.parametrize("port", [0, 65536, 99999, "taken"])
def test_a_port_that_cannot_be_used_is_said_before_anything_is_announced(tune, program, port):
    pytest.importorskip("optuna_dashboard", reason="the extra `dashboard` brings it")
    assert tune(*GOOD, "--evaluations", 1, "--quiet", "--", *program("print(1)"), "{n}")[0] == 0
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1] if port == "taken" else port
        code, out, err = tune("--dashboard", "--port", number)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "port" in err


def test_the_dashboard_serves_the_study_on_loopback(tune, shell, program):
    pytest.importorskip("optuna_dashboard", reason="the extra `dashboard` brings it")
    rest = ("--study-name", "mine", "--", *program("print(1)"), "{n}")
    assert tune(*GOOD, "--evaluations", 1, "--quiet", *rest)[0] == 0
    port = free_port()
    process = shell("--dashboard", "--port", port)
    said = process.stdout.readline()
    assert f"http://127.0.0.1:{port}/" in said
    until = time.monotonic() + 600.0
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/studies", timeout=60) as page:
                assert b'"mine"' in page.read()
            break
        except urllib.error.URLError:  # announced, not yet there
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.1)
    process.terminate()
    process.communicate(timeout=600)


def test_a_missing_extra_is_named(tune, program, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna_dashboard", None)
    code, _, err = tune("--dashboard")
    assert code == 2
    assert "pip install 'tailproof[dashboard]'" in err
