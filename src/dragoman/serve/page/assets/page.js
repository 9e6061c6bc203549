// What the page does beyond plain links and forms: keys, copying, filtering as one types, and sessions that grow.
// It needs nothing but the browser, writes no HTML from data, and asks no other server.
"use strict";

const one = (selector) => document.querySelector(selector);
const all = (selector) => [...document.querySelectorAll(selector)];

// ── copying ─────────────────────────────────────────────────────────────────

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  const before = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1500);
});

// ── the same page again, with only what changed ─────────────────────────────

async function fetched(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (!answer.ok) return null;
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

function replaced(fresh, selector) {
  const here = one(selector), there = fresh.querySelector(selector);
  if (!here || !there) return;
  const opened = [...here.querySelectorAll("details")].map((one) => one.open);
  [...there.querySelectorAll("details")].forEach((one, place) => { if (opened[place]) one.open = true; });
  const marked = here.querySelector(".at"), had = here.contains(document.activeElement);
  marked?.classList.remove("at");
  if (here.innerHTML !== there.innerHTML) here.replaceChildren(...there.childNodes);
  if (!marked) return;
  const name = marked.dataset.session, same = [...here.querySelectorAll("[data-session]")];
  const at = marked.isConnected ? marked : same.find((one) => name && one.dataset.session === name);
  at?.classList.add("at");
  if (had) at?.querySelector("a.title")?.focus({ preventScroll: true });
}

// Adds what is new in a session, and takes over what became of calls; what was opened stays open.
function grown(fresh) {
  const here = one("#said"), there = fresh.querySelector("#said");
  if (!here || !there) return;
  const links = [...there.querySelectorAll(":scope > .pages")], shown = all("#said > .pages");
  if (links.length && shown.length === links.length) shown.forEach((one, place) => one.replaceChildren(...links[place].childNodes));
  for (const node of [...there.children]) {
    const known = node.id ? document.getElementById(node.id) : null;
    if (node.matches(".pages, .empty")) continue;
    one("#said > .empty")?.remove();
    if (!known) (shown.length ? shown[shown.length - 1].before(node) : here.append(node));
    else if (known.parentElement === here && known.innerHTML !== node.innerHTML) {
      if (known.open) node.open = true;
      known.replaceWith(node);
    }
  }
  if (links.length && !shown.length) { here.prepend(links[0]); here.append(links[links.length - 1]); }
  replaced(fresh, ".contents");
  replaced(fresh, "article.session > .facts");
  if (following) here.lastElementChild?.scrollIntoView({ block: "end" });
}

let typing = 0, typed = 0;

async function narrowed(address) {
  const asked = ++typed;
  const fresh = await fetched(address);
  if (!fresh || asked !== typed) return;  // a later question was asked meanwhile
  for (const selector of ["#found", ".list-head h1", ".facets"]) replaced(fresh, selector);
  history.replaceState(null, "", address);
  searchedAgain();
}

// While logs are still read for the search, what is found grows.
function searchedAgain() {
  const again = one("[data-again]");
  if (!again) return;
  const asked = typed;
  setTimeout(() => { if (asked === typed) narrowed(new URL(again.href)); }, 2000);
}

document.addEventListener("input", (event) => {
  if (!event.target.matches("[data-as-you-type]")) return;
  clearTimeout(typing);
  typing = setTimeout(() => {
    const form = event.target.form, address = new URL(form.action);
    for (const [name, value] of new FormData(form)) if (value) address.searchParams.set(name, value);
    narrowed(address);
  }, 180);
});
searchedAgain();

// ── live ────────────────────────────────────────────────────────────────────

let following = false;
const session = one("article.session")?.dataset.session;
const follow = one("#follow");

function setFollowing(value) {
  following = value;
  follow?.setAttribute("aria-pressed", String(value));
  if (value) one("#said")?.lastElementChild?.scrollIntoView({ block: "end" });
}

if (one("#said") || one("ul.sessions")) {
  if (follow && one("#said")) {
    follow.hidden = false;
    follow.addEventListener("click", () => setFollowing(!following));
  }
  let busy = false, again = false;
  const look = async () => {
    if (busy) { again = true; return; }
    busy = true;
    do {
      again = false;
      let fresh = await fetched(location.href);
      if (following && fresh?.querySelector("#said > .pages a[rel=next]")) {
        const end = new URL(location.href);  // what is new stands in a later part
        end.searchParams.delete("event");
        end.searchParams.set("from", "end");
        fresh = await fetched(end);
      }
      if (fresh && session) grown(fresh);
      else if (fresh) for (const selector of ["#found", ".list-head h1", ".facets"]) replaced(fresh, selector);
    } while (again);
    busy = false;
  };
  new EventSource("/live").addEventListener("grown", (event) => {
    const names = JSON.parse(event.data);  // an empty name: some that are not known by name yet
    if (!session || names.includes(session) || names.includes("")) look();
  });
}

// ── where one stopped reading ───────────────────────────────────────────────

if (session && one("#said")) {
  const name = `seen ${session}`, entries = all("#said > [id]");
  const seen = localStorage.getItem(name);
  const last = entries[entries.length - 1];
  const at = seen && document.getElementById(seen);
  if (at && at !== last && at.parentElement === one("#said")) {
    const mark = document.createElement("p");
    mark.className = "seen-until";
    mark.textContent = "new since your last visit";
    at.after(mark);
  }
  if (last) localStorage.setItem(name, last.id);
}

// ── keys ────────────────────────────────────────────────────────────────────

const ENTRIES = "#said > article, #said > details, ul.sessions > li, .hits > li, section.record, details.file";
const TURNS = "#said > .turn";

function go(selector, step) {
  const entries = all(selector).filter((entry) => entry.offsetParent !== null);
  if (!entries.length) return;
  const marked = one(".at");
  let place = marked ? entries.indexOf(marked) : -1;
  if (place < 0) {
    const top = marked ? marked.getBoundingClientRect().top : 70;
    place = step > 0
      ? entries.findIndex((entry) => entry.getBoundingClientRect().top > top + 1) - 1
      : entries.filter((entry) => entry.getBoundingClientRect().top < top - 1).length;
    if (step > 0 && place < -1) place = entries.length - 2;
  }
  const next = entries[Math.max(0, Math.min(entries.length - 1, place + step))];
  marked?.classList.remove("at");
  next.classList.add("at");
  next.scrollIntoView({ block: "nearest" });
  (next.querySelector("summary, a.title") || next.querySelector("a"))?.focus({ preventScroll: true });
}

const keys = {
  j: () => go(ENTRIES, 1),
  k: () => go(ENTRIES, -1),
  J: () => go(TURNS, 1),
  K: () => go(TURNS, -1),
  "/": () => (one("#filter") || one(".bar input")).focus(),
  f: () => { if (follow && !follow.hidden) setFollowing(!following); },
  g: () => { location.href = "/"; },
  "?": () => one("#keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
  const act = keys[event.key];
  if (!act || one("dialog[open]")) return;
  event.preventDefault();
  act();
});
