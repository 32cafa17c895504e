"""The ClientApp, for SuperNodes that run what the server sends."""

from feddp_kmeans.network.deployment.apps import client_app

app = client_app()
