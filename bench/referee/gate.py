"""Whether a run passes its case, and if not, why."""
import math
from dataclasses import dataclass

from referee.answers import SURE
from referee.arithmetic import fails
from referee.headline import Headline, headline_rows
from referee.outcome import Entry, Outcome, Row
from referee.targets import PEERS, Target

MOST_NOISE = 0.5  # above it a ratio says nothing about a factor of two, which is what fails


@dataclass(frozen=True)
class Ruling:
    """Sentences, for people; the exit code, for programs."""
    failures: list[str]
    incomplete: list[str]   # who had to be there and was not
    unjudged: list[str]     # what is neither failed nor passed

    @property
    def exit_code(self) -> int:
        if self.failures:
            return 1
        return 2 if self.incomplete else 0


def why_absent(way: str, row: Row, outcome: Outcome) -> str | None:
    entry = next((entry for entry in row.entries if entry.name == way), None)
    if entry is None:
        return outcome.absent.get(f"{way} on {row.subject}", "it was not asked")
    return entry.refused


def absentees(outcome: Outcome, target: Target) -> list[str]:
    """Those whom targets.toml requires on a row, and who were not timed there."""
    found = []
    for row in headline_rows(outcome.rows, target):
        for way in target.required_on(row.label):
            reason = why_absent(way, row, outcome)
            if reason:
                found.append(f"{way} is required on {row.label} and was not timed: {reason}")
    return found


def without_peers(found: Headline) -> list[str]:
    return [f"{row.label}: no peer to compare with ran" for row in found.rows
            if any(figure.who == PEERS and math.isnan(figure.measured) for figure in row.figures)]


def shortfalls(found: Headline) -> list[str]:
    reasons = []
    if found.mismatches:
        reasons.append(f"Nearfield has {found.mismatches} mismatches: they must be 0")
    for row in found.rows:
        if row.noise > MOST_NOISE:
            continue
        for figure in row.figures:
            if fails(figure.measured, figure.wanted, row.noise):
                reasons.append(
                    f"{figure.who} / ours of {row.label} is {figure.measured:.3g}, below half of "
                    f"its target {figure.wanted:g}, and noise of {row.noise:.0%} does not explain "
                    "it")
    return reasons


def worse_than(theirs: Entry, ours: Entry, queries: int) -> str | None:
    """Of codes and of approximate answers, beyond what the queries let one know (95 %)."""
    if not ours.verdict or not theirs.verdict:
        return None
    if above := ours.verdict.error_above(theirs.verdict):
        mean, half = above
        if mean - half > 0:
            return f"an error that is {mean:.3g} ± {half:.2g} above that"
    elif ours.approximate:
        own, other = ours.verdict.recall, theirs.verdict.recall
        half = SURE * (other * (1 - other) / max(queries, 1)) ** 0.5
        if own + half < other:
            return f"a recall of {own:.4f}, below {other:.4f} ± {half:.2g}"
    return None


def verified_share(entry: Entry) -> float:
    """Of all pairs, those whose distance was computed; NaN: it does not say."""
    pairs = entry.plan.get("pairs", 0)
    return entry.plan["pairs_verified"] / pairs if pairs else math.nan


def excesses(outcome: Outcome, target: Target) -> list[str]:
    """Distances that should not have been computed."""
    shares = {row.label: verified_share(row.ours) for row in outcome.rows}
    return [f"{label} computes {shares.get(label, math.nan):.3%} of all distances: it must be at "
            f"most {most:.3%}" for label, most in target.most_verified.items()
            if not shares.get(label, math.nan) <= most]


def losses(outcome: Outcome, target: Target) -> list[str]:
    """What was found, however fast."""
    judged = {row.label for row in outcome.rows if row.ours.verdict}
    reasons = [f"the recall of {label} must be {least:g} and was not judged"
               for label, least in target.least_recall.items() if label not in judged]
    for row in outcome.rows:
        ours, least = row.ours, target.least_recall.get(row.label, 0)
        if ours.verdict and ours.verdict.recall < least:
            reasons.append(f"the recall of {row.label} is {ours.verdict.recall:.4f}: it must be "
                           f"{least:g}")
        for theirs in (entry for entry in row.entries
                       if entry.name in target.rows.get(row.label, {})):
            if worse := worse_than(theirs, ours, row.checked):
                reasons.append(f"{row.label} has {worse} of {theirs.label}")
    return reasons


def too_noisy(found: Headline) -> list[str]:
    return [f"cannot judge the speed of {row.label}: Nearfield differs from itself by "
            f"{row.noise:.0%}, more than {MOST_NOISE:.0%}: run it again on a quieter machine"
            for row in found.rows if row.noise > MOST_NOISE]


def ruling(outcome: Outcome, found: Headline, target: Target, peers_chosen: bool) -> Ruling:
    """`peers_chosen`: who named the peers knows who is not there."""
    failures = shortfalls(found) + losses(outcome, target) + excesses(outcome, target)
    noisy = too_noisy(found)
    unknown = absentees(outcome, target) + without_peers(found)
    if peers_chosen:
        return Ruling(failures, [], unknown + noisy)
    return Ruling(failures, unknown, noisy)
