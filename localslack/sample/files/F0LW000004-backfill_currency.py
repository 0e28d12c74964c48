"""One-off: fill ledger_entries.currency_exponent where it is null. Run by hand, in batches, read the log."""

import time

import psycopg

BATCH = 5_000
UPDATE = """
    update ledger_entries e set currency_exponent = c.exponent
    from currencies c
    where e.currency = c.code and e.currency_exponent is null
      and e.id in (select id from ledger_entries where currency_exponent is null order by id limit %s)
"""


def backfill(dsn: str) -> int:
    """Return how many rows were filled."""
    total = 0
    with psycopg.connect(dsn, autocommit=True) as connection:
        while (done := connection.execute(UPDATE, (BATCH,)).rowcount) > 0:
            total += done
            print(f"{total} rows")
            time.sleep(0.2)  # leave room for the checkout
    return total
