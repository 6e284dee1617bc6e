"""What goes wrong for a Python client, and what it nests: prints what it got as one JSON line."""

import json
import os
import sys
import time
from concurrent.futures import CancelledError

from scaler import Client


def fibonacci(client, n):
    if n < 2:
        return n
    left = client.submit(fibonacci, client, n - 1)
    right = client.submit(fibonacci, client, n - 2)
    return left.result() + right.result()


def sleep(seconds):
    time.sleep(seconds)
    return seconds


def increment(number):
    return number + 1


def die():
    os._exit(3)


def is_cancelled(future):
    try:
        future.result()
        return False
    except CancelledError:
        return True


def main(address):
    seen = {}
    with Client(address, timeout_seconds=60) as client:
        futures = [client.submit(sleep, 0.2) for _ in range(8)]
        seen["cancelled"] = all(future.cancel() and is_cancelled(future) for future in futures)
        try:
            client.submit(die).result()
        except Exception as error:  # the class is not public
            seen["died"] = type(error).__name__
        seen["nested"] = client.submit(fibonacci, client, 5).result()
        client.clear()
        seen["after_clear"] = client.submit(increment, 1).result()
    print("session " + json.dumps(seen), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
