"""perp run --watch: frames arrive, pages control the run, and nobody else does."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

from _cli import PERP, main, perp, test, write_planar, write_scene

import h5py
import numpy

if "built without the replay page" in perp("replay", "none.h5", status=2).err:
    print("skipped: this perp was built without the replay page")
    sys.exit(77)


class Watched:
    """A run with a live page, ended at the latest when the test is over."""

    def __init__(self, *args):
        self.process = subprocess.Popen([PERP, "run", *map(str, args), "--watch"],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        found = re.fullmatch(r"watch: http://(.*):(\d+)/\n", line)
        assert found, line + self.process.stderr.read()
        self.host, self.port = found[1], int(found[2])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def request(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(self.host.strip("[]"), self.port, timeout=20)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        answer = response.status, response.read()
        connection.close()
        return answer

    def control(self, word):
        status, _ = self.request("POST", "/control", word,
                                 Origin=f"http://{self.host}:{self.port}")
        assert status == 204, (word, status)

    def raw(self, data, wait=5):
        with socket.create_connection((self.host, self.port), timeout=wait) as s:
            s.sendall(data)
            answer = b""
            try:
                while more := s.recv(65536):
                    answer += more
            except (TimeoutError, ConnectionResetError):
                pass
        return answer

    def wait(self, timeout=30):
        out, err = self.process.communicate(timeout=timeout)
        return self.process.returncode, out, err


class Events:
    """Server-sent events of a run, one by one."""

    def __init__(self, watched, timeout=20):
        self.connection = http.client.HTTPConnection(watched.host.strip("[]"), watched.port,
                                                     timeout=timeout)
        self.connection.request("GET", "/events")
        self.response = self.connection.getresponse()
        assert self.response.status == 200
        assert self.response.getheader("Content-Type") == "text/event-stream"

    def __iter__(self):
        name, data = None, None
        for line in self.response:
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                data = line[6:]
            elif line == "" and name is not None:
                yield name, json.loads(data)
                name = None

    def until(self, wanted):
        for name, data in self:
            if name == wanted:
                return data
        raise AssertionError(f"no {wanted}")

    def close(self):
        self.response.close()
        self.connection.close()


LONG = 1e6  # seconds: never ends by itself


@test
def frames_arrive_and_are_those_of_the_recording():
    for scene in (write_scene(), write_planar()):
        with Watched(scene, "--out", "r.h5", "--linger", "20", "--quiet") as run:
            events = Events(run)
            frames, header, end = [], None, None
            for name, data in events:
                if name == "header":
                    header = data
                elif name == "frame":
                    frames.append(data)
                elif name == "end":
                    end = data
                    break
            events.close()
            run.process.send_signal(signal.SIGINT)  # the page is not needed any more
            status, _, _ = run.wait()
            assert status == 0
        assert header["live"] and header["format"] == "perp-page 1" and header["size"] > 0
        assert end == {"status": "ok", "message": ""}
        with h5py.File("r.h5", "r") as file:
            q, v, t = file["state/q"][()], file["state/v"][()], file["time"][()]
            kinetic, offset = file["energy/kinetic"][()], file["contacts/offset"][()]
            impulse, mu = file["contacts/impulse"][()], file["contacts/mu"][()]
            worst = file["certificate/friction"][()]
        index = [f["index"] for f in frames]
        assert index == sorted(set(index)) and index[0] == 0 and index[-1] == len(t) - 1
        assert len(frames) > 40  # the run took a blink: its past is told nevertheless
        for f in frames:
            k = f["index"]
            assert f["time"] == t[k]
            assert numpy.allclose(f["q"], q[k], rtol=1e-8, atol=1e-12)
            assert numpy.allclose(f["v"], v[k], rtol=1e-8, atol=1e-12)
            assert numpy.isclose(f["energy"]["kinetic"], kinetic[k], rtol=1e-8)
            rows = slice(offset[k], offset[k + 1])
            assert numpy.allclose([c["impulse"] for c in f["contacts"]] or numpy.zeros((0, 4)),
                                  impulse[rows], rtol=1e-8, atol=1e-15)
            assert numpy.allclose([c["mu"] for c in f["contacts"]], mu[rows])
            assert k == 0 or numpy.isclose(f["certificate"]["friction"], worst[k], rtol=1e-8)
            assert all(c["state"] in (0, 1, 2) and len(c["slip"]) == 2 for c in f["contacts"])


@test
def the_error_of_joints_is_told_where_there_are_joints():
    rod = {"name": "rod", "mass": 1, "position": [0.5, 0, 0], "inertia": [0.1, 0.1, 0.1],
           "shapes": [{"type": "sphere", "radius": 0.1}]}
    pin = {"name": "pin", "type": "spherical", "a": "world", "b": "rod", "at": [0, 0, 0]}
    scene = write_scene(bodies=[rod], joints=[pin], joint_direction="start", forces=[], duration=0.5)
    with Watched(scene, "--out", "r.h5", "--linger", "20", "--quiet") as run:
        events = Events(run)
        frames = []
        for name, data in events:
            if name == "frame":
                frames.append(data)
            elif name == "end":
                break
        events.close()
        run.process.send_signal(signal.SIGINT)
        run.wait()
    with h5py.File("r.h5", "r") as file:
        truth = file["solver/joint_error"][()][:, 0]
    assert truth.max() > 1e-6 and len(frames) > 20, (truth.max(), len(frames))
    for f in frames:
        assert numpy.isclose(f["joint_error"], truth[f["index"]], rtol=1e-8, atol=1e-15), f["index"]


@test
def the_page_is_the_template_with_a_live_header():
    with Watched(write_scene(duration=LONG), "--quiet") as run:
        status, page = run.request("GET", "/")
        assert status == 200 and page.startswith(b"<!doctype html>")
        found = re.search(rb'<script type="application/json" class="perp-run">(.*?)</script>', page)
        header = json.loads(found[1])
        assert header["live"] and [b["name"] for b in header["bodies"]] == ["ground", "a", "b", "c"]
        assert b'class="perp-blob">' not in page[found.end():found.end() + 200]
        assert run.request("HEAD", "/") == (200, b"")
        assert run.request("GET", "/?x=1")[0] == 200
        assert run.request("GET", "/favicon.ico")[0] == 204


@test
def pause_step_play_and_stop():
    with Watched(write_scene(duration=LONG), "--quiet", "--out", "r.h5", "--json") as run:
        events = Events(run)
        stream = iter(events)
        assert events.until("state") == {"paused": False}
        events.until("frame")
        run.control("pause")
        for name, data in stream:
            if name == "state":
                break
        assert data == {"paused": True}
        # what was on its way, then silence
        events.connection.sock.settimeout(1.0) if events.connection.sock else None
        time.sleep(0.5)
        seen = []

        def drain():
            for name, data in stream:
                if name == "frame":
                    seen.append(data["index"])
                elif name == "end":
                    seen.append("end")
                    return
        thread = threading.Thread(target=drain, daemon=True)
        thread.start()
        still, count, deadline = None, -1, time.monotonic() + 30
        while len(seen) != count and time.monotonic() < deadline:
            count = len(seen)
            time.sleep(0.5)
        assert len(seen) == count, "a paused run goes on"
        still = seen[-1] if seen else None
        for i in range(3):
            run.control("step")
            deadline = time.monotonic() + 10
            while (not seen or seen[-1] == still) and time.monotonic() < deadline:
                time.sleep(0.01)
            assert still is None or seen[-1] == still + 1, (seen[-5:], still)
            still = seen[-1]
        run.control("play")
        deadline = time.monotonic() + 10
        while seen[-1] < still + 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert seen[-1] >= still + 5
        run.control("stop")
        status, out, err = run.wait()
        thread.join(10)
        assert status == 3 and json.loads(out)["status"] == "interrupted"
        assert "stopped from the live page at t = " in err and seen[-1] == "end"
        events.close()
    assert "stopped from the live page" in perp("verify", "r.h5", "--json").json["note"]


@test
def a_run_may_begin_paused_and_ctrl_c_still_ends_it():
    with Watched(write_scene(), "--quiet", "--paused") as run:
        events = Events(run)
        assert events.until("state") == {"paused": True}
        assert events.until("frame")["index"] == 0
        time.sleep(0.3)
        assert run.process.poll() is None
        run.process.send_signal(signal.SIGINT)
        status, _, err = run.wait()
        assert status == 3 and "interrupted at t = 0" in err
        events.close()


@test
def nobody_watching_changes_nothing():
    scene = write_scene()
    perp("run", scene, "--quiet", "--out", "plain.h5")
    with Watched(scene, "--quiet", "--out", "watched.h5", "--json") as run:
        status, out, _ = run.wait()  # a script does not wait for viewers
        assert status == 0 and json.loads(out)["status"] == "ok"
    with h5py.File("plain.h5", "r") as one, h5py.File("watched.h5", "r") as two:
        assert one["hash/frame"][-1] == two["hash/frame"][-1]


@test
def only_our_own_page_is_served():
    with Watched(write_scene(duration=LONG), "--quiet") as run:
        port = run.port
        own = f"127.0.0.1:{port}"
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "",
                     f"127.0.0.1.evil.example:{port}", f"10.0.0.1:{port}", f"localhost:{port}.",
                     "x" * 5000):
            for path in ("/", "/events"):
                assert run.request("GET", path, Host=host)[0] == 403, host
            assert run.request("POST", "/control", "stop", Host=host,
                               Origin="http://" + own)[0] == 403
        for host in (f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
            assert run.request("GET", "/", Host=host)[0] == 200, host
        # a form or script of another site
        for origin in (None, "null", "http://evil.example", f"https://{own}", f"http://{own}.x",
                       f"http://localhost:{port}", f"http://127.0.0.1"):
            headers = {} if origin is None else {"Origin": origin}
            assert run.request("POST", "/control", "stop", **headers)[0] == 403, origin
        assert run.request("POST", "/control", "stop", Origin="http://" + own,
                           Sec_Fetch_Site="cross-site")[0] == 403
        assert run.request("GET", "/events", Sec_Fetch_Site="cross-site")[0] == 403
        assert run.request("GET", "/control")[0] == 405
        assert run.request("POST", "/control", "explode", Origin="http://" + own)[0] == 400
        assert run.request("POST", "/control", "p" * 17, Origin="http://" + own)[0] == 413
        assert run.request("POST", "/", "x", Origin="http://" + own)[0] == 405
        assert run.request("DELETE", "/")[0] == 405
        for path in ("/..", "/etc/passwd", "//", "/index.html", "/events/", "/%2e%2e/", "*",
                     "/../../../../etc/passwd"):
            assert run.request("GET", path)[0] == 404, path
        run.control("pause")
        assert run.process.poll() is None


@test
def broken_requests_do_no_harm():
    with Watched(write_scene(duration=LONG), "--quiet") as run:
        host = f"Host: 127.0.0.1:{run.port}\r\n".encode()
        line = b"GET / HTTP/1.1\r\n"
        for data, status in (
                (b"\r\n\r\n", 400), (b"GET\r\n\r\n", 400), (b"GET /\r\n\r\n", 400),
                (b"GET / HTTP/2.0\r\n" + host + b"\r\n", 505), (line + b"\r\n", 403),
                (line + host + host + b"\r\n", 400), (line + b" folded\r\n" + host + b"\r\n", 400),
                (line + b"no colon\r\n" + host + b"\r\n", 400),
                (line + host + b"X: a\0b\r\n\r\n", 400),
                (line + host + b"X: " + b"y" * 9000, 431),
                (line + b"X: y\r\n" * 3000, 431), (b"\xff" * 9000, 431),
                (b"POST /control HTTP/1.1\r\n" + host + b"Origin: http://" + host[6:] + b"\r\n",
                 411),
                (b"POST /control HTTP/1.1\r\n" + host + b"Origin: http://" + host[6:] +
                 b"Content-Length: -1\r\n\r\n", 400),
                (b"POST /control HTTP/1.1\r\n" + host + b"Origin: http://" + host[6:] +
                 b"Content-Length: 99999999999999999999\r\n\r\n", 413),
                (b"POST /control HTTP/1.1\r\n" + host + b"Origin: http://" + host[6:] +
                 b"Transfer-Encoding: chunked\r\n\r\n5\r\npause\r\n0\r\n\r\n", 411)):
            answer = run.raw(data)
            assert answer.startswith(b"HTTP/1.1 %d " % status), (data[:80], answer[:80])
        # byte by byte is slow but right
        with socket.create_connection((run.host, run.port), timeout=10) as s:
            for byte in line + host + b"\r\n":
                s.sendall(bytes([byte]))
            assert s.recv(12) == b"HTTP/1.1 200"
        # many that say nothing, then one that does
        idle = [socket.create_connection((run.host, run.port)) for _ in range(20)]
        assert run.request("GET", "/")[0] == 200
        for s in idle:
            s.close()
        assert run.process.poll() is None


@test
def a_viewer_that_takes_nothing_does_not_hold_the_run():
    with Watched(write_scene(duration=LONG), "--quiet", "--out", "r.h5") as run:
        with socket.create_connection((run.host, run.port)) as s:
            s.sendall(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{run.port}\r\n\r\n".encode())
            time.sleep(1.0)
            other = Events(run)
            first = other.until("frame")["index"]
            last = first
            deadline = time.monotonic() + 60  # a machine may be busy
            for name, data in other:
                last = data["index"] if name == "frame" else last
                if last > first + 100 or time.monotonic() > deadline:
                    break
            assert last > first + 100, (first, last)
            other.close()


@test
def only_loopback_unless_told_otherwise():
    scene = write_scene()
    for address in ("0.0.0.0", "::", "192.0.2.1"):
        result = perp("run", scene, "--watch", "--bind", address, status=2)
        assert "--bind-anywhere" in result.err, result.err
    assert "expected an address" in perp("run", scene, "--watch", "--bind", "example.org",
                                         "--bind-anywhere", status=2).err
    with Watched(scene, "--bind", "0.0.0.0", "--bind-anywhere", "--linger", "20") as run:
        run.host = "127.0.0.1"
        assert run.request("GET", "/", Host=f"192.0.2.7:{run.port}")[0] == 200
        assert run.request("GET", "/", Host=f"evil.example:{run.port}")[0] == 403


@test
def options_are_checked():
    scene = write_scene()
    for port in ("-1", "65536", "x", "80.5", ""):
        assert "--port: must be" in perp("run", scene, "--watch", "--port", port, status=2).err
    assert "--linger: must be" in perp("run", scene, "--watch", "--linger", "-1", status=2).err
    for option in (("--port", "0"), ("--bind", "::1"), ("--paused",), ("--linger", "1")):
        assert "only together with --watch" in perp("run", scene, *option, status=2).err
    with Watched(write_scene(duration=LONG), "--quiet") as run:
        result = perp("run", scene, "--watch", "--port", run.port, "--json", status=2)
        assert "cannot serve on" in result.err and result.json["status"] == "bad-input"


main("watch_test")
