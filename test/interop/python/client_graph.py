"""Graphs of a Python client: prints what it got as one JSON line."""

import json
import sys
import time

from scaler import Client


def inc(i):
    return i + 1


def add(a, b):
    return a + b


def minus(a, b):
    return a - b


def fail(i):
    raise ValueError(f"failed at {i}")


def slow(i):
    time.sleep(0.3)
    return i


def repeat(text, times):
    return text * times


def outcome(future):
    try:
        return future.result()
    except Exception as error:
        return [type(error).__name__, str(error)]


def main(address):
    seen = {}
    graph = {
        "a": 2,
        "b": 2,
        "c": (inc, "a"),
        "d": (add, "a", "b"),
        "e": (minus, "d", "c"),
    }
    with Client(address, timeout_seconds=60) as client:
        seen["get"] = client.get(graph, keys=["e", "a", "d"])
        # An ordinary Python scheduler dies of a node that uses the same computed node twice.
        seen["twice"] = client.get({"a": 1, "b": (inc, "a"), "c": (add, "b", "b")}, keys=["c"])
        seen["data_only"] = client.get(graph, keys=["a", "b"])
        big = client.send_object(b"x" * 100_000, name="big")
        seen["reference"] = client.get({"big": big, "n": (len, "big"), "m": (inc, "n")}, keys=["m"])
        seen["large"] = len(client.get({"t": "y", "n": 50_000, "r": (repeat, "t", "n")}, keys=["r"])["r"])
        chain = {"n0": 0, **{f"n{i}": (inc, f"n{i - 1}") for i in range(1, 301)}}
        seen["chain"] = client.get(chain, keys=["n300", "n7"])
        failing = {"a": 1, "b": (fail, "a"), "s": (slow, "a"), "c": (add, "b", "s"), "d": (inc, "c"), "good": (inc, "s")}
        futures = client.get(failing, keys=["b", "c", "d", "s", "good"], block=False)
        seen["failing"] = {key: outcome(future) for key, future in futures.items()}
        seen["after"] = client.submit(inc, 1).result()
    print("session " + json.dumps(seen), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
