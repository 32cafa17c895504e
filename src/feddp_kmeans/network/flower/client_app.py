"""An ordinary Flower ClientApp over our client: for simulations, and for SuperNodes that run what the server sends."""

from collections.abc import Callable, Mapping

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from feddp_kmeans.errors import EmptyMessageError
from feddp_kmeans.network.flower.body import body_of, reply

Handler = Callable[[bytes], bytes]
"""Answers a request; a refusal is an answer too."""


def make_client_app(handler_of: Callable[[Mapping[str, object]], Handler]) -> ClientApp:
    """Return the app whose handler is made from the node's own configuration; nothing in the server's run configuration is looked at."""
    app = ClientApp()

    @app.query()
    def _query(message: Message, context: Context) -> Message:
        return answer(message, handler_of(context.node_config))

    return app


def answer(message: Message, handle: Handler) -> Message:
    """Return the reply to a message, by its bytes only."""
    body = body_of(message)
    if body is None:
        raise EmptyMessageError("a message must hold one record of bytes, got something else.")
    return reply(handle(body), to=message)
