"""The ServerApp."""

from feddp_kmeans.network.deployment.apps import server_app

app = server_app()
