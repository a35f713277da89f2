"""Entry of a worker process: stands between the host and the code that nobody trusts.

    python -m assay.runtime.verify.guard CHANNEL LIFELINE

It enters namespaces, forks the worker and waits. When the worker ends, the host closes the lifeline or the host is
gone, it ends every descendant of the worker, however far it fled, removes its folder, and only then ends itself. It
runs no plugin code.
"""

import os
import select
import shutil
import socket
import sys
from pathlib import Path

from assay.runtime.verify import namespace
from assay.runtime.verify.descent import end_children, kill
from assay.runtime.verify.message import Setup, receive


def main(channel_fd: int, lifeline_fd: int) -> int:
    """Run one worker to its end; returns its exit status, 128 + the signal that ended it."""
    channel = socket.socket(fileno=channel_fd)
    setup = receive(channel, Setup)
    if setup is None:
        return 0
    namespace.adopt_orphans()
    entered = namespace.enter(net=setup.net) if setup.namespaces else ()
    alive_reader, alive_writer = os.pipe()
    worker = os.fork()
    if worker == 0:
        os.close(alive_writer)
        os.close(lifeline_fd)
        from assay.runtime.verify import worker as untrusted

        untrusted.main(channel, setup, entered, alive_reader)
        os._exit(0)
    # Only the worker may hold the channel: the host reads its end from it.
    channel.close()
    os.close(alive_reader)
    poller = select.poll()
    poller.register(lifeline_fd, select.POLLIN | select.POLLHUP)
    poller.register(os.pidfd_open(worker), select.POLLIN)
    poller.poll()
    status = end_all(worker)
    # The host may be gone; then nobody else removes it.
    namespace.unmount(Path(setup.scratch))
    shutil.rmtree(setup.scratch, ignore_errors=True)
    return status


def end_all(worker: int) -> int:
    """Kill a worker and all its descendants; returns the worker's exit status."""
    kill(worker)
    status = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    # In a process namespace nothing is left by now. Elsewhere the orphans came to this process.
    end_children(is_first=False)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    os._exit(main(int(sys.argv[1]), int(sys.argv[2])))
