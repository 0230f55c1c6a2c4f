from __future__ import annotations

import pytest

from analysis import metrics


def test_gain_is_in_points_of_the_gain() -> None:
    assert metrics.gain_pp(192.2, 192.2 / 1.23) == pytest.approx(23.0)
    assert metrics.gain_pp(80.0, 100.0) == pytest.approx(-20.0)


def test_loss_is_the_share_of_the_reference() -> None:
    assert metrics.loss_pct(without=30.0, reference=40.0) == pytest.approx(25.0)


def test_error_is_percent_but_points_where_the_unit_is_points() -> None:
    assert metrics.error(51.0, 50.0, "GB/s") == pytest.approx(2.0)
    assert metrics.error(22.5, 23.0, "pp") == pytest.approx(-0.5)


@pytest.mark.parametrize(
    ("ours", "claim", "expected"),
    [(25.0, "above", 0.0), (15.0, "above", -25.0), (15.0, "below", 0.0), (25.0, "below", 25.0)],
)
def test_shortfall_is_zero_while_a_one_sided_claim_holds(
    ours: float, claim: str, expected: float
) -> None:
    assert metrics.shortfall(ours, 20.0, "%", claim) == pytest.approx(expected)


def test_relative_difference_takes_the_worst_point_whichever_side_is_larger() -> None:
    assert metrics.relative_difference_max(
        {1: 100.0, 2: 99.0}, {1: 100.0, 2: 100.0}
    ) == pytest.approx(0.01)
    assert metrics.relative_difference_max({1: 100.0}, {1: 99.0}) == pytest.approx(0.01)


@pytest.mark.parametrize("other", [{1: 1.0, 2: 1.0}, {2: 1.0}])
def test_relative_difference_refuses_series_of_different_points(other: dict[int, float]) -> None:
    with pytest.raises(ValueError, match="same"):
        metrics.relative_difference_max({1: 1.0}, other)


def test_relative_difference_refuses_to_compare_nothing() -> None:
    with pytest.raises(ValueError):
        metrics.relative_difference_max({}, {})


def test_best_chunk_is_the_smaller_of_equals() -> None:
    assert metrics.best_chunk({1: 40.0, 2: 48.0, 4: 48.0, 8: 47.0}) == 2


def test_crossover_is_where_ours_stays_level() -> None:
    other = {1: 10.0, 2: 10.0, 4: 10.0, 8: 10.0}
    assert metrics.crossover_size({1: 12.0, 2: 9.0, 4: 10.0, 8: 11.0}, other) == 4
    assert metrics.crossover_size({1: 12.0, 2: 12.0, 4: 12.0, 8: 9.0}, other) is None
    assert metrics.crossover_size({1: 12.0, 2: 12.0, 4: 12.0, 8: 12.0}, other) == 1


def test_union_merges_what_touches_or_nests() -> None:
    assert metrics.union([(5.0, 6.0), (0.0, 4.0), (1.0, 2.0), (4.0, 4.5)]) == [
        (0.0, 4.5),
        (5.0, 6.0),
    ]


def test_overlap_is_a_share_of_the_less_busy_side() -> None:
    dma = [(0.0, 2.0), (4.0, 6.0)]
    assert metrics.overlap_share(dma, [(1.0, 5.0)]) == pytest.approx(2.0 / 4.0)
    assert metrics.overlap_share(dma, [(0.0, 10.0)]) == pytest.approx(1.0)
    assert metrics.overlap_share(dma, [(2.0, 4.0)]) == pytest.approx(0.0)
    assert metrics.overlap_share(dma, []) == 0.0
