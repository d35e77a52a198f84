"""Several processes that train one model: what they share out, add up and gather.

`accelerate launch` starts them, on one machine or many. Each plays its share of the groups and scores its share of
each minibatch; gradients are *added* over the processes, since the loss is weighted by the whole minibatch already.
Alone, all of this costs nothing and `accelerate` is not imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import torch

from scpo_envs.errors import MissingExtraError

T = TypeVar("T")

BUCKET = 2**26
"""Numbers added up over the processes at once: few messages, and no second copy of a large model's gradients."""


class Processes:
    """This process among its fellows.

    Attributes:
        rank: Its number.
        count: How many there are.
    """

    def __init__(self) -> None:
        self._accelerator: Any = None
        self.rank, self.count = 0, 1
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            try:
                from accelerate import Accelerator
            except ImportError as error:
                raise MissingExtraError("training with several processes", "train") from error
            self._accelerator = Accelerator(cpu=not torch.cuda.is_available())
            self.rank, self.count = self._accelerator.process_index, self._accelerator.num_processes

    @property
    def first(self) -> bool:
        """Whether this process writes and prints."""
        return self.rank == 0

    def share(self, total: int) -> range:
        """The part of `range(total)` that falls to this process; parts follow one another."""
        bounds = [total * rank // self.count for rank in range(self.count + 1)]
        return range(bounds[self.rank], bounds[self.rank + 1])

    def gather(self, value: T) -> list[T]:
        """The value that each process passes, in the order of their ranks."""
        if self._accelerator is None:
            return [value]
        from accelerate.utils import gather_object

        gathered: list[T] = gather_object([value])
        return gathered

    def add_gradients(self, parameters: list[torch.nn.Parameter]) -> None:
        """Replace each gradient by the sum over the processes; none counts as zero."""
        if self._accelerator is None:
            return
        for bucket in buckets([one.numel() for one in parameters], BUCKET):
            own = [parameters[index] for index in bucket]
            grads = [torch.zeros_like(one) if one.grad is None else one.grad for one in own]
            flat = torch.cat([grad.reshape(-1) for grad in grads])
            # between GPUs only what lies on them can be added up
            total = self._accelerator.reduce(flat.to(self._accelerator.device), reduction="sum").to(flat.device)
            for parameter, part in zip(own, total.split([grad.numel() for grad in grads]), strict=True):
                parameter.grad = part.view_as(parameter).clone()  # of its own, so that the bucket can go

    def wait(self) -> None:
        """Return once every process has come here."""
        if self._accelerator is not None:
            self._accelerator.wait_for_everyone()

    def close(self) -> None:
        """Take leave of the others."""
        if self._accelerator is not None:
            self._accelerator.end_training()


def buckets(sizes: Sequence[int], most: int) -> Iterator[list[int]]:
    """Indices in order, dealt into runs whose sizes add up to `most` at most, or that hold one alone."""
    run: list[int] = []
    total = 0
    for index, size in enumerate(sizes):
        if run and total + size > most:
            yield run
            run, total = [], 0
        run.append(index)
        total += size
    if run:
        yield run
