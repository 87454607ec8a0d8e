"""Ctrl-C: the first interrupts the run, also while native code holds the main thread; the second ends the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from optdsl.run.interrupt import ctrl_c_interrupts
from optdsl.run.run import Run

ROOT = Path(__file__).parents[2]

START = """
import ctypes, os, signal, sys, threading, time
from optdsl.run.interrupt import ctrl_c_interrupts
from optdsl.run.run import Run

signal.signal(signal.SIGINT, signal.default_int_handler)
run = Run()

def press(times):
    for _ in range(times):
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)
"""


def outcome(script: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(ROOT)])}
    return subprocess.run(
        [sys.executable, "-c", START + script], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_first_stops_a_loop() -> None:
    done = outcome("""
with ctrl_c_interrupts() as watch:
    watch(run)
    threading.Thread(target=press, args=(1,)).start()
    while run.stop() is None:
        pass
print(run.stop().kind.value, signal.getsignal(signal.SIGINT) is signal.default_int_handler)
""")
    assert done.stdout.split() == ["interrupted", "True"], done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="uses the C library's sleep")
def test_native_code_is_reached() -> None:
    """usleep is begun again by ctypes' caller as long as the run goes on: no Python handler gets a turn meanwhile."""
    done = outcome("""
sleep = ctypes.CDLL(None).sleep
seen = []
threading.Thread(target=press, args=(1,)).start()
threading.Thread(target=lambda: (time.sleep(1.0), seen.append(run.interrupted)), daemon=True).start()
with ctrl_c_interrupts() as watch:
    watch(run)
    left = 2
    while left:
        left = sleep(left)
print(seen)
""")
    assert done.stdout.strip() == "[True]", done.stderr


def test_the_second_ends_the_process() -> None:
    done = outcome("""
with ctrl_c_interrupts() as watch:
    watch(run)
    threading.Thread(target=press, args=(2,), daemon=True).start()
    time.sleep(30)
print("never")
""")
    assert done.returncode == 130
    assert done.stdout == ""


def test_before_there_is_a_run_it_is_an_ordinary_one() -> None:
    done = outcome("""
try:
    with ctrl_c_interrupts():
        threading.Thread(target=press, args=(1,)).start()
        time.sleep(30)
except KeyboardInterrupt:
    print("raised", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
""")
    assert done.stdout.split() == ["raised", "True"], done.stderr


def test_other_threads_and_other_handlers_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)

    def elsewhere() -> None:
        with ctrl_c_interrupts() as watch:
            watch(Run())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is before
