"""A real browser for tests: Debian's Chromium, driven by Playwright. Nothing is downloaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

PATIENCE = 15_000
"""Milliseconds that anything on a page may take; the machine may be busy with other tests."""


class BrowserMissing(Exception):
    """There is no Chromium."""


@contextmanager
def running() -> Iterator[Browser]:
    """A browser without windows, for one module: Playwright keeps an event loop for as long as it runs."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        raise BrowserMissing("there is no chromium on the path")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as driver:
        # Tests may run as root, in a container without user namespaces.
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@dataclass
class Visit:
    """One visitor's window, and all that went wrong in it."""

    page: Page
    address: str
    shots: Path
    errors: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    """Addresses of other servers that were asked for anything."""

    def __post_init__(self) -> None:
        self.page.on(
            "console", lambda said: self.errors.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: self.errors.append(f"a dialog: {dialog.message}"))
        self.page.on("request", self._asked)

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.elsewhere.append(request.url)

    def go(self, where: str = "") -> Page:
        self.page.goto(f"{self.address}/{where}")
        self.page.wait_for_selector("main > :not(.loading)", timeout=PATIENCE)
        return self.page

    def shot(self, name: str, whole: bool = True) -> None:
        self.page.screenshot(path=self.shots / f"{name}.png", full_page=whole)

    @property
    def well(self) -> bool:
        """Whether nothing went wrong that the test did not want."""
        assert self.errors == []
        assert self.elsewhere == []
        return True


@contextmanager
def visit(
    browser: Browser,
    address: str,
    folder: Path,
    *,
    size: tuple[int, int] = (1360, 860),
    scheme: Literal["light", "dark"] = "light",
) -> Iterator[Visit]:
    """A window of a new visitor. Pictures go to the folder, or where TRICKLE_SCREENSHOTS says."""
    shots = Path(os.environ.get("TRICKLE_SCREENSHOTS", folder))
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    context.set_default_timeout(PATIENCE)
    try:
        yield Visit(context.new_page(), address, shots)
    finally:
        context.close()
