"""The ranks of one trainer: how they find each other and speak.

Every rank runs the same command with the variables that `torchrun` also sets: RANK, WORLD_SIZE, LOCAL_RANK,
MASTER_ADDR, MASTER_PORT. A launcher without torchrun takes them from `environment`. Without RANK a process is a world
of its own and opens no port.
"""

import os
import socket
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import HashStore
from torch.distributed.rendezvous import rendezvous

from assay.core.error import TrainerError
from assay.runtime.trainer import device
from assay.runtime.trainer.watch import Watch

# Followers wait inside a collective for as long as rollout or verification takes; who is lost is seen by `Watch`.
_PATIENCE = timedelta(days=30)
# In which all ranks must have started.
_GATHERING = timedelta(minutes=5)


def environment(rank: int, world_size: int, port: int, address: str = "127.0.0.1") -> dict[str, str]:
    """Return the variables with which a launcher starts one rank of a group on this machine.

    Args:
        rank: From 0.
        world_size: Ranks of the group.
        port: Free TCP port, the same for all ranks.
        address: Of rank 0.
    """
    variables = {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(world_size),
        "MASTER_ADDR": address,
        "MASTER_PORT": str(port),
    }
    if address == "127.0.0.1":
        # Otherwise gloo resolves the host's name, which need not lead back to this machine.
        variables["GLOO_SOCKET_IFNAME"] = "lo"
    return variables


def free_port() -> int:
    """Return a TCP port of the loopback interface that was free a moment ago."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class RankGroup:
    """This process among the ranks.

    Attributes:
        rank: From 0.
        world_size: Ranks of the group.
    """

    def __init__(self, rank: int, world_size: int, watch: Watch | None) -> None:
        self.rank = rank
        self.world_size = world_size
        self._watch = watch
        # Plain bytes travel on the host, whatever the weights travel on.
        self._host: Any = dist.new_group(backend="gloo", timeout=_PATIENCE) if world_size > 1 else None

    def broadcast(self, payload: bytes | None = None) -> bytes:
        """Hand the bytes of rank 0 to all ranks; followers pass nothing and wait."""
        if self._host is None:
            return payload or b""
        length = torch.tensor([len(payload or b"")], dtype=torch.int64)
        dist.broadcast(length, 0, group=self._host)
        body = torch.zeros(int(length), dtype=torch.uint8)
        if payload:
            body = torch.frombuffer(bytearray(payload), dtype=torch.uint8)
        dist.broadcast(body, 0, group=self._host)
        return body.numpy().tobytes()

    def gather(self, values: list[int]) -> list[list[int]]:
        """Return the numbers of every rank, in rank order."""
        if self._host is None:
            return [values]
        gathered = [torch.zeros(len(values), dtype=torch.int64) for _ in range(self.world_size)]
        dist.all_gather(gathered, torch.tensor(values, dtype=torch.int64), group=self._host)
        return [row.tolist() for row in gathered]

    def close(self) -> None:
        """Leave the group in good order, so that the others do not take it for a loss."""
        if self._watch is not None:
            dist.barrier(group=self._host)
            self._watch.close()
        if dist.is_initialized():
            dist.destroy_process_group()


def join(environ: Mapping[str, str] = os.environ) -> RankGroup:
    """Join the group that the environment names; returns once all ranks are there.

    Raises:
        TrainerError: the variables are incomplete or no numbers.
    """
    if "RANK" not in environ:
        dist.init_process_group(device.backend(), store=HashStore(), rank=0, world_size=1)
        return RankGroup(0, 1, None)
    try:
        rank, world_size = int(environ["RANK"]), int(environ["WORLD_SIZE"])
        local_rank = int(environ.get("LOCAL_RANK", environ["RANK"]))
        address, _ = environ["MASTER_ADDR"], int(environ["MASTER_PORT"])
    except (KeyError, ValueError) as error:
        raise TrainerError(
            "a trainer rank must be given RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT", got=error
        ) from None
    if not device.is_cpu():
        torch.cuda.set_device(local_rank)
    store, _, _ = next(rendezvous("env://", timeout=_GATHERING))
    watch = Watch.join(store, rank, world_size, address) if world_size > 1 else None
    dist.init_process_group(device.backend(), store=store, rank=rank, world_size=world_size)
    return RankGroup(rank, world_size, watch)
