"""The record of a measurement: its type, its fields in words, and how it is made from raw files."""
