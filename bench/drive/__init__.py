"""While a run goes on: which rate a search for a knee tries next, and what a measurement just gave."""
