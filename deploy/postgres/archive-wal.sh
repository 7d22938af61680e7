#!/bin/sh
# archive_command of PostgreSQL: archive-wal.sh %p %f. Copies a finished segment of the write-ahead log to /archive, or to
# WAL_ARCHIVE. It succeeds only when the complete file is on disk, and never replaces another file.
set -eu
from=$1
to=${WAL_ARCHIVE:-/archive}/$2
if [ -f "$to" ]; then
    # Archived before a crash: success if the file is the same, otherwise an error that needs an operator.
    exec cmp -s "$from" "$to"
fi
cp "$from" "$to.part"
sync "$to.part"
mv "$to.part" "$to"
sync "${WAL_ARCHIVE:-/archive}"
