"""The record of a measurement: its type, the descriptions of its fields, and how it is made from raw files."""
