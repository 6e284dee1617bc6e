"""What a Python client sees of tasks that run on Symphony: prints it as one JSON line."""

import json
import os
import sys
import threading
import time
import traceback
from concurrent.futures import CancelledError

from scaler import Client
from scaler.client.serializer.default import DefaultSerializer


class OwnError(Exception):
    pass


class OwnSerializer(DefaultSerializer):
    pass


def fail(text):
    raise ValueError(text)


def fail_in_chain(text):
    try:
        fail(text)
    except ValueError as error:
        raise OwnError("chained", 1) from error


def fail_unpicklably():
    error = KeyError("lock")
    error.lock = threading.Lock()
    raise error


def fibonacci(client, n):
    if n < 2:
        return n
    left = client.submit(fibonacci, client, n - 1)
    right = client.submit(fibonacci, client, n - 2)
    return left.result() + right.result()


def mark(path):
    with open(path, "w"):
        pass


def mark_and_wait(path, until):
    mark(path)
    wait_for(until)
    return "waited"


def wait_for(path):
    end = time.monotonic() + 60
    while not os.path.exists(path):
        if time.monotonic() > end:
            raise TimeoutError(path)
        time.sleep(0.01)


def error_of(future):
    try:
        future.result()
    except Exception as error:
        frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        cause = error.__cause__ and type(error.__cause__).__name__
        return [type(error).__name__, list(map(str, error.args)), frames[-1], cause]


def is_cancelled(future):
    try:
        future.result()
        return False
    except CancelledError:
        return True


def main(address, folder):
    seen = {}
    at = lambda name: os.path.join(folder, name)
    with Client(address, timeout_seconds=60) as client:
        seen["error"] = error_of(client.submit(fail, "boom"))
        seen["chain"] = error_of(client.submit(fail_in_chain, "boom"))
        seen["unpicklable"] = error_of(client.submit(fail_unpicklably))[:2]
        seen["same_argument"] = client.submit(pow, 3, 3).result()
        running = client.submit(mark_and_wait, at("started"), at("go"))
        wait_for(at("started"))
        queued = client.submit(mark, at("queued"))
        seen["cancelled_queued"] = queued.cancel() and is_cancelled(queued)
        seen["cancelled_running"] = running.cancel() and is_cancelled(running)
        # The running task goes on until the test has created its file.
        seen["after_cancel"] = client.submit(round, 2.5).result()
        seen["queued_ran"] = os.path.exists(at("queued"))
        seen["nested"] = client.submit(fibonacci, client, 5).result()
    with Client(address, timeout_seconds=60, serializer=OwnSerializer()) as client:
        seen["own_serializer"] = error_of(client.submit(round, 2.5))[:2]
    print("session " + json.dumps(seen), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
