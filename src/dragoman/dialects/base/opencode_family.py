"""What opencode and Kilo, which was made from it, say alike."""

from __future__ import annotations

from dragoman.model import operations as op

from .conversions import EMPTY_IS_UNSAID, or_word
from .spelling import Spelling, means


class AgentTask(Spelling[op.SpawnAgent]):
    """The tool that gives a task to another agent, with what every version takes."""

    unless_said = {"background": False}
    unsaid = {
        "name": "an agent is called by its type alone",
        "effort": "an agent's type has its own",
    }
    approximated = {
        "description": "a description is required, so an empty one says nothing",
        "agent": "a type is required: without one it is the general agent",
    }

    description: str = means("description", "The task in a few words.", convert=EMPTY_IS_UNSAID)
    prompt: str = means("prompt", "The whole task: the agent sees nothing else.")
    subagent_type: str = means("agent", "The agent's type.", convert=or_word("general"))
