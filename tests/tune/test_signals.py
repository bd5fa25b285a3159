import os
import signal

from tailproof.tune.signals import Stop, stop_requests


def test_signals_that_are_ignored_stay_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_requests() as request:
            os.kill(os.getpid(), signal.SIGHUP)
            assert request() is Stop.NO
            os.kill(os.getpid(), signal.SIGTERM)
            assert request() is Stop.YES
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
            assert request() is Stop.AT_ONCE
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)
