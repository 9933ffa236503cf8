"""Threads in tests."""

import threading


def run_threads(count, body):
    """Runs `body` in several threads at once; all must return."""
    failures = []

    def guarded():
        try:
            body()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
