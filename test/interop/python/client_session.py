"""A Python client's whole life on the scheduler at argv[1]: prints what it got as one JSON line."""

import json
import math
import sys

from scaler import Client


def power(base, exponent):
    return base**exponent


def repeat(text, times):
    return text * times


def fail(text):
    raise ValueError(text)


def main(address):
    seen = {}
    with Client(address, timeout_seconds=60) as client:
        seen["submit"] = client.submit(math.sqrt, 16).result()
        seen["submit_by_value"] = client.submit(power, 2, 100).result() == 2**100
        seen["map"] = client.map(power, [(i, 2) for i in range(1000)]) == [i * i for i in range(1000)]
        try:
            client.submit(fail, "boom 7").result()
        except ValueError as error:
            seen["error"] = [type(error).__name__, str(error)]
        big = client.send_object(b"x" * (1 << 20), name="big")
        seen["big"] = [client.submit(len, big).result(), len(client.submit(repeat, b"y", 1 << 20).result())]
        futures = [client.submit(power, 3, exponent) for exponent in range(10)]
        seen["futures"] = [future.result() for future in futures] == [3**i for i in range(10)]
        seen["profiled"] = futures[0].profiling_info().duration_s >= 0
        seen["after_error"] = client.submit(round, 2.5).result()
    print("session " + json.dumps(seen), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
