"""Agents and tools written as Markdown, and what runs them."""
