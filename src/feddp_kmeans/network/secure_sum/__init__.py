"""A sum over parties of which the server learns only the sum. It knows nothing of transport, noise and k-means.

The protocol is that of Bonawitz et al. (2017), in integers modulo 2**64. One session serves several rounds: keys and shares are exchanged
once, and a round takes two messages per party (three where confirmed).
"""
