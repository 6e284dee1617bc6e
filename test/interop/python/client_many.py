"""Maps a slow function over so many numbers: prints whether all came back as one JSON line."""

import json
import sys
import time

from scaler import Client


def slow_square(number):
    time.sleep(0.005)
    return number * number


def main(address, count):
    with Client(address, timeout_seconds=60) as client:
        numbers = range(int(count))
        futures = [client.submit(slow_square, number) for number in numbers]
        print("submitted", flush=True)
        squares = [future.result() for future in futures]
    print("session " + json.dumps({"squares": squares == [n * n for n in numbers]}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
