"""The election among the processes of one machine."""

import asyncio
from pathlib import Path

from tests.patience import PATIENCE

from scrubjay.indexing.shared_leader import FileLeadership


class TestFileLeadership:
    async def test_one_process_leads_until_it_leaves(self, tmp_path: Path) -> None:
        path = tmp_path / "data" / "lead"
        async with asyncio.timeout(PATIENCE), FileLeadership(path, seconds=0.001) as first:
            await first.wait_until_elected()
            async with FileLeadership(path, seconds=0.001) as second:
                await second.wait_until_dismissed()
                assert (first.leads, second.leads) == (True, False)
                await first.__aexit__(None, None, None)
                await second.wait_until_elected()
                await first.wait_until_dismissed()
                assert (first.leads, second.leads) == (False, True)

    async def test_without_a_writable_folder_there_is_no_leader(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        async with FileLeadership(tmp_path / "file" / "lead") as candidacy:
            await asyncio.sleep(0)
            assert not candidacy.leads
