"""Tables in turns: which windows count, the ranking, its verdicts, and what else they say."""
