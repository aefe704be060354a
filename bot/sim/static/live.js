// Keeps <main> as the server has it, without a reload. Only what differs is touched, so scrolling,
// selections, folded parts and a half-written comment stay as they are.
"use strict";

const EVERY_MS = 1000;
const live = document.getElementById("live");
const notice = document.getElementById("notice");
let shown = "";

function alike(one, other) {
  return one.nodeName === other.nodeName && (one.id || "") === (other.id || "");
}

function copyAttributes(have, want) {
  for (const { name } of [...have.attributes]) {
    if (name !== "open" && !want.hasAttribute(name)) have.removeAttribute(name);
  }
  for (const { name, value } of want.attributes) {
    if (have.getAttribute(name) !== value) have.setAttribute(name, value);
  }
}

function update(have, want) {
  if (have.isEqualNode(want)) return;
  if (have.nodeType !== Node.ELEMENT_NODE) {
    have.data = want.data;
    return;
  }
  copyAttributes(have, want);
  const wanted = [...want.childNodes];
  wanted.forEach((child, at) => {
    const there = have.childNodes[at];
    if (!there) have.append(child);
    else if (alike(there, child)) update(there, child);
    else there.replaceWith(child);
  });
  while (have.childNodes.length > wanted.length) have.lastChild.remove();
}

async function refresh() {
  const url = new URL(location.href);
  url.searchParams.set("part", "live");
  const answer = await fetch(url, { cache: "no-cache" });
  const text = await answer.text();
  if (!answer.ok || text === shown) return;
  shown = text;
  const fresh = live.cloneNode(false);
  fresh.innerHTML = text;
  update(live, fresh);
}

async function again() {
  try {
    if (!document.hidden) await refresh();
    notice.hidden ||= notice.dataset.lost !== "yes";
  } catch {
    say("The simulated GitHub does not answer: the demo has ended.", "yes");
  }
  setTimeout(again, EVERY_MS);
}

function say(text, lost = "no") {
  notice.textContent = text;
  notice.dataset.lost = lost;
  notice.hidden = false;
}

// A button sends its form in the background: a page that loads anew would lose a typed comment.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if ("reload" in form.dataset) return;
  event.preventDefault();
  const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
  if (answer.ok) {
    form.reset();
    notice.hidden = true;
    await refresh();
  } else {
    say(await answer.text());
  }
});

document.addEventListener("visibilitychange", () => document.hidden || refresh());
setTimeout(again, EVERY_MS);
