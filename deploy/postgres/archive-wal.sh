#!/bin/sh
# archive_command of PostgreSQL: archive-wal.sh %p %f. Keeps a finished part of the write-ahead log in /archive, or in
# what WAL_ARCHIVE names. It succeeds only when the file is there whole and on the disk, and never replaces another one.
set -eu
from=$1
to=${WAL_ARCHIVE:-/archive}/$2
if [ -f "$to" ]; then
    # Archived before a crash: fine if it is the same, an error that somebody must look at if not.
    exec cmp -s "$from" "$to"
fi
cp "$from" "$to.part"
sync "$to.part"
mv "$to.part" "$to"
sync "${WAL_ARCHIVE:-/archive}"
