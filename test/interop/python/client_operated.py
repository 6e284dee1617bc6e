"""A Python client whose running task an operator cancels: prints how its tasks end."""

import json
import sys
import time
from concurrent.futures import CancelledError

from scaler import Client


def hold(seconds):
    time.sleep(seconds)
    return seconds


def quick(number):
    return number + 1


def fail():
    raise ValueError("boom")


def outcome(future):
    try:
        return future.result()
    except (CancelledError, Exception) as error:  # the classes are not public
        return type(error).__name__


def main(address):
    seen = {}
    with Client(address, timeout_seconds=60) as client:
        held = client.submit(hold, 600)
        waiting = client.submit(quick, 1)
        print("submitted", flush=True)
        seen["held"] = outcome(held)
        seen["waiting"] = outcome(waiting)
        # What its own client cancels runs on.
        own = client.submit(hold, 3)
        time.sleep(1)
        started = time.monotonic()
        seen["own"] = own.cancel() and outcome(own)
        seen["after"] = client.submit(quick, 2).result()
        seen["had_to_wait"] = time.monotonic() - started > 1
        seen["failed"] = outcome(client.submit(fail))
    print("session " + json.dumps(seen), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
