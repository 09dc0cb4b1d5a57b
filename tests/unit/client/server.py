"""Fake brokers for tests of `kgtui.client`. A test can set, for each API, the function that creates the responses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from uuid import NAMESPACE_URL, uuid5

from kgtui.protocol.header import decode_request_header, encode_response_header
from kgtui.protocol.messages import APIS
from kgtui.protocol.messages.cluster import API_VERSIONS, FIND_COORDINATOR, METADATA
from kgtui.protocol.messages.groups import LIST_GROUPS

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable, Mapping


class Request(NamedTuple):
    """A request that a fake broker has received."""

    key: int
    version: int
    fields: dict[str, Any]
    connection: int
    client_id: str | None


Response: TypeAlias = "dict[str, Any] | bytes | None"
"""Return value of a handler (function that responds to requests): fields or encoded body of a response, or None.

If the handler returns None, the fake broker sends no response.
"""

Handler: TypeAlias = "Callable[[Request], Response | Awaitable[Response]]"


class FakeBroker:
    """A fake broker on the loopback interface.

    `on` maps an API key to the handler (function) that creates the responses. In the response of an API without a
    handler, all fields have default values.
    """

    def __init__(self, node: int, cluster: FakeCluster) -> None:
        self.node = node
        self.cluster = cluster
        self.port = 0
        self.on: dict[int, Handler] = {
            API_VERSIONS.key: self.api_versions,
            METADATA.key: self.metadata,
            FIND_COORDINATOR.key: self.coordinators,
        }
        self.ranges: dict[int, tuple[int, int]] = {key: (api.low, api.high) for key, api in APIS.items()}
        self.features: dict[str, int] = {"group.version": 1}
        self.received: list[Request] = []
        self.connections = 0
        self.arrived = 0
        """Number of received requests, including requests to which the broker has not responded yet."""
        self._open: dict[int, asyncio.StreamWriter] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def open_connections(self) -> int:
        return len(self._open)

    def requests(self, key: int) -> list[Request]:
        """Return the received requests that have the API key `key`."""
        return [request for request in self.received if request.key == key]

    def api_versions(self, request: Request) -> Response:
        rows = [{"ApiKey": key, "MinVersion": low, "MaxVersion": high} for key, (low, high) in self.ranges.items()]
        return {
            "ApiKeys": rows,
            "FinalizedFeaturesEpoch": 7,
            "FinalizedFeatures": [
                {"Name": name, "MaxVersionLevel": level, "MinVersionLevel": level}
                for name, level in self.features.items()
            ],
        }

    def metadata(self, request: Request) -> Response:
        asked = request.fields["Topics"]
        return {
            "Brokers": [
                {"NodeId": node, "Host": host, "Port": port} for node, (host, port) in self.cluster.advertised().items()
            ],
            "ClusterId": "fake",
            "ControllerId": min(self.cluster.brokers),
            "Topics": [self.cluster.topic_row(topic["Name"]) for topic in asked or ()],
        }

    def coordinators(self, request: Request) -> Response:
        if request.version < 4:
            return {**self.cluster.coordinator_row(request.fields["Key"])}
        keys = request.fields["CoordinatorKeys"]
        return {"Coordinators": [{"Key": key, **self.cluster.coordinator_row(key)} for key in keys]}

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening, and close every connection."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self.hang_up()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def hang_up(self) -> None:
        """Close every connection, but continue to listen."""
        for writer in list(self._open.values()):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        self._open[number] = writer
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        frames: asyncio.Queue[bytes] = asyncio.Queue()
        answering = asyncio.create_task(self._answer_all(frames, number, writer))
        self._tasks.add(answering)
        answering.add_done_callback(self._tasks.discard)
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                frames.put_nowait(await reader.readexactly(size))
                self.arrived += 1
                self.cluster.notify_waiting()
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            answering.cancel()
            writer.transport.abort()
            del self._open[number]
            self._tasks.discard(task)
            self.cluster.notify_waiting()

    async def _answer_all(self, frames: asyncio.Queue[bytes], number: int, writer: asyncio.StreamWriter) -> None:
        """Respond to the requests of connection `number` one after the other, as a broker does."""
        try:
            while True:
                await self._answer(await frames.get(), number, writer)
        except (ConnectionError, asyncio.CancelledError):
            writer.transport.abort()

    async def _answer(self, frame: bytes, number: int, writer: asyncio.StreamWriter) -> None:
        header = decode_request_header(frame)
        api = APIS.get(header.api_key)
        low, high = self.ranges.get(header.api_key, (0, -1))
        if api is API_VERSIONS and not low <= header.version <= high:
            rows = [{"ApiKey": API_VERSIONS.key, "MinVersion": low, "MaxVersion": high}]
            body = API_VERSIONS.response.encode(0, {"ErrorCode": 35, "ApiKeys": rows})
            self._write(writer, encode_response_header(API_VERSIONS, 0, header.correlation_id) + body)
            return
        if api is None or not low <= header.version <= high:
            raise ConnectionAbortedError
        fields = api.request.decode(header.version, frame, header.size)
        request = Request(header.api_key, header.version, fields, number, header.client_id)
        self.received.append(request)
        self.cluster.notify_waiting()
        handler = self.on.get(header.api_key)
        answer: Response | Awaitable[Response] = {} if handler is None else handler(request)
        if isinstance(answer, Awaitable):
            answer = await answer
        if answer is None:
            return
        body = answer if isinstance(answer, bytes) else api.response.encode(header.version, answer)
        self._write(writer, encode_response_header(api, header.version, header.correlation_id) + body)

    def _write(self, writer: asyncio.StreamWriter, frame: bytes) -> None:
        writer.write(len(frame).to_bytes(4, "big") + frame)


class FakeCluster:
    """Fake brokers with the ids 1, 2 and so on. They all report the same topics, coordinators and broker addresses."""

    def __init__(self, size: int) -> None:
        self.brokers = {node: FakeBroker(node, self) for node in range(1, size + 1)}
        self.hosts: dict[int, tuple[str, int]] = {}
        self.topics: dict[str, dict[int, int]] = {}
        self.group_nodes: dict[str, int] = {}
        self.group_codes: dict[str, list[int]] = {}
        self._news = asyncio.Event()

    def __getitem__(self, node: int) -> FakeBroker:
        return self.brokers[node]

    @property
    def seeds(self) -> list[str]:
        return [broker.address for broker in self.brokers.values()]

    def advertised(self) -> dict[int, tuple[str, int]]:
        real = {node: ("127.0.0.1", broker.port) for node, broker in self.brokers.items()}
        return {**real, **self.hosts}

    def topic_row(self, name: str) -> Mapping[str, Any]:
        if name not in self.topics:
            return {"Name": name, "ErrorCode": 3}
        rows = [
            {"PartitionIndex": index, "LeaderId": leader, "ErrorCode": 0 if leader >= 0 else 5}
            for index, leader in self.topics[name].items()
        ]
        return {"Name": name, "Partitions": rows, "TopicId": uuid5(NAMESPACE_URL, name)}

    def coordinator_row(self, group: str) -> dict[str, Any]:
        codes = self.group_codes.get(group)
        if codes and (code := codes.pop(0)):
            return {"NodeId": -1, "Host": "", "Port": -1, "ErrorCode": code}
        node = self.group_nodes.get(group, 1)
        host, port = self.advertised()[node]
        return {"NodeId": node, "Host": host, "Port": port, "ErrorCode": 0}

    def notify_waiting(self) -> None:
        self._news.set()

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until `condition` is true; raise TimeoutError after 60 s.

        The condition is checked each time a broker receives a request or loses a connection.
        """
        async with asyncio.timeout(60):
            while not condition():
                self._news.clear()
                await self._news.wait()


def always(answer: Response) -> Handler:
    """Return a handler that gives the same response to every request."""
    return lambda request: answer


def groups(*ids: str) -> dict[str, Any]:
    """Return the fields of a ListGroups response that lists consumer groups with these ids."""
    return {"Groups": [{"GroupId": group, "ProtocolType": "consumer"} for group in ids]}


@asynccontextmanager
async def cluster(size: int = 1, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[FakeCluster]:
    """Run a cluster in which every broker lists exactly one group, for example broker 1 lists `group-of-1`."""
    fake = FakeCluster(size)
    for node, broker in fake.brokers.items():
        broker.on[LIST_GROUPS.key] = always(groups(f"group-of-{node}"))
        await broker.start(tls)
    try:
        yield fake
    finally:
        for broker in fake.brokers.values():
            await broker.stop()
