# %% [markdown]
# # Latency of a real server program
#
# A web server is started here with different settings, and clients ask it for reports. Which settings give the lowest
# *mean* latency, and are they better than those in use?

# %%
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import tailproof as tp

# %% [markdown]
# The server makes a report of some thousand lines, compresses it, and keeps the last reports in a cache. Its settings:
# the number of reports kept, the level of compression, and whether a thread serves each request.

# %%
Path("server.py").write_text(
    textwrap.dedent(
        """
        import functools, http.server, sys, zlib

        port, cached, level, kind = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]

        @functools.lru_cache(cached)
        def report(number):
            lines = (f"{number},{i},{(i * 7919 + number) % 104729}" for i in range(6000))
            return zlib.compress("\\n".join(lines).encode(), level)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = report(int(self.path.rpartition("/")[2]))
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        servers = {"thread": http.server.ThreadingHTTPServer, "single": http.server.HTTPServer}
        servers[kind](("127.0.0.1", port), Handler).serve_forever()
        """
    )
)


@contextmanager
def running(cached, level, kind):
    """Start the server with some settings, and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "server.py", str(port), str(cached), str(level), kind]
    server = subprocess.Popen(command)
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


draw = np.random.default_rng(5)


def latencies(count, **settings):
    """Return the milliseconds of some requests; few reports are asked for often, many rarely."""
    taken = []
    with running(**settings) as address:
        for number in np.minimum(draw.zipf(1.5, count), 1_000):
            begin = time.perf_counter()
            with urllib.request.urlopen(f"{address}/report/{number}") as answer:
                answer.read()
            taken.append(1e3 * (time.perf_counter() - begin))
    return taken


# %% [markdown]
# ## The search
#
# One trial is 12 requests to a server started for it; all 12 payoffs are told.

# %%
in_use = {"cached": 4, "level": 9, "kind": "thread"}
space = tp.Space(
    cached=tp.Int(1, 256, log=True), level=tp.Int(1, 9), kind=tp.Choice("thread", "single")
)
optimizer = tp.Optimizer(space, seed=0, minimize=True, baseline=in_use)
for _ in range(18):
    trial = optimizer.ask()
    optimizer.tell(trial, latencies(12, **trial.params))
best = optimizer.recommend()
print(best)

# %%
tp.plot.slices(optimizer)

# %% [markdown]
# ## Before and after, measured again
#
# New requests, the two settings in turns, so that other load on the machine meets both.

# %%
again = {"in use": [], "recommended": []}
for _ in range(3):
    again["in use"] += latencies(20, **in_use)
    again["recommended"] += latencies(20, **best.params)
tp.compare(again, lower_is_better=True, baseline="in use")
