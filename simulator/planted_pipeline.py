"""Deliberate faults in how batches are carried out: something overlaps that may not, or silence counts as an answer."""

from typing import Final

from simulator.planted_edits import Edit, Planted

_DISPATCHER: Final = "cronfleet.services.dispatcher"
_CARRYING_OUT: Final = "cronfleet.services.carrying_out"

_SETTLE: Final = """            following = self._next(lease, serving, batches, switch)
            self._settle(logged, outcomes, report, following)
            logged = following
"""

PIPELINE_FAULTS: Final = (
    Planted(
        "log-not-written",
        "the batch is announced and never written into the dispatch log",
        (
            Edit(
                _CARRYING_OUT,
                "            ask(partial(self._store.put_batch, logged))\n",
                "            pass\n",
            ),
            Edit(
                _CARRYING_OUT,
                "        writes = [] if following is None else [partial(self._store.put_batch, following)]",
                "        writes: list[Callable[[], object]] = []",
            ),
        ),
    ),
    Planted(
        "open-batch-ignored",
        "a dispatcher does not finish what its predecessor left open",
        (
            Edit(
                _DISPATCHER,
                "            closed = self._carrying_out.finish(lease.open_batch, report)\n        serving",
                "            pass\n        serving",
            ),
        ),
    ),
    Planted(
        "claim-before-announcing",
        "claims are made before the batch is announced",
        (
            Edit(
                _CARRYING_OUT,
                "            switch = self._announce(lease, serving, logged)\n"
                "            report.batches += 1\n"
                "            outcomes = self._claim_all(logged)\n",
                "            outcomes = self._claim_all(logged)\n"
                "            switch = self._announce(lease, serving, logged)\n"
                "            report.batches += 1\n",
            ),
        ),
    ),
    Planted(
        "skips-not-written",
        "fires that the misfire policy drops leave no row",
        (
            Edit(
                _CARRYING_OUT,
                "        rows = [partial(self._store.insert_run, skip.row) for skip in skips]",
                "        rows = list[Callable[[], object]]()",
            ),
        ),
    ),
    Planted(
        "delay-forgotten",
        "messages are sent with the longest delay there is, whatever their time",
        (
            Edit(
                _CARRYING_OUT,
                "delay_until(message.due_at, now)",
                "900",
            ),
        ),
    ),
    Planted(
        "announced-before-the-sends",
        "the next batch is announced, which closes this one, while the winners of this one are still to be sent",
        (
            Edit(
                _CARRYING_OUT,
                _SETTLE,
                """            following = self._next(lease, serving, batches, switch)
            if following is not None:
                ask(partial(self._store.put_batch, following))
                self._announce(lease, serving, following)
            self._settle(logged, outcomes, report)
            logged = following
""",
            ),
        ),
    ),
    Planted(
        "announced-while-claims-have-no-answer",
        "a claim without an answer counts as lost, and the next batch is announced",
        (
            Edit(
                _CARRYING_OUT,
                "            if not silent:\n                return outcomes\n",
                "            if len(silent) < len(outcomes) or not silent:\n                return outcomes\n",
            ),
        ),
    ),
    Planted(
        "next-batch-written-too-early",
        "the next batch is written while this one's claims have no answer yet, and so cannot name its losers",
        (
            Edit(
                _CARRYING_OUT,
                "        return Batch(batch_id, before.batch_id, claimed_at, tuple(claims), before.losers)",
                "        return Batch(batch_id, before.batch_id, claimed_at, tuple(claims))",
            ),
        ),
    ),
    Planted(
        "refused-messages-forgotten",
        "what a queue does not take is not sent again",
        (
            Edit(
                _CARRYING_OUT,
                "        return _Left(messages=self._run_queue.send(request))",
                "        self._run_queue.send(request)\n        return _Left()",
            ),
        ),
    ),
    Planted(
        "silence-taken-for-written",
        "a row, or the next batch, whose write got no answer is not written again",
        (
            Edit(
                _CARRYING_OUT,
                "        return _Left(writes=[write])",
                "        return _Left()",
            ),
        ),
    ),
)
