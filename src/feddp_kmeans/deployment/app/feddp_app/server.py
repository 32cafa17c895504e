"""The ServerApp."""

from feddp_kmeans.deployment.apps import server_app

app = server_app()
