"""How far a run is, in words: a line to be drawn in place on a terminal, else a line for each finished step."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bench.drive.live_status import LiveStatus
from bench.drive.steps import Step

RED, PLAIN = "\033[31m", "\033[0m"


@dataclass(frozen=True, slots=True)
class Screen:
    """Where progress is shown: `columns` of a terminal on which a line can be drawn in place, 0 for a log."""

    quiet: bool = False
    columns: int = 0
    colour: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts of steps, expected seconds of those behind and ahead, and when the first one began."""

    began: float
    count: int = 0
    done: int = 0
    not_valid: int = 0
    left: float = 0.0
    spent: float = 0.0
    last: str = ""

    def expect(self, seconds: float, steps: int) -> Progress:
        """With so much ahead."""
        return replace(self, count=self.done + steps, left=seconds)

    def after(self, step: Step, status: LiveStatus) -> Progress:
        """With this step behind."""
        return replace(
            self,
            done=self.done + 1,
            not_valid=self.not_valid + (not status.valid),
            left=self.left - step.seconds,
            spent=self.spent + step.seconds,
            last=status.short,
        )

    def expected(self, seconds: float, now: float) -> float:
        """How much of what the plan expects can be done in `seconds`, as the steps behind really went."""
        real = now - self.began
        return seconds * self.spent / real if self.spent and real > 0 else seconds

    def time_left(self, now: float) -> str:
        """Minutes and seconds: what the plan expects, corrected by how long the steps behind really took."""
        seconds = self.left * (now - self.began) / self.spent if self.spent else self.left
        return f"{int(seconds) // 60}:{int(seconds) % 60:02}"

    def log_line(self, step: Step, status: LiveStatus, now: float) -> str:
        """The step that has just ended, for a log."""
        done = f"[{self.done}/{self.count}] {step.label}: {status.words}"
        return f"{done}; {self.not_valid} not valid, {self.time_left(now)} left"

    def drawing(self, now: float, under_load: str, screen: Screen) -> str:
        """The state of the run on one line of the terminal; the colour says nothing that the words do not."""
        bad = f"{self.not_valid} not valid"
        line = f"[{self.done}/{self.count}] {self.time_left(now)} left, {bad}"
        line += (f", last {self.last}" if self.last else "") + (f" | now {under_load}" if under_load else "")
        line = line[: screen.columns - 1]
        return line.replace(bad, RED + bad + PLAIN) if self.not_valid and screen.colour else line
