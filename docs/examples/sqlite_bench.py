"""Store and read orders in a new SQLite file, and print how many milliseconds it took.

python sqlite_bench.py JOURNAL SYNCHRONOUS PAGE_SIZE CACHE_PAGES ROWS_PER_COMMIT
"""

import random
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

ROWS, READS = 100, 200


def run(journal, synchronous, page_size, cache_pages, rows_per_commit):
    """Return the seconds that a new database needs for the inserts and reads."""
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        file = sqlite3.connect(Path(folder) / "orders.db", isolation_level=None)
        file.execute(f"PRAGMA page_size={page_size:d}")
        file.execute(f"PRAGMA journal_mode={journal}")
        file.execute(f"PRAGMA synchronous={synchronous}")
        file.execute(f"PRAGMA cache_size={cache_pages:d}")
        file.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, client INTEGER, note TEXT)")
        file.execute("CREATE INDEX by_client ON orders (client)")
        for start in range(0, ROWS, rows_per_commit):
            file.execute("BEGIN")
            for _ in range(start, min(start + rows_per_commit, ROWS)):
                row = (draw.randrange(50), "x" * draw.randrange(20, 200))
                file.execute("INSERT INTO orders (client, note) VALUES (?, ?)", row)
            file.execute("COMMIT")
        for _ in range(READS):
            client = (draw.randrange(50),)
            file.execute("SELECT count(*), max(note) FROM orders WHERE client=?", client).fetchone()
        file.close()
        return time.perf_counter() - begin


if __name__ == "__main__":
    mode, sync, *numbers = sys.argv[1:]
    print(1000.0 * run(mode, sync, *map(int, numbers)))
