"""A sum over parties of which nobody learns more than the sum. No transport, no noise and no k-means here.

The protocol is that of Bonawitz et al. (2017), in integers modulo 2**64. One session serves several rounds: keys and shares are exchanged
once, and a round takes two messages per party (three where confirmed).
"""
