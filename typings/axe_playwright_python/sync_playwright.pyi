from collections.abc import Mapping

from playwright.sync_api import Page

class AxeResults:
    response: dict[str, object]

class Axe:
    def run(
        self, page: Page, context: str | None = None, options: Mapping[str, object] | None = None
    ) -> AxeResults: ...
