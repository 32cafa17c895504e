"""What a party refuses, what it shows, and that a restart changes nothing."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from feddp_kmeans.errors import FedDPError
from feddp_kmeans.network.secure_sum import masks, sharing
from feddp_kmeans.network.secure_sum.identity import new_identity, sign
from feddp_kmeans.network.secure_sum.party import Party
from tests.strategies import JUNK

from .sessions import IDENTITIES, ROSTER, Session, exact, inputs, names, ready, terms, through_json

FALSE_ALARM = 1e-9


def adverts_of(n, agreed, *, signed=True):
    """Parties that wait for adverts, and the adverts."""
    session = Session(n, agreed, signed=signed).keys()
    return session.parties, list(session.aggregator.adverts)


def refuse_shares(adverts, party, match, roster=ROSTER):
    with pytest.raises(FedDPError, match=match):
        party.share(adverts, roster)


def test_an_advert_that_was_changed_on_its_way_is_refused():
    parties, adverts = adverts_of(3, terms(2))
    for field in ("encryption_key", "mask_keys", "self_checks"):
        other = getattr(adverts[2], field)
        forged = [adverts[0], replace(adverts[1], **{field: other}), adverts[2]]
        refuse_shares(forged, parties["p00"], "advert of 'p01' must be signed")
        refuse_shares(forged, parties["p01"], "advert of 'p01' must come back as it was sent, got another", roster=None)
    refuse_shares([adverts[0], adverts[2]], parties["p01"], "must come back as it was sent, got none")


def test_a_party_that_is_not_in_the_roster_is_refused():
    parties, adverts = adverts_of(3, terms(2))
    refuse_shares(adverts, parties["p00"], "must be in the roster, got 'p02'", roster={name: ROSTER[name] for name in names(2)})


def test_a_signature_of_another_identity_or_none_is_refused():
    agreed = terms(2)
    parties, adverts = adverts_of(3, agreed)
    stranger = replace(adverts[1], signature=sign(new_identity(), adverts[1].content(agreed)))
    refuse_shares([adverts[0], stranger, adverts[2]], parties["p00"], "advert of 'p01' must be signed")
    refuse_shares([adverts[0], replace(adverts[1], signature=b""), adverts[2]], parties["p00"], "advert of 'p01' must be signed")


@pytest.mark.parametrize("change", [{"session": bytes(32)}, {"threshold": 3}, {"rounds": 2}, {"colluders": 1, "threshold": 3}])
def test_an_advert_of_another_session_or_other_terms_is_refused(change):
    agreed = terms(2)
    parties, adverts = adverts_of(3, agreed)
    foreign = Party.new("p01", replace(agreed, **change)).advert(IDENTITIES["p01"])
    refuse_shares([adverts[0], foreign, adverts[2]], parties["p00"], "must be signed|must have 1 mask keys")


def test_adverts_must_be_distinct_sorted_and_of_all_rounds():
    parties, adverts = adverts_of(3, terms(2))
    party = parties["p00"]
    refuse_shares([adverts[0], adverts[2], adverts[1]], party, "distinct and sorted")
    refuse_shares([adverts[0], adverts[1], adverts[1]], party, "distinct and sorted")
    refuse_shares([adverts[0], adverts[1], replace(adverts[2], mask_keys=())], party, "'p02' must have 1 mask keys, got 0")


def test_a_number_of_parties_that_the_threshold_does_not_suit_is_refused():
    parties, adverts = adverts_of(4, terms(3))
    refuse_shares(adverts[:2], parties["p00"], "parties must be at least 3, the threshold, got 2")
    lonely = [Party.new(name, parties["p00"].terms).advert() for name in ("p04", "p05")]
    refuse_shares(
        adverts + lonely, parties["p00"], r"threshold must exceed half of parties plus colluders, \(6 \+ 0\) / 2, got 3", roster=None
    )


def test_stages_come_once_and_in_order():
    agreed = terms(2, rounds=2)
    session = Session(3, agreed)
    party = session.parties["p00"]
    values = inputs(3)["p00"]
    for early in (lambda: party.receive(names(3), {}), lambda: party.mask(0, values), lambda: party.unmask(0, names(3))):
        with pytest.raises(FedDPError, match="out of order"):
            early()
    session.keys().shares()
    late = (
        party.advert,
        lambda: party.share(session.aggregator.adverts),
        lambda: party.receive(names(3), session.aggregator.ciphertexts_for("p00")),
        lambda: party.unmask(0, names(3)),
        lambda: party.confirm(0, names(3), IDENTITIES["p00"]),
    )
    for call in late:
        with pytest.raises(FedDPError, match="out of order"):
            call()


@pytest.mark.parametrize("restart", [False, True])
def test_two_inputs_are_never_sent_under_the_same_masks(restart):
    session = ready(3, 2, rounds=3)
    party = session.parties["p00"]
    party.mask(1, inputs(3)["p00"])
    party = through_json(party) if restart else party
    for round_ in (0, 1):
        with pytest.raises(FedDPError, match="must be later than the last masked one, 1"):
            party.mask(round_, inputs(3)["p00"])
    party.mask(2, inputs(3)["p00"])


@pytest.mark.parametrize("round_", [-1, 2, 10**30, True, "0", None, 0.0])
def test_a_round_that_the_session_does_not_have_is_refused(round_):
    party = ready(3, 2, rounds=2).parties["p00"]
    for call in (lambda: party.mask(round_, inputs(3)["p00"]), lambda: party.unmask(round_, names(3))):
        with pytest.raises(FedDPError, match="round must be a whole number from 0 to 1"):
            call()


@pytest.mark.parametrize("values", [np.zeros(3), np.zeros((2, 2), dtype=np.int64), np.zeros(3, dtype=np.int32), [0.5], "text", None])
def test_values_must_be_a_row_of_64_bit_integers_and_a_refusal_spends_no_mask(values):
    party = ready(3, 2).parties["p00"]
    with pytest.raises(FedDPError, match="values must be one row of 64-bit integers"):
        party.mask(0, values)
    party.mask(0, inputs(3)["p00"])


def test_masking_leaves_the_values_as_they_were():
    values = inputs(3)["p00"]
    before = values.copy()
    ready(3, 2).parties["p00"].mask(0, values)
    assert np.array_equal(values, before)


def refuse_survivors(survivors, match):
    session = ready(5, 4)
    session.masked(0, inputs(5))
    with pytest.raises(FedDPError, match=match):
        session.parties["p00"].unmask(0, survivors)
    assert session.parties["p00"].unmask(0, names(5)[:4]).round == 0


def test_lists_of_survivors_that_could_show_too_much_are_refused():
    refuse_survivors(["p00", "p01", "p02"], "survivors must be at least 4, got 3")
    refuse_survivors(["p01", "p02", "p03", "p04"], "survivors must include 'p00' itself")
    refuse_survivors(["p00", "p01", "p02", "p02"], "distinct and sorted")
    refuse_survivors(["p00", "p01", "p03", "p02"], "distinct and sorted")
    refuse_survivors(["p00", "p01", "p02", "p09"], "took part so far, got 'p09'")
    refuse_survivors("p00p01", "survivors must be a list")
    refuse_survivors(["p00", "p01", "p02", 3], "printable characters")


def test_a_party_that_never_shared_is_no_survivor():
    session = Session(5, terms(3)).keys().shares(["p04"])
    session.masked(0, inputs(5))
    with pytest.raises(FedDPError, match="took part so far, got 'p04'"):
        session.parties["p00"].unmask(0, names(5))


@pytest.mark.parametrize("restart", [False, True])
def test_a_round_is_unmasked_once_so_that_no_party_gives_both_shares_of_a_pair(restart):
    session = ready(3, 2, rounds=2)
    session.masked(0, inputs(3))
    party = session.parties["p00"]
    reply = party.unmask(0, names(3))
    assert set(reply.self_shares) == set(names(3))
    assert not reply.key_shares
    party = through_json(party) if restart else party
    for survivors in (names(3), names(2)):
        with pytest.raises(FedDPError, match="must be unmasked once"):
            party.unmask(0, survivors)


def test_a_round_behind_the_masked_one_is_not_unmasked():
    session = ready(3, 2, rounds=2)
    session.masked(0, inputs(3))
    session.masked(1, inputs(3))
    with pytest.raises(FedDPError, match="round 0 of 'p00' must be the one masked last, 1"):
        session.parties["p00"].unmask(0, names(3))


def test_shares_are_of_the_self_mask_of_survivors_and_of_the_mask_key_of_dropouts():
    session = ready(5, 3)
    session.masked(0, inputs(5), ["p03"])
    reply = session.parties["p00"].unmask(0, ["p00", "p01", "p02", "p04"])
    assert set(reply.self_shares) == {"p00", "p01", "p02", "p04"}
    assert set(reply.key_shares) == {"p03"}


@pytest.mark.parametrize(("n", "threshold", "colluders"), [(5, 3, 0), (5, 4, 1), (6, 5, 2)])
def test_a_server_that_asks_both_ways_cannot_rebuild_both_secrets_of_a_party(n, threshold, colluders):
    session = ready(n, threshold, colluders=colluders)
    session.masked(0, inputs(n))
    lists = names(n), names(n)[:-1]
    target = names(n)[-1]
    for answers in itertools.product((0, 1), repeat=n - 1 - colluders):
        asked = [(name, [which]) for name, which in zip(names(n)[colluders:-1], answers, strict=True)]
        asked += [(name, [0, 1]) for name in names(n)[:colluders]] + [(target, [0])]
        replies = [through_json(session.parties[name]).unmask(0, lists[which]) for name, kinds in asked for which in kinds]
        of_self = sum(target in reply.self_shares for reply in replies)
        of_key = sum(target in reply.key_shares for reply in replies)
        assert of_self + of_key == n + colluders
        assert min(of_self, of_key) < threshold


def test_every_round_and_both_masks_have_seeds_of_their_own():
    parties = [Party.new(name, terms(2, rounds=4)) for name in names(3)]
    seeds = [seed for party in parties for pair in party._seeds for seed in pair]
    assert len(set(seeds)) == len(seeds) == 3 * 4 * 2


@pytest.mark.parametrize(("n", "threshold", "colluders"), [(4, 3, 0), (6, 5, 2)])
def test_one_share_less_than_the_threshold_does_not_rebuild_a_seed(n, threshold, colluders):
    session = Session(n, terms(threshold, colluders=colluders)).keys()
    seeds = session.parties["p00"]._seeds[0]
    session.shares()
    for kind, seed in enumerate(seeds):
        shares = {place: party._held["p00"][0][kind] for place, party in enumerate(session.parties.values())}
        for some in itertools.combinations(shares.items(), threshold):
            assert sharing.join(dict(some)) == seed
        for few in itertools.combinations(shares.items(), threshold - 1):
            assert sharing.join(dict(few)) != seed


def test_secrets_of_a_round_are_forgotten_once_it_is_unmasked():
    session = ready(3, 2, rounds=2)
    party = session.parties["p00"]
    kept = party.to_dict()
    session.masked(0, inputs(3))
    party.unmask(0, names(3))
    state = str(party.to_dict())
    for pairs in (kept["seeds"], *kept["held"].values()):
        assert not any(secret in state for secret in pairs[0])
        assert all(secret in state for secret in pairs[1])


def test_a_message_that_was_tampered_with_or_misdirected_is_refused():
    session = Session(3, terms(2)).keys()
    sent = {name: party.share(session.aggregator.adverts) for name, party in session.parties.items()}
    session.hand_over(sent)
    party = session.parties["p00"]
    good = session.aggregator.ciphertexts_for("p00")
    flipped = bytes([good["p01"][0] ^ 1]) + good["p01"][1:]
    replayed = ready(3, 2).aggregator.ciphertexts_for("p00")["p01"]
    for bad in (flipped, good["p01"][:-1], b"", replayed, good["p02"], sent["p01"]["p02"], sent["p00"]["p01"]):
        with pytest.raises(FedDPError, match="the message of 'p01' must be whole"):
            party.receive(names(3), good | {"p01": bad})
    for bad in ({"p01": good["p01"]}, good | {"p09": b""}, {}):
        with pytest.raises(FedDPError, match="must come from the 2 other parties that shared"):
            party.receive(names(3), bad)
    with pytest.raises(FedDPError, match="sharers must be at least 2, got 1"):
        party.receive(["p00"], {})
    party.receive(names(3), good)


def test_parties_that_were_shown_different_adverts_cannot_read_each_other():
    agreed = terms(3)
    session = Session(4, agreed).keys()
    adverts = list(session.aggregator.adverts)
    impostor = [*adverts[:3], Party.new("p03", agreed).advert()]
    session.hand_over({name: session.parties[name].share(impostor if name == "p01" else adverts) for name in names(4)[:3]})
    with pytest.raises(FedDPError, match="under the same adverts"):
        session.parties["p00"].receive(names(4)[:3], session.aggregator.ciphertexts_for("p00"))


def test_a_public_key_that_fixes_the_secret_is_refused():
    parties, adverts = adverts_of(2, terms(2), signed=False)
    with pytest.raises(FedDPError, match="point of full order"):
        parties["p00"].share([adverts[0], replace(adverts[1], encryption_key=bytes(32))])


def test_a_masked_input_looks_uniform_whatever_the_values():
    session = ready(3, 2, rounds=2)
    party = session.parties["p00"]
    for round_, values in enumerate((np.zeros(20_000, dtype=np.int64), np.arange(20_000, dtype=np.int64))):
        masked = party.mask(round_, values)
        counts = np.bincount(np.frombuffer(masked.tobytes(), dtype=np.uint8), minlength=256)
        assert chisquare(counts).pvalue > FALSE_ALARM
        assert len(np.unique(masked)) == len(masked)


def test_masks_of_two_rounds_and_two_parties_have_nothing_in_common():
    session = ready(3, 2, rounds=2)
    zeros = {name: np.zeros(1000, dtype=np.int64) for name in names(3)}
    sent = [*session.masked(0, zeros).values(), *session.masked(1, zeros).values()]
    assert len(np.unique(np.concatenate(sent))) == 6000


def test_without_the_self_mask_the_masked_inputs_alone_do_not_add_up():
    session = ready(3, 2)
    values = inputs(3)
    sent = session.masked(0, values)
    assert not (sum(sent.values()) == exact(values, names(3))).any()


def test_an_input_that_came_and_was_called_dropped_stays_under_its_self_mask():
    session = ready(3, 2)
    values = inputs(3, size=64)
    self_seed = session.parties["p02"]._seeds[0][1]
    late = session.masked(0, values)["p02"]
    replies = [session.parties[name].unmask(0, names(2)) for name in names(2)]
    seed = sharing.join({place: reply.key_shares["p02"] for place, reply in enumerate(replies)})
    session_id, adverts = session.agreed.session, session.aggregator.adverts
    private = masks.mask_private_key(seed, session_id, 0, "p02")
    for other in adverts[:2]:
        masks.add_pair_mask(late, masks.pair_key(private, other.mask_keys[0], session_id, 0, b"", "p02", other.name), other.name, "p02")
    left = late - values["p02"].astype(np.uint64)
    assert np.array_equal(left, masks.mask(masks.self_key(self_seed, session_id, 0, "p02"), 64))
    assert left.all()


def confirmed_round(n=4, threshold=3):
    session = ready(n, threshold, confirmed=True)
    session.masked(0, inputs(n))
    return session


def test_nothing_is_revealed_before_the_threshold_has_signed_the_list():
    session = confirmed_round()
    signatures = session.confirmations(0, names(4))
    party = session.parties["p00"]
    few = {name: signatures[name] for name in ("p00", "p01")}
    forged = dict.fromkeys(names(4), signatures["p00"])
    for given_, valid in ((None, 0), ({}, 0), (few, 2), (few | {"p02": b"", "p09": signatures["p03"]}, 2), (forged, 1)):
        with pytest.raises(FedDPError, match=f"must be at least 3, got {valid} that are valid"):
            party.unmask(0, names(4), given_)
    assert party.unmask(0, names(4), signatures).round == 0


def test_a_party_confirms_one_list_and_unmasks_that_one():
    session = confirmed_round()
    signatures = session.confirmations(0, names(4))
    party = session.parties["p00"]
    with pytest.raises(FedDPError, match="confirmation of round 0 of 'p00' must be asked for once"):
        party.confirm(0, names(3), IDENTITIES["p00"])
    with pytest.raises(FedDPError, match="must be the list that 'p00' confirmed"):
        party.unmask(0, names(3), signatures)


def test_signatures_of_another_list_do_not_count():
    session = confirmed_round()
    signatures = {name: session.parties[name].confirm(0, names(3), IDENTITIES[name]) for name in ("p01", "p02")}
    signatures["p00"] = session.parties["p00"].confirm(0, names(4), IDENTITIES["p00"])
    with pytest.raises(FedDPError, match="got 1 that are valid"):
        session.parties["p00"].unmask(0, names(4), signatures)


def test_signatures_of_another_round_do_not_count():
    session = ready(4, 3, rounds=2, confirmed=True)
    session.masked(0, inputs(4))
    old = session.confirmations(0, names(4))
    session.masked(1, inputs(4))
    party = session.parties["p00"]
    own = party.confirm(1, names(4), IDENTITIES["p00"])
    with pytest.raises(FedDPError, match="must be at least 3, got 1 that are valid"):
        party.unmask(1, names(4), old | {"p00": own})


def test_signatures_of_another_session_do_not_count():
    old = confirmed_round().confirmations(0, names(4))
    party = confirmed_round().parties["p00"]
    own = party.confirm(0, names(4), IDENTITIES["p00"])
    with pytest.raises(FedDPError, match="must be at least 3, got 1 that are valid"):
        party.unmask(0, names(4), old | {"p00": own})


def test_confirmed_terms_need_a_roster():
    parties, adverts = adverts_of(3, terms(2, confirmed=True))
    refuse_shares(adverts, parties["p00"], "a roster of 'p00' must be given", roster=None)


def states():
    """A party's state at each stage."""
    session = Session(3, terms(2, rounds=2))
    found = [session.parties["p00"].to_dict()]
    session.keys()
    found.append(session.parties["p00"].to_dict())
    session.shares()
    found.append(session.parties["p00"].to_dict())
    session.masked(0, inputs(3))
    found.append(session.parties["p00"].to_dict())
    session.parties["p00"].unmask(0, names(3))
    return [*found, session.parties["p00"].to_dict()]


STATES = states()


@settings(max_examples=300)
@given(st.sampled_from(STATES), st.data())
def test_a_damaged_state_is_refused_or_harmless(state, data):
    damaged = dict(state)
    damaged[data.draw(st.sampled_from(sorted(state)))] = data.draw(JUNK | st.sampled_from([v for s in STATES for v in s.values()]))
    try:
        party = Party.from_dict(damaged)
    except FedDPError:
        return
    assert Party.from_dict(party.to_dict()).to_dict() == party.to_dict()


@given(JUNK)
def test_anything_else_is_no_party(junk):
    with pytest.raises(FedDPError, match="Party must have the fields"):
        Party.from_dict(junk)


def test_a_state_comes_back_whole():
    for state in STATES:
        assert Party.from_dict(state).to_dict() == state
