"""Bytes in Flower's messages: one record with one field, of type query."""

from flwr.app import ConfigRecord, Message, MessageType, RecordDict

_RECORD, _FIELD = "feddp", "body"


def request(node: int, body: bytes, ttl: float) -> Message:
    """Return a message for a node that expires after ``ttl`` seconds."""
    return Message(_records(body), dst_node_id=node, message_type=MessageType.QUERY, ttl=ttl)


def reply(body: bytes, to: Message) -> Message:
    """Return the answer to a message."""
    return Message(_records(body), reply_to=to)


def body_of(message: Message) -> bytes | None:
    """Return the bytes in a message, or None where it holds something else."""
    record = message.content.config_records.get(_RECORD) if message.has_content() else None
    body = None if record is None else record.get(_FIELD)
    return body if isinstance(body, bytes) else None


def _records(body: bytes) -> RecordDict:
    return RecordDict({_RECORD: ConfigRecord({_FIELD: body})})
