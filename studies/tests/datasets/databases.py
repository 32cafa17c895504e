"""Small databases with the layout of TensorFlow Federated's stackoverflow.sqlite."""

import sqlite3

from studies.tests.datasets.protos import example


def post(client, number, tags, kind="question", split="train"):
    """Return two sentences of one question or answer, as the database holds them."""
    same = {"title": f"title {number}", "tags": tags, "type": kind, "creation_date": f"2017-01-{number:02d}", "score": 3}
    return [(split, client, example(**same, tokens=f"sentence {number}.{i}")) for i in range(2)]


def write_database(path, examples):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE examples (split_name TEXT, client_id TEXT, serialized_example_proto BLOB)")
        connection.execute("CREATE TABLE client_metadata (client_id TEXT, split_name TEXT, num_examples INTEGER)")
        connection.executemany("INSERT INTO examples VALUES (?, ?, ?)", examples)
        clients = sorted({(client, split) for split, client, _ in examples})
        connection.executemany("INSERT INTO client_metadata VALUES (?, ?, 2)", clients)
    connection.close()
    return path
