"""Cost of one round of the secure sum, keys and shares included: CPU and bytes of a client, CPU of the server. Prints a table.

    python studies/benchmarks/secure_sum_round.py

Adverts are signed and checked, one fifth of the parties may drop out, none colludes, and totals are checked.
"""

import json
import os
import time

import numpy as np

from feddp_kmeans.network.secure_sum.aggregator import Aggregator
from feddp_kmeans.network.secure_sum.identity import new_identity
from feddp_kmeans.network.secure_sum.party import Party
from feddp_kmeans.network.secure_sum.session_terms import SessionTerms

CASES = [
    (5, 10**6, 0),
    (50, 10**6, 5),
    (10, 10**3, 0),
    (30, 10**3, 0),
    (50, 10**3, 0),
    (100, 10**3, 0),
    (50, 10**4, 0),
    (50, 10**5, 0),
]


class Clock:
    """Adds up CPU seconds."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self, function, *arguments):
        start = time.process_time()
        result = function(*arguments)
        self.seconds += time.process_time() - start
        return result


def json_bytes(rows):
    return len(json.dumps(rows))


def measure(n, size, dropouts, *, confirmed=False):
    """The row of a case: clients' mean CPU and bytes sent and received, the server's CPU."""
    client, server = Clock(), Clock()
    terms = SessionTerms(os.urandom(32), 1, -(-4 * n // 5), 0, confirmed)
    identities = {f"site-{i:03d}": new_identity() for i in range(n)}
    roster = {name: identity.public_key() for name, identity in identities.items()}
    parties = {name: client(Party.new, name, terms) for name in identities}

    adverts = tuple(client(parties[name].advert, identities[name]) for name in parties)
    advert_bytes = json_bytes([advert.to_dict() for advert in adverts])
    shares = {name: client(parties[name].share, adverts, roster) for name in parties}
    share_bytes = sum(len(message) for sent in shares.values() for message in sent.values())
    aggregator = server(Aggregator, terms, adverts, shares)
    for name, party in parties.items():
        client(party.receive, aggregator.sharers, server(aggregator.ciphertexts_for, name))

    rng = np.random.default_rng(n)
    values = {name: rng.integers(-(2**40), 2**40, size) for name in parties}
    masked = {name: client(parties[name].mask, 0, values[name]) for name in list(parties)[dropouts:]}
    survivors = tuple(sorted(masked))
    signed = {name: client(parties[name].confirm, 0, survivors, identities[name]) for name in survivors} if confirmed else {}
    signed_bytes = sum(len(signature) for signature in signed.values())
    replies = {name: client(parties[name].unmask, 0, survivors, signed) for name in survivors}
    total = server(aggregator.unmasked, 0, survivors, np.add.reduce(list(masked.values())), replies)
    assert np.array_equal(total, sum(values[name] for name in survivors).astype(np.uint64))

    reply_bytes = sum(json_bytes(reply.to_dict()) for reply in replies.values()) / len(replies)
    sent_bytes = advert_bytes / n + share_bytes / n + 8 * size + signed_bytes / n + reply_bytes
    received_bytes = advert_bytes + share_bytes / n + signed_bytes + 2 * json_bytes(survivors)
    return client.seconds / n, sent_bytes, received_bytes, server.seconds


def main():
    print("| sites | values | dropouts | confirmed | site CPU s | site sends kB | site receives kB | server CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for n, size, dropouts in CASES:
        show(n, size, dropouts, confirmed=False)
    for n in (31, 100):
        show(n, 10**3, 0, confirmed=True)


def show(n, size, dropouts, *, confirmed):
    client, sent, received, server = measure(n, size, dropouts, confirmed=confirmed)
    cells = [n, f"{size:,}", dropouts, "yes" if confirmed else "no"]
    costs = [f"{client:.3f}", f"{sent / 1e3:,.1f}", f"{received / 1e3:,.1f}", f"{server:.2f}"]
    print(f"| {' | '.join(map(str, cells + costs))} |", flush=True)


if __name__ == "__main__":
    main()
