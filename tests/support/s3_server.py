"""An object store on this machine for tests: `python -m tests.support.s3_server bucket` prints its address and serves
until its standard input ends, which it does when whoever started it is gone."""

from __future__ import annotations

import sys
from urllib.request import Request, urlopen


def main() -> None:
    # moto brings all that the store needs; only this process imports it.
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    urlopen(Request(f"{address}/{sys.argv[1]}", method="PUT"), timeout=30).close()
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
