"""What a run does next: its steps, the state of the measuring loop, and what it shows of itself meanwhile."""
