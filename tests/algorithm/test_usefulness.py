"""Which results say nothing, and which parts of a result noise hides: cases by hand, and whole runs."""

import numpy as np
import pytest

from feddp_kmeans import FedDPKMeans
from feddp_kmeans.algorithm.feddp_init import NoisyCenters
from feddp_kmeans.algorithm.usefulness import column_remarks, doubts, hidden_columns, stddevs, total_doubt, why_useless

CENTERS = np.array([[0.0, 0.0], [10.0, 1.0]])


def noisy(centers=CENTERS, counts=(100.0, 50.0), stddev=0.1, count_stddev=5.0, **more):
    return NoisyCenters(np.asarray(centers), np.asarray(counts), np.full(len(centers), stddev), count_stddev, (), **more)


def why(found):
    return why_useless(found, found.counts, found.count_stddev)


def test_clusters_beyond_their_noise_are_useful_and_so_is_anything_without_noise():
    assert why(noisy()) is None
    assert why(noisy(count_stddev=0.0, counts=(0.0, 0.0), centers=np.zeros((2, 2)))) is None
    assert why_useless(noisy(), np.full(2, np.nan), None) is None


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (noisy(counts=(9.0, -3.0)), "no cluster is larger than the noise in its size"),
        (noisy(centers=np.ones((2, 2))), "all centers are the same point"),
        (noisy(stddev=9.0), "no center is farther from the mean"),
        (noisy(useless="the method says so"), "the method says so"),
    ],
)
def test_why_a_result_says_nothing(found, words):
    assert words in why(found)


def test_one_cluster_is_useful_though_it_is_the_mean():
    assert why(noisy(centers=[[3.0, 4.0]], counts=(100.0,))) is None
    assert why(noisy(centers=[[3.0, 4.0]], counts=(8.0,))) is not None


def test_one_center_beyond_its_noise_is_enough():
    assert why(noisy(axis_stddev=np.array([[50.0, 50.0], [50.0, 50.0]]))) is not None
    assert why(noisy(axis_stddev=np.array([[50.0, 50.0], [0.1, 50.0]]))) is None


def test_a_column_that_is_not_used_counts_for_nothing():
    centers = np.column_stack([CENTERS, np.full(2, 0.1)])
    assert why(noisy(centers=centers, axis_stddev=np.array([[0.1, 0.1, np.nan]] * 2))) is None
    assert why(noisy(centers=centers, axis_stddev=np.array([[50.0, 50.0, np.nan]] * 2))) is not None


def test_small_sizes_are_remarked_on():
    found = noisy(counts=(100.0, 9.0))
    assert doubts(found, found.counts, 5.0) == ["cluster 1 may be empty: its size is within the noise"]
    assert doubts(found, np.array([8.0, 9.0]), 5.0) == ["clusters 0, 1 may be empty: their sizes are within the noise"]
    assert doubts(noisy(), np.array([100.0, 50.0]), 5.0) == []
    assert doubts(noisy(), np.array([1.0, 0.0]), 0.0) == []


def test_a_column_whose_noise_exceeds_the_spread_of_its_values_is_named():
    errors = stddevs(CENTERS, np.array([2.0, 2.0]), None)
    flat, drowned = hidden_columns(CENTERS, errors, np.array([4.0, 1.5]))
    assert flat.tolist() == [False, True]
    assert drowned.tolist() == [False, True]
    assert column_remarks(CENTERS, errors, np.array([4.0, 1.5]), ["a", "b"])[0].startswith("noise exceeds the spread of the values of b:")
    assert column_remarks(CENTERS, errors, None, ["a", "b"]) == []
    many = column_remarks(np.zeros((2, 20)), np.ones((2, 20)), np.full(20, 0.5), [f"c{i}" for i in range(20)])
    assert "c7 and 12 more" in many[0]


@pytest.mark.parametrize("server", [True, False])
def test_whole_runs_of_nothing_are_useless_and_of_clusters_are_not(server, rng):
    points = rng.standard_normal((4000, 5)) + 8 * rng.integers(2, size=(4000, 1))
    public = {"server_data": rng.standard_normal((40, 5)) + 8 * rng.integers(2, size=(40, 1))} if server else {}
    found = FedDPKMeans(2, epsilon=1.0, box=(-5.0, 15.0), random_state=0).fit(points, **public).clustering_
    assert found.useless is None
    assert found.remarks == ()
    nothing = FedDPKMeans(2, epsilon=0.01, box=(-5.0, 15.0), random_state=0).fit(points[:20], **public).clustering_
    assert nothing.useless == nothing.remarks[0]


def test_sizes_are_compared_with_the_agreed_number_of_points():
    counts = np.array([60.0, 45.0])
    assert total_doubt(counts, 5.0, 100, bounded=False) is None
    assert "add up to 105, give or take 14 by noise, but 200 points were agreed" in total_doubt(counts, 5.0, 200, bounded=False)
    assert total_doubt(counts, 5.0, 200, bounded=True) is None
    assert "50 points were agreed" in total_doubt(counts, 5.0, 50, bounded=True)
    assert "could not be checked" in total_doubt(counts, None, 105, bounded=False)
    assert total_doubt(counts, 0.0, 105, bounded=False) is None
    assert "104 points were agreed" in total_doubt(counts, 0.0, 104, bounded=False)
