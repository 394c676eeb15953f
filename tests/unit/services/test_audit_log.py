"""The audit log: sealed once a minute, verified in pieces or at once, exported so that anybody can check it."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.audit import AuditEntry, Broken, Link
from cronfleet.domain.audit_chain import MAX_LINES, entry_digest, linked, seal_digest
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import DAY, MINUTE, SECOND
from cronfleet.domain.tenant import Tenant
from cronfleet.ports import cursors
from cronfleet.ports.job_store import Damaged, InsertAudit, NoAnswer
from cronfleet.services import audit_log, audit_verification, sealing
from cronfleet.services.access import Caller
from cronfleet.services.audit_log import AuditLog
from cronfleet.services.sealing import Sealer
from cronfleet.verify_audit import check, main, read, told
from tests.support.faults import Crash, Faulty
from tests.support.settable_clock import NOON, CountingIds
from tests.support.stores import memory_engine
from tests.support.tampering import Tampering
from tests.support.world import Notes

ACME = Caller(Tenant("acme"), "key-1", "request-1")


class Office:
    """A store whose log grows, is sealed, verified and tampered with."""

    def __init__(self) -> None:
        self.engine = memory_engine()
        self.store: MemoryJobStore = self.engine.store
        self.clock = self.engine.clock
        self.telemetry = Notes()
        self.ids = CountingIds()
        self.log = AuditLog(store=self.store, clock=self.clock)
        self.tampering = Tampering(self.engine, "acme")

    def write(self, *subjects: str, tenant: str = "acme", **said: Any) -> list[str]:
        entries = [self.entry(subject, tenant, **said) for subject in subjects]
        for entry in entries:
            self.store.commit([InsertAudit(entry)])
        return [entry.entry_id for entry in entries]

    def entry(self, subject: str, tenant: str = "acme", **said: Any) -> AuditEntry:
        values = {"before": {"status": "active"}, "after": {"status": "paused"}, **said}
        entry_id = self.ids.unique()
        return AuditEntry(tenant, entry_id, self.clock.now(), "ada", "pause", subject, f"r-{entry_id}", **values)

    def seal(self, store: Any = None) -> sealing.SealReport:
        self.clock.advance(MINUTE)
        sealer = Sealer(store=store or self.store, clock=self.clock, telemetry=self.telemetry)
        return sealer.seal(self.clock.now() + 20 * SECOND)

    def verdict(self) -> Any:
        return self.log.verify(ACME)

    def first_bad(self) -> str | None:
        verdict = self.verdict()
        assert verdict["ok"] == (verdict["first_bad"] is None) == (verdict["why"] is None)
        return verdict["first_bad"]

    def exported(self, limit: int = 1_000) -> list[str]:
        lines: list[str] = []
        cursor = None
        while True:
            page = self.log.export(ACME, cursor=cursor, limit=limit).splitlines()
            lines += page
            cursor = json.loads(page[-1])["cursor"]
            if cursor is None:
                return lines


@pytest.fixture
def office() -> Office:
    return Office()


@pytest.fixture
def three_chains(office: Office) -> list[str]:
    """Nine entries in three chains, all sealed, and one that is not yet."""
    ids = office.write(*["schedule:a", "schedule:b", "calendar:uk"] * 2)
    office.seal()
    ids += office.write("schedule:a", "schedule:b", "calendar:uk")
    office.seal()
    return ids + office.write("schedule:a")


# --- sealing -------------------------------------------------------------------------------------------------------


def test_a_sweep_seals_what_has_moved_since_the_last_and_nothing_else(office: Office) -> None:
    office.write("schedule:a", "schedule:b")
    office.write("schedule:a", tenant="rival")
    assert office.seal() == sealing.SealReport(seals=2, chains=3)
    assert office.seal() == sealing.SealReport()
    office.write("schedule:b", "schedule:b")
    assert office.seal() == sealing.SealReport(seals=1, chains=1)
    second = office.store.last_seal("acme")
    assert second is not None
    assert [(line.subject, line.seq) for line in second.lines] == [("schedule:b", 3)]
    assert office.verdict()["unsealed"] == 0


def test_each_seal_is_noted_outside_of_the_tables(office: Office) -> None:
    office.write("schedule:a")
    office.seal()
    seal = office.store.last_seal("acme")
    assert seal is not None
    assert [fields for name, fields in office.telemetry.events if name == "audit_sealed"] == [
        {"tenant": "acme", "number": 1, "hash": seal.digest}
    ]


def test_many_chains_take_many_seals_and_a_sweep_does_not_overrun_its_time(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.write(*(f"schedule:s{number}" for number in range(2 * MAX_LINES + 5)))
    assert office.seal() == sealing.SealReport(seals=3, chains=2 * MAX_LINES + 5)
    office.write("schedule:s1")
    sealer = Sealer(store=office.store, clock=office.clock, telemetry=office.telemetry)
    assert sealer.seal(office.clock.now()) == sealing.SealReport()
    assert office.seal().chains == 1


def test_a_sealer_may_die_before_or_after_any_call_and_another_one_may_be_faster(office: Office) -> None:
    for stop in range(40):
        office.write("schedule:a", "schedule:b")
        calls = iter(range(stop))

        def hook(_when: str, _name: str, calls: Any = calls) -> None:
            if next(calls, None) is None:
                raise Crash

        try:
            office.seal(Faulty(office.store, hook))
        except Crash:
            assert office.first_bad() is None
            office.seal()
        assert office.verdict()["unsealed"] == 0
        assert office.first_bad() is None
    assert stop > 20


def test_a_sealer_whose_replies_are_lost_writes_each_seal_once(office: Office) -> None:
    office.write("schedule:a", "schedule:b")
    lost = iter(["put_seal", "mark_sealed"])
    waits = [next(lost)]

    def hook(when: str, name: str) -> None:
        if when == "after" and waits and name == waits[0]:
            waits[:] = [following] if (following := next(lost, None)) else []
            raise NoAnswer

    assert office.seal(Faulty(office.store, hook)) == sealing.SealReport(seals=1, chains=2)
    assert not waits
    assert office.verdict()["seals"] == 1


# --- verification --------------------------------------------------------------------------------------------------


def test_an_untouched_log_is_well(office: Office, three_chains: list[str]) -> None:
    office.write("schedule:a", tenant="rival")
    assert office.verdict() == {
        "ok": True,
        "checked": 10,
        "first_bad": None,
        "why": None,
        "seals": 2,
        "unsealed": 1,
        "cursor": None,
    }


def test_a_log_without_an_entry_is_well(office: Office) -> None:
    assert office.verdict()["ok"]
    assert office.verdict()["checked"] == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"reason": "another"},
        {"actor": "eve"},
        {"at": NOON + 1},
        {"after": {"status": "active"}},
        {"before": None},
        {"action": "resume"},
        {"request_id": "another"},
        {"credential": "another"},
        {"home_tenant": "platform"},
        {"subject": "schedule:b"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_whatever_is_altered_in_an_entry_is_found(office: Office, three_chains: list[str], changes: Any) -> None:
    for entry_id in (three_chains[0], three_chains[4], three_chains[-1]):
        whole = office.tampering.get(entry_id)
        office.tampering.alter(entry_id, **changes)
        assert office.first_bad() == (entry_id if whole != office.tampering.get(entry_id) else None)
        office.tampering.put(whole)
    assert office.first_bad() is None


@pytest.mark.parametrize("place", range(10))
def test_whichever_entry_is_missing_is_found(office: Office, three_chains: list[str], place: int) -> None:
    office.tampering.take_out(three_chains[place])
    assert office.first_bad() == three_chains[place]


@pytest.mark.parametrize(("one", "other"), [(0, 3), (3, 6), (0, 1), (2, 9), (6, 9)])
def test_whichever_two_are_swapped_are_found(office: Office, three_chains: list[str], one: int, other: int) -> None:
    office.tampering.swap(three_chains[one], three_chains[other])
    assert office.first_bad() == three_chains[one]


def rewritten(office: Office, entry_id: str, **changes: Any) -> AuditEntry:
    """An entry that was altered together with its own hash."""
    entry = replace(office.tampering.get(entry_id), **changes)
    assert entry.link is not None
    return replace(entry, link=replace(entry.link, digest=entry_digest(entry, entry.link)))


@pytest.mark.parametrize("place", [0, 3, 6, 9])
def test_an_entry_that_is_altered_with_its_hash_is_found_by_what_follows_on_it(
    office: Office, three_chains: list[str], place: int
) -> None:
    office.tampering.put(rewritten(office, three_chains[place], reason="another"))
    assert office.first_bad() == three_chains[place]


def rechained(office: Office, subject: str, drop: str) -> None:
    """A whole chain made anew without one of its entries, its end included: by somebody who knows how."""
    entries = [office.tampering.get(one) for one in sorted(e for _, e in office.store.state.audit)]
    kept = [entry for entry in entries if entry.subject == subject and entry.entry_id != drop]
    office.tampering.take_out(drop)
    placed, heads = linked(kept, {})
    for entry in placed:
        office.tampering.put(entry)
    office.tampering.put_head(replace(heads["acme", subject], seal=2))


@pytest.mark.parametrize("place", [0, 3, 6])
def test_a_chain_that_is_made_anew_without_an_entry_is_found_by_the_seals(
    office: Office, three_chains: list[str], place: int
) -> None:
    rechained(office, "schedule:a", three_chains[place])
    assert office.first_bad() is not None


def test_a_whole_chain_that_is_taken_out_with_its_end_is_found_by_the_seals(
    office: Office, three_chains: list[str]
) -> None:
    for entry_id in three_chains[2::3]:
        office.tampering.take_out(entry_id)
    office.tampering.take_out_head("calendar:uk")
    assert office.first_bad() == three_chains[5], "what the first seal names"


def test_the_end_of_a_chain_that_is_cut_off_and_its_head_set_back_is_found_by_the_seals(
    office: Office, three_chains: list[str]
) -> None:
    _, _, _, _, fifth, _, _, eighth, _, _ = three_chains
    before = office.tampering.get(fifth)
    assert before.link is not None
    office.tampering.take_out(eighth)
    head = office.tampering.head("schedule:b")
    office.tampering.put_head(replace(head, seq=2, entry_id=fifth, digest=before.link.digest, seal=1))
    assert office.first_bad() == eighth


def test_a_head_that_is_missing_or_altered_is_found(office: Office, three_chains: list[str]) -> None:
    head = office.tampering.head("schedule:b")
    office.tampering.take_out_head("schedule:b")
    assert office.first_bad() == three_chains[1]
    office.tampering.put_head(replace(head, digest="0" * 64))
    assert office.first_bad() == head.entry_id
    office.tampering.put_head(replace(head, seq=2, entry_id=three_chains[4]))
    assert office.first_bad() in (three_chains[4], three_chains[7])


def test_a_seal_that_is_missing_or_altered_is_found(office: Office, three_chains: list[str]) -> None:
    first, second = office.store.state.seals["acme"]
    office.tampering.take_out_seal(1)
    assert office.first_bad() == "seal:1"
    office.store.state.seals["acme"] = [first]
    assert office.first_bad() == "seal:2", "the newest too: an end names it"
    altered = replace(first, lines=first.lines[:1])
    for bad in (altered, replace(altered, digest=seal_digest(altered)), replace(first, at=first.at + 1)):
        office.store.state.seals["acme"] = [bad, second]
        assert office.first_bad() in ("seal:1", "seal:2")
    office.store.state.seals["acme"] = [first, second]
    assert office.first_bad() is None


def test_an_entry_that_is_added_is_found(office: Office, three_chains: list[str]) -> None:
    ours = office.entry("schedule:a")
    fork = Link(2, "", three_chains[0], "")
    first = office.tampering.get(three_chains[0])
    assert first.link is not None
    fork = replace(fork, previous=first.link.digest)
    beyond = replace(fork, seq=9)
    for link in (None, Link(1, "", "", ""), fork, beyond, Link(2, "", "", "")):
        added = replace(ours, link=link)
        if link is not None:
            added = replace(added, link=replace(link, digest=entry_digest(ours, link)))
        office.tampering.put(added)
        assert office.first_bad() == ours.entry_id, link
    office.tampering.take_out(ours.entry_id)
    assert office.first_bad() is None


def test_entries_from_before_there_were_chains_are_well_before_them_and_nowhere_else(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = [office.entry("schedule:a"), office.entry("schedule:b")]
    for entry in old:
        office.tampering.put(entry)
    office.write("schedule:a")
    office.seal()
    assert (office.verdict()["ok"], office.verdict()["checked"]) == (True, 3)
    late = replace(office.entry("schedule:c"), entry_id="z" * 26)
    office.tampering.put(late)
    assert office.first_bad() == late.entry_id, "the tenant's chains had begun, though not this subject's"


def test_an_entry_that_cannot_be_read_is_the_first_bad_one(
    office: Office, three_chains: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Broken(three_chains[3], "at missing")
    monkeypatch.setitem(office.store.state.audit, ("acme", three_chains[3]), broken)
    monkeypatch.setattr(audit_verification, "PAGE", 2)
    assert office.first_bad() == three_chains[3]
    assert check(read(office.exported())) is not None


def test_a_seal_that_cannot_be_read_is_bad(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: Any) -> Any:
        raise Damaged("acme", "S#000000000001", "lines missing")

    monkeypatch.setattr(office.store, "walk_seals", damaged)
    assert office.first_bad() == "S#000000000001"


def test_what_is_written_meanwhile_makes_nothing_look_bad(
    office: Office, three_chains: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between any two calls of the verification the log grows, and is sealed."""
    monkeypatch.setattr(audit_verification, "PAGE", 2)
    turns = iter(range(60))

    def hook(when: str, _name: str) -> None:
        if when == "after" and next(turns, None) is not None:
            office.write("schedule:a", "schedule:new")
            Sealer(store=office.store, clock=office.clock, telemetry=office.telemetry).seal(office.clock.now() + 1)

    log = AuditLog(store=Faulty(office.store, hook), clock=office.clock)
    verdict = log.verify(ACME)
    assert (verdict["ok"], verdict["first_bad"]) == (True, None), verdict
    assert verdict["checked"] > 60


Spoil = Callable[[Office, list[str]], object]


@pytest.mark.parametrize(
    "spoil",
    [
        None,
        lambda office, ids: office.tampering.alter(ids[7], reason="another"),
        lambda office, ids: office.tampering.take_out(ids[3]),
        lambda office, ids: office.tampering.take_out(ids[9]),
        lambda office, ids: office.tampering.swap(ids[1], ids[4]),
        lambda office, ids: office.tampering.take_out_seal(1),
        lambda office, ids: [
            office.tampering.take_out_head("calendar:uk"),
            *(office.tampering.take_out(one) for one in ids[2::3]),
        ],
    ],
)
def test_a_log_that_is_verified_in_pieces_gets_the_same_verdict(
    office: Office, three_chains: list[str], monkeypatch: pytest.MonkeyPatch, spoil: Spoil | None
) -> None:
    if spoil is not None:
        spoil(office, three_chains)
    whole = office.verdict()
    monkeypatch.setattr(audit_log, "VERIFYING_TIME", 0)
    monkeypatch.setattr(audit_verification, "PAGE", 2)
    monkeypatch.setattr(audit_verification, "SEALS_PAGE", 2)
    cursor, checked, pieces = None, 0, 0
    while True:
        piece = office.log.verify(ACME, cursor)
        checked, pieces, cursor = checked + piece["checked"], pieces + 1, piece["cursor"]
        if cursor is None:
            break
    assert (piece["ok"], piece["first_bad"]) == (whole["ok"], whole["first_bad"])
    assert spoil is not None or (checked == 10 and pieces > 5)


def test_a_foreign_cursor_is_refused(office: Office, three_chains: list[str]) -> None:
    made = (
        ["a", "b"],
        ["seals", "x"],
        ["seals", "9" * 13],
        ["seals", "٣"],
        ["heads", "é"],
        ["entries", "x" * 513],
    )
    for cursor in ("x", *map(cursors.encode, made)):
        with pytest.raises(Invalid):
            office.log.verify(ACME, cursor)
    for cursor in ("x", *(cursors.encode([*one, "1"]) for one in made), cursors.encode(["entries", "x", "y"])):
        with pytest.raises(Invalid):
            office.log.export(ACME, cursor=cursor, limit=10)


# --- export --------------------------------------------------------------------------------------------------------


def test_an_export_is_the_whole_log_with_its_seals_however_it_is_cut_into_pages(
    office: Office, three_chains: list[str]
) -> None:
    office.write("schedule:a", tenant="rival")
    lines = [json.loads(line) for line in office.exported()]
    assert [line["id"] for line in lines if line["kind"] == "entry"] == three_chains
    assert [line["number"] for line in lines if line["kind"] == "seal"] == [1, 2]
    in_pages = [json.loads(line) for line in office.exported(limit=3)]
    without = [line for line in in_pages if line["kind"] != "page"]
    assert without == [line for line in lines if line["kind"] != "page"]


def test_a_page_of_an_export_ends_early_where_entries_are_large(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "MAX_EXPORT_BYTES", 1_000)
    ids = office.write(*["schedule:a"] * 7)
    assert len(office.log.export(ACME, cursor=None, limit=100).splitlines()) < 7
    assert [json.loads(line)["id"] for line in office.exported() if '"entry"' in line] == ids


def test_seals_that_come_while_a_log_is_exported_are_left_to_the_next_export(office: Office) -> None:
    office.write("schedule:a", "schedule:b", "schedule:c")
    office.seal()
    first = office.log.export(ACME, cursor=None, limit=2).splitlines()
    office.write("schedule:a")
    office.seal()
    cursor = json.loads(first[-1])["cursor"]
    lines = list(first)
    while cursor is not None:
        page = office.log.export(ACME, cursor=cursor, limit=2).splitlines()
        lines += page
        cursor = json.loads(page[-1])["cursor"]
    assert sum('"kind":"seal"' in line for line in lines) == 1
    assert check(read(lines)) is None


def test_an_export_is_checked_with_nothing_but_its_lines(
    office: Office, three_chains: list[str], tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "acme.ndjson"
    lines = office.exported(limit=4)
    file.write_text("\n".join(lines), encoding="utf-8")
    last = office.store.last_seal("acme")
    assert last is not None
    assert main([str(file), "--seal", f"2:{last.digest}"]) == 0
    assert f"ok: 10 entries, 2 seals, the last 2:{last.digest}; 1 entries are not sealed yet" in capsys.readouterr().out
    assert main([str(file), "--seal", f"2:{'0' * 64}"]) == 1
    assert main([str(tmp_path / "none")]) == 1
    file.write_text("\n".join([*lines, "{}"]), encoding="utf-8")
    assert main([str(file)]) == 1
    assert "line 18 is no line of an export" in capsys.readouterr().out


@pytest.mark.parametrize("place", range(12))
def test_whatever_line_of_an_export_is_altered_missing_or_moved_is_found(
    office: Office, three_chains: list[str], place: int
) -> None:
    lines = [json.loads(line) for line in office.exported() if '"page"' not in line]
    is_last_unsealed = place == 9
    missing = lines[:place] + lines[place + 1 :]
    assert (check(read(map(json.dumps, missing))) is None) == (is_last_unsealed or place == 11), "no line tells of it"
    for name in lines[place]:
        value = lines[place][name]
        other = value + 1 if isinstance(value, int) else [] if isinstance(value, list) else f"{value}x"
        for written in (other, None, True, 1.0, "", 7, [], {}):
            if json.dumps(written) != json.dumps(value):
                assert is_found([*lines[:place], {**lines[place], name: written}, *lines[place + 1 :]]), (name, written)
        without = {one: said for one, said in lines[place].items() if one != name}
        assert is_found([*lines[:place], without, *lines[place + 1 :]]), name
    assert is_found([*lines[:place], {**lines[place], "note": "seen"}, *lines[place + 1 :]])


def is_found(lines: list[dict[str, Any]]) -> bool:
    """Whether it is found that something is wrong, or that what stands there is no export any more."""
    try:
        return check(read(map(json.dumps, lines))) is not None
    except ValueError:
        return True


def test_an_export_without_its_last_page_says_so(office: Office, three_chains: list[str]) -> None:
    lines = office.exported(limit=4)
    assert told(read(lines), [])[0]
    for kept in range(len(lines)):
        is_well, verdict = told(read(lines[:kept]), [])
        assert not is_well, kept
        assert "the last page of the export is not there" in verdict


def test_what_an_old_entry_says_is_exported_without_hashes(office: Office) -> None:
    office.tampering.put(office.entry("schedule:a", before=None))
    office.clock.advance(DAY)
    office.write("schedule:a")
    lines = [json.loads(line) for line in office.exported()]
    assert [(line["seq"], line["hash"] is None, line["before"]) for line in lines[:2]] == [
        (None, True, ""),
        (1, False, '{"status":"active"}'),
    ]
    assert check(read(map(json.dumps, lines))) is None
