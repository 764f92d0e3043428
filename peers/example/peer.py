#!/usr/bin/env python3
"""A peer of one's own, for `corewire lab run guti --peer PYTHON=peers/example/peer.py`.

The least that speaks the harness protocol of peers/README.md: a server that hands out numbers, and a
client that asks for them and measures. One message either way is a length and so many octets of
payload; an answer has eight octets of number before the payload. It is here to be read and copied,
not to be fast.
"""

import argparse
import json
import math
import os
import signal
import socket
import socketserver
import struct
import sys
import threading
import time

LENGTH = struct.Struct(">I")
NUMBER = struct.Struct(">Q")
WIDTH_NS = 50_000
BINS = 400
DIGITS = 1000


def say(event, **members):
    print(json.dumps({"event": event, **members}), flush=True)


def read(connection, octets):
    data = bytearray()
    while len(data) < octets:
        more = connection.recv(octets - len(data))
        if not more:
            raise ConnectionError("the other end closed the connection")
        data += more
    return bytes(data)


def address_of(text):
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


# The server ----------------------------------------------------------------------------------------


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while True:
                (octets,) = LENGTH.unpack(read(self.request, LENGTH.size))
                payload = read(self.request, octets)
                number = NUMBER.pack(self.server.next())
                self.request.sendall(LENGTH.pack(octets) + number + payload)
        except ConnectionError:
            pass


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address):
        super().__init__(address, Handler)
        self.lock = threading.Lock()
        self.allocated = 0

    def next(self):
        with self.lock:
            self.allocated += 1
            return self.allocated


def serve(options):
    try:
        server = Server(address_of(options.listen))
    except OSError as error:
        say("error", what=os.strerror(error.errno), where="listen")
        return 1
    threading.Thread(target=server.serve_forever, daemon=True).start()
    host, port = server.server_address[:2]
    versions = {"python": ".".join(map(str, sys.version_info[:3]))}
    say("ready", protocol=1, adapter=options.adapter, address=f"{host}:{port}",
        pid=os.getpid(), versions=versions)
    # The end of standard input ends it, and so do the two signals.
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    ended.wait()
    say("stopping", allocated=server.allocated)
    return 0


# The client ----------------------------------------------------------------------------------------


class Latencies:
    """Exact moments, the histogram of 50 us, and a fine one of three digits."""

    def __init__(self):
        self.count = self.total = self.squares = self.most = 0
        self.least = None
        self.bins = [0] * BINS
        self.fine = {}

    def add(self, ns):
        self.count += 1
        self.total += ns
        self.squares += ns * ns
        self.most = max(self.most, ns)
        self.least = ns if self.least is None else min(self.least, ns)
        self.bins[min(ns // WIDTH_NS, BINS - 1)] += 1
        # At least a thousand steps in every power of two: three significant digits.
        shift = max(ns.bit_length() - DIGITS.bit_length() - 1, 0)
        value = ns >> shift << shift
        self.fine[value] = self.fine.get(value, 0) + 1

    def members(self):
        mean = self.total / self.count if self.count else 0.0
        variance = self.squares / self.count - mean * mean if self.count else 0.0
        moments = {"min": self.least or 0, "max": self.most, "mean": mean,
                   "stddev": math.sqrt(max(variance, 0.0))}
        return {"latency_ns": moments, "histogram_50us": self.bins,
                "hdr": sorted(map(list, self.fine.items()))}


class Client:
    """The callers: a thread and a connection each, one schedule for all of them."""

    def __init__(self, options):
        self.options = options
        self.payload = bytes(options.payload)
        self.latencies = Latencies()
        self.errors = 0
        self.sample = ""
        self.lag_total = self.lag_most = 0
        self.lock = threading.Lock()
        self.stop = threading.Event()
        self.begun = self.end = 0
        # So many requests have been given to a caller, in the window.
        self.given = 0
        self.connections = []

    def connect(self):
        for _ in range(self.options.clients):
            connection = socket.create_connection(address_of(self.options.connect), timeout=10)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections.append(connection)

    def call(self, connection):
        connection.sendall(LENGTH.pack(len(self.payload)) + self.payload)
        (octets,) = LENGTH.unpack(read(connection, LENGTH.size))
        answer = read(connection, NUMBER.size + octets)
        return answer

    def check(self, answer):
        (number,) = NUMBER.unpack(answer[: NUMBER.size])
        if number == 0 or answer[NUMBER.size :] != self.payload:
            raise ValueError("the answer is not what was asked for")

    def warm_up(self):
        until = time.monotonic() + self.options.warmup

        def caller(connection):
            while time.monotonic() < until and not self.stop.is_set():
                self.call(connection)

        self.all(caller)

    def measure(self):
        self.begun = time.monotonic_ns()
        if self.options.duration is not None:
            self.end = self.begun + int(self.options.duration * 1e9)
        self.all(self.caller)
        return time.monotonic_ns()

    def all(self, caller):
        threads = [threading.Thread(target=caller, args=(it,)) for it in self.connections]
        for thread in threads:
            thread.start()
        for thread in threads:
            # Woken at times, so that a signal is heard.
            while thread.is_alive():
                thread.join(0.1)

    def next_due(self):
        """When the next request is due; None when there is none."""
        with self.lock:
            due = time.monotonic_ns()
            if self.options.mode == "rate":
                due = self.begun + int(self.given * 1e9 / self.options.rate)
            if self.end and due >= self.end:
                return None
            if self.options.requests is not None and self.given >= self.options.requests:
                return None
            self.given += 1
            return due

    def caller(self, connection):
        while not self.stop.is_set():
            due = self.next_due()
            if due is None:
                return
            wait = (due - time.monotonic_ns()) / 1e9
            if wait > 0:
                time.sleep(wait)
            sent = time.monotonic_ns()
            try:
                answer = self.call(connection)
                # From when it was meant to leave: a late one counts as slow.
                took = time.monotonic_ns() - due
                self.check(answer)
            except (OSError, ValueError) as error:
                with self.lock:
                    self.errors += 1
                    self.sample = self.sample or str(error)
                return
            with self.lock:
                self.latencies.add(took)
                self.lag_total += sent - due
                self.lag_most = max(self.lag_most, sent - due)


def cpu_of(pid):
    """CPU time of another process, nanoseconds; None when it has gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return None
    ticks = int(fields[11]) + int(fields[12])
    return ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def ask(options):
    client = Client(options)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: client.stop.set())
    try:
        client.connect()
    except OSError as error:
        say("error", what=f"cannot connect to {options.connect}: {error}", where="connect")
        return 1
    say("connected")
    client.warm_up()
    say("measuring")
    server_before, own_before = cpu_of(options.server_pid), time.process_time_ns()
    ended = client.measure()
    server_after, own_after = cpu_of(options.server_pid), time.process_time_ns()
    known = server_before is not None and server_after is not None
    count = client.latencies.count
    rated = {}
    if options.mode == "rate":
        rated = {"lag_ns": {"mean": client.lag_total / max(count, 1), "max": client.lag_most},
                 "unsent": 0}
    say("result", protocol=1, adapter=options.adapter, partial=client.stop.is_set(),
        mode=options.mode, clients=options.clients, connections=options.clients,
        payload_bytes=options.payload, requests=count, errors=client.errors,
        error_sample=client.sample, clients_gave_up=0, duration_s=(ended - client.begun) / 1e9,
        request_bytes_total=2 * options.payload * count, **client.latencies.members(), **rated,
        server_cpu_ns=server_after - server_before if known else None,
        client_cpu_ns=own_after - own_before, server_threads=None, versions={})
    return 0


def main():
    programs = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ends = programs.add_subparsers(dest="end", required=True)
    server = ends.add_parser("server")
    server.add_argument("--adapter", default="PYTHON")
    server.add_argument("--listen", default="127.0.0.1:0")
    client = ends.add_parser("client")
    client.add_argument("--adapter", default="PYTHON")
    client.add_argument("--connect", required=True)
    client.add_argument("--clients", type=int, default=1)
    client.add_argument("--payload", type=int, default=0)
    client.add_argument("--mode", choices=["no-rate", "rate"], default="no-rate")
    client.add_argument("--rate", type=float)
    client.add_argument("--requests", type=int)
    client.add_argument("--duration", type=float)
    client.add_argument("--warmup", type=float, default=1.0)
    client.add_argument("--server-pid", type=int)
    client.add_argument("--connections", choices=["own"], default="own")
    options = programs.parse_args()
    return serve(options) if options.end == "server" else ask(options)


if __name__ == "__main__":
    sys.exit(main())
