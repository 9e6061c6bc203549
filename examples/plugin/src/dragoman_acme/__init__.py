"""The Acme agent for dragoman: a tool (`tickets`), a vocabulary (`words`) and a log format (`log`)."""
