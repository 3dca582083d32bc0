"""The record of a measurement: its type, its fields' descriptions, and how it is made from raw files."""
