// Puts the newest state in the place of what is shown, every five seconds, while somebody looks.
"use strict";
const state = document.getElementById("state");
// Newer passes come before older ones: a place says nothing.
const label = (details) => details.querySelector("summary").textContent;
// What the keyboard is on: of those that read the same, also which.
const stops = (text) =>
  [...document.querySelectorAll("main a, main summary")].filter(
    (stop) => stop.textContent === text,
  );
async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(location.href, {
      headers: { accept: "text/html" },
      signal: AbortSignal.timeout(4000),
    });
    if (answer.status === 404) {
      state.textContent = "this is gone";
      return;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const all = [...document.querySelectorAll("details")];
    const open = new Map(all.map((details) => [label(details), details.open]));
    const stop = document.activeElement.textContent;
    const which = stops(stop).indexOf(document.activeElement);
    const main = document.querySelector("main");
    main.replaceChildren(...page.querySelector("main").childNodes);
    for (const details of main.querySelectorAll("details")) {
      details.open = open.get(label(details)) ?? details.open;
    }
    stops(stop)[which]?.focus({ preventScroll: true });
    state.textContent = "";
  } catch {
    state.textContent = "the host does not answer";
  }
}
setInterval(refresh, 5000);
