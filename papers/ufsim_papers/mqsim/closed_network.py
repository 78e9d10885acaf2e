"""Random requests at a fixed depth, in closed form: how many dies are busy, and what follows from it.

- **network**: dies with a queue each. A request that is answered comes back at once, as the next one, to a die that is
  drawn anew. So the number of requests under way never changes.
- **service**: what a die is busy with one request.
- **outside**: time of a request in which no die is concerned: firmware, link.

papers/mqsim/README.md has the derivation.
"""

from dataclasses import dataclass
from math import sqrt


@dataclass(frozen=True)
class Network:
    """Requests that go round, each with the same service."""

    dies: int
    under_way: int
    """Requests that the device has at a time."""
    service_us: float
    outside_us: float = 0.0

    @property
    def busy(self) -> float:
        """Dies that are busy on average; within 1% from twice as many requests as dies on."""
        outside = self.outside_us / self.service_us
        square = 1 - 1 / self.dies + 2 * outside
        half = self.dies + self.under_way - 1 + self.dies * outside
        return (half - sqrt(half**2 - 2 * square * self.dies * self.under_way)) / square

    @property
    def iops(self) -> float:
        """Requests per second."""
        return self.busy / self.service_us * 1e6

    @property
    def shortest_us(self) -> float:
        """The latency of a request that waits for no other."""
        return self.service_us + self.outside_us

    def mean_us(self, depth: int) -> float:
        """The mean latency of `depth` requests at a time, those included that wait for a place (Little's law)."""
        return depth / self.iops * 1e6

    def paired_iops(self, chance: float, transfer_us: float) -> float:
        """The same if a die may serve two requests at a time, each with its own transfer.

        `chance` is that of one waiting request to go with the one whose turn it is. It is a bit more than this: pairs
        are found in long queues, and with them queues become more even.
        """
        waiting = self.under_way / self.busy - 1
        pairs = waiting * chance
        return self.busy * (1 + pairs) / (self.service_us + pairs * transfer_us) * 1e6
