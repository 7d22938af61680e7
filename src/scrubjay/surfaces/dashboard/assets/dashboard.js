// @ts-check
// What pages do besides HTML: search while the user types, and follow changes. Without JavaScript they still work.

const PAUSE_MILLISECONDS = 120;

/** @param {HTMLFormElement} form */
function searchWhileTyping(form) {
  const field = form.querySelector("input[type=search]");
  const shown = document.getElementById("results");
  if (!shown || !(field instanceof HTMLInputElement)) return;
  const results = shown;
  let timer = 0;
  let running = new AbortController();

  /** Fetches the hits for what is typed, and shows them unless more was typed since. */
  async function search() {
    running.abort();
    running = new AbortController();
    const query = new URLSearchParams(/** @type {any} */ (new FormData(form)));
    results.setAttribute("aria-busy", "true");
    try {
      const response = await fetch(`${form.dataset.liveSearch}?${query}`, { signal: running.signal });
      if (response.redirected) {
        // The session has ended: the page itself asks to sign in.
        location.reload();
        return;
      }
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      results.replaceChildren(...page.body.childNodes);
      history.replaceState(null, "", `${form.getAttribute("action")}?${query}`);
      results.setAttribute("aria-busy", "false");
    } catch (error) {
      if (!(error instanceof DOMException && error.name === "AbortError")) {
        results.setAttribute("aria-busy", "false");
        results.textContent = "The server cannot be reached. It may be starting again: go on typing in a moment.";
      }
    }
  }

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(search, PAUSE_MILLISECONDS);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    search();
  });
}

/** Shows changes of the space as they happen, on the parts of the page that are lists or texts. */
class ChangeFollower {
  static PAUSE_MILLISECONDS = 400;
  static RETRY_MILLISECONDS = 3000;

  /** @param {string} address @param {HTMLElement} status */
  constructor(address, status) {
    this.address = address;
    this.status = status;
    /** @type {EventSource | null} */
    this.source = null;
    this.timer = 0;
    this.isLost = false;
    // A browser opens few connections to one server, so a page that no one sees gives its own back.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.stop() : this.resume()));
    if (!document.hidden) this.start();
  }

  start() {
    this.stop();
    this.source = new EventSource(this.address);
    this.source.onopen = () => {
      if (this.isLost) this.refresh();
      this.isLost = false;
      this.status.textContent = "";
    };
    this.source.onmessage = () => this.refreshSoon();
    this.source.onerror = () => {
      this.isLost = true;
      this.status.textContent = "The server cannot be reached; trying again.";
      // After a refusal the browser does not try again by itself.
      if (this.source?.readyState === EventSource.CLOSED) {
        this.stop();
        window.setTimeout(() => !document.hidden && this.start(), ChangeFollower.RETRY_MILLISECONDS);
      }
    };
  }

  stop() {
    this.source?.close();
    this.source = null;
  }

  resume() {
    this.start();
    this.refreshSoon();
  }

  refreshSoon() {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.refresh(), ChangeFollower.PAUSE_MILLISECONDS);
  }

  /** Replaces the parts that follow changes, unless the user is at work in them. */
  async refresh() {
    const parts = [...document.querySelectorAll("[data-live]")];
    if (!parts.length) return;
    const active = document.activeElement;
    if (parts.some((part) => active !== part && part.contains(active)) || document.querySelector("[data-live] details[open] form")) {
      this.status.textContent = "Something has changed: reload the page to see it.";
      return;
    }
    const response = await fetch(location.href).catch(() => null);
    if (!response?.ok || response.redirected) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const part of parts) {
      const fresh = page.getElementById(part.id);
      if (fresh && fresh.innerHTML !== part.innerHTML) part.replaceChildren(...fresh.childNodes);
    }
  }
}

const changes = document.body.dataset.changes;
const live = document.getElementById("live");
if (changes && live && document.querySelector("[data-live]")) new ChangeFollower(changes, live);

document.addEventListener("keydown", (event) => {
  const typesHere = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
  if (event.key === "/" && !typesHere && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const field = document.querySelector("input[type=search]");
    if (field instanceof HTMLInputElement) {
      event.preventDefault();
      field.focus();
    }
  }
});

for (const form of document.querySelectorAll("form[data-live-search]")) {
  searchWhileTyping(/** @type {HTMLFormElement} */ (form));
}
