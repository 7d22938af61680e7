"""The as-of and branch overlay: memories that a question must see differently from how main has them now.

The lexical and the vector index describe one thing only: main, now. A question can also ask for the past (`as_of`) or
for a branch (`branch`). Indexing every moment and every branch would multiply the indexes, so recall lays a small
overlay over them instead:

1. `build.open_reader` lists the memories that differ. As of a moment these are all memories that have changed since,
   each read at its version of that moment (None if it did not exist yet). On a branch these are the memories that have
   a branch of that name, each read from the record of its branch. With both, the branch as it was at that moment.
2. `passages.add_passages` splits those that pass the question's filter into passages, numbers them above all stored
   passages, and counts their terms. Their vectors are still stored, under the hashes of their texts.
3. Candidates come from the indexes without the memories of the overlay, plus all passages of the overlay; from there on
   one ranking handles both. `overlay.OverlayReader` reads records through the overlay, so that every later stage sees
   the version in question.

The cost grows with the number of differing memories, not with the store. A question about main now has an empty
overlay and pays nothing. `overlay.OverlayCache` keeps the overlays of the last moments: the past changes only by late
writes, imports and purges, so after a write only the changed memories are read again.
"""
