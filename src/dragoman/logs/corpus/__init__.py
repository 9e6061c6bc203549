"""The logs of many machines as one corpus: tables in Parquet, in a folder or in object storage.

A corpus is parts and a manifest. A part holds the rows of some logs, one Parquet file for each table. It counts when
its entry in the manifest is there, which is written last and only if there is none of that name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.doors import door

if TYPE_CHECKING:
    from .build import Counts as Counts, Plan as Plan, Redaction as Redaction, planned as planned
    from .corpus_query import CorpusQuery as CorpusQuery
    from .engines import built as built, built_on_dask as built_on_dask
    from .places import Place as Place, place_of as place_of
    from .sources import Labels as Labels, folders_named as folders_named
else:
    __all__, __getattr__ = door(
        __name__,
        {
            "build": ("Counts", "Plan", "Redaction", "planned"),
            "corpus_query": ("CorpusQuery",),
            "engines": ("built", "built_on_dask"),
            "places": ("Place", "place_of"),
            "sources": ("Labels", "folders_named"),
        },
    )
