"""The live path: what a model is offered, what it asks for, what is done, what it is told."""

from __future__ import annotations

from .facade import Facade as Facade, Names as Names, Note as Note
