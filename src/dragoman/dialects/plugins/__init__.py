"""Dialects that others add: written as data, drafted from captured tools, and checked by the laws."""
