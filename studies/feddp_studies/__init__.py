"""The paper, reproduced with `feddp_kmeans`: its evaluation, its rivals, its theory and its data sets."""
