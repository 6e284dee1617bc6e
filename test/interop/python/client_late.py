"""A Python client that is put aside between sending a graph and noting what it expects of it."""

import json
import sys
import time

from scaler import Client
from scaler.io.sync_connector import SyncConnector
from scaler.protocol.python.message import GraphTask

send = SyncConnector.send


def send_and_wait(self, message):
    send(self, message)
    if isinstance(message, GraphTask):
        time.sleep(0.03)


def inc(i):
    return i + 1


def main(address):
    with Client(address, timeout_seconds=60) as client:
        warm = client.submit(inc, 1).result()
        SyncConnector.send = send_and_wait
        seen = [client.get({"a": i, "b": (inc, "a")}, keys=["b"])["b"] for i in range(20)]
    print("session " + json.dumps({"warm": warm, "seen": seen}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
