"""Bytes in Flower's messages: one record with one field, of type query."""

from collections.abc import Callable

from flwr.app import ConfigRecord, Message, MessageType, RecordDict

from feddp_kmeans.errors import EmptyMessageError

_RECORD, _FIELD = "feddp", "body"

Handler = Callable[[bytes], bytes]
"""Answers a request; a refusal is an answer too."""


def request(node: int, body: bytes, ttl: float) -> Message:
    """Return a message for a node that expires after ``ttl`` seconds."""
    return Message(_records(body), dst_node_id=node, message_type=MessageType.QUERY, ttl=ttl)


def reply(body: bytes, to: Message) -> Message:
    """Return the reply to a message."""
    return Message(_records(body), reply_to=to)


def answer(message: Message, handle: Handler) -> Message:
    """Return the handler's reply to the bytes of a message; nothing else in the message is read."""
    body = body_of(message)
    if body is None:
        raise EmptyMessageError("a message must hold one record of bytes, got something else.")
    return reply(handle(body), to=message)


def body_of(message: Message) -> bytes | None:
    """Return the bytes in a message, or None if it holds something else."""
    record = message.content.config_records.get(_RECORD) if message.has_content() else None
    body = None if record is None else record.get(_FIELD)
    return body if isinstance(body, bytes) else None


def _records(body: bytes) -> RecordDict:
    return RecordDict({_RECORD: ConfigRecord({_FIELD: body})})
