"""A client of DynamoDB whose batches of statements go wrong in the ways that the API has."""

from collections.abc import Callable, Sequence
from typing import Any

Answered = Callable[[Sequence[Any], Callable[..., Any]], Any]
"""Answers a batch: its statements, and the call that carries some of them out."""


class FlawedBatches:
    """Everything goes to `client`, but the first batches of statements, each to one of `flaws` in their order."""

    def __init__(self, client: Any, *flaws: Answered) -> None:
        self._client = client
        self.flaws = list(flaws)
        self.asked: list[tuple[str, int]] = []
        """Each request: the operation, and how many statements it had."""

    def __getattr__(self, operation: str) -> Any:
        attribute = getattr(self._client, operation)
        if operation.startswith("_") or not callable(attribute):
            return attribute

        def call(**request: Any) -> Any:
            statements = request.get("Statements", ())
            self.asked.append((operation, len(statements)))
            if statements and self.flaws:
                return self.flaws.pop(0)(statements, attribute)
            return attribute(**request)

        return call


def answering(code: str, places: Sequence[int], *, carried_out: bool = False, **more: Any) -> Answered:
    """The statements in `places` are answered by the error `code`; `carried_out` all the same, or not at all."""

    def answered(statements: Sequence[Any], call: Callable[..., Any]) -> Any:
        done = [place for place in range(len(statements)) if carried_out or place not in places]
        answers = call(Statements=[statements[place] for place in done])["Responses"] if done else []
        found = dict(zip(done, answers, strict=True))
        wrong = {"Error": {"Code": code, "Message": "so the test says", **more}}
        return {"Responses": [wrong if place in places else found[place] for place in range(len(statements))]}

    return answered


def carried_out_and(answer: Any) -> Answered:
    """The whole batch is carried out, and then answered so, or by that exception."""

    def answered(statements: Sequence[Any], call: Callable[..., Any]) -> Any:
        call(Statements=statements)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return answered


def without_items(statements: Sequence[Any], call: Callable[..., Any]) -> Any:
    """Nothing is wrong but that no refusal shows what is stored."""
    answer = call(Statements=statements)
    for one in answer["Responses"]:
        one.get("Error", {}).pop("Item", None)
    return answer
