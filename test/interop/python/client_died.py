"""A task that the cluster loses, and one that ends its process: prints how both end."""

import json
import os
import sys

from scaler import Client


def error_of(future):
    try:
        return f"none: {future.result()}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def main(address):
    with Client(address, timeout_seconds=60) as client:
        lost = error_of(client.submit(round, 2.5))
        died = error_of(client.submit(os._exit, 3))
        assert client.submit(round, 2.5).result() == 2
    print("session " + json.dumps({"died": [lost, died]}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
