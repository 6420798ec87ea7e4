// From the overview to one object and its last passes, and that what a guest says stays text.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, Tab } from "../src/browser.js";
import { BLANK, Session } from "../src/session.js";

const EVIL = "<img src=x onerror=alert(1)>";

/** @type {Session} */
let session;
/** @type {import("puppeteer-core").Browser} */
let chromium;

before(async () => {
  const greetings = { bob: BLANK, eve: EVIL };
  [session, chromium] = await Promise.all([Session.start(greetings), browser()]);
});
after(async () => {
  await chromium?.close();
  await session?.close();
});

/** An object's page, by the way that people take. @param {string} name */
async function objectOf(name) {
  const tab = await Tab.open(chromium, session.url);
  await tab.follow("greeter");
  await tab.follow(`default/${name}`);
  return tab;
}

test("a plugin's page leads to what fails and to what is slow", async () => {
  const tab = await Tab.open(chromium, session.url);
  await tab.follow("greeter");
  assert.deepEqual(await tab.texts("h1"), ["greeter running"]);
  assert.deepEqual(await tab.texts("h2"), ["Failing", "Slowest", "Granted and never used"]);
  // Nothing was finalized yet.
  assert.ok((await tab.texts("h2 + ul li")).includes("deployments.apps: delete"));
  const failing = await tab.texts("h2 + table:first-of-type tbody tr:only-child td");
  assert.equal(failing[0], "Greeting default/bob");
  assert.equal(failing.at(-1), "plugin reported a terminal failure: spec.name is blank");
  await tab.follow("Greeting default/bob");
  assert.deepEqual(await tab.texts("h1"), ["Greeting/default/bob"]);
  assert.equal((await tab.texts(".strip .failed b"))[0], "reconcile");
  assert.deepEqual(tab.complaints, []);
});

test("an object's page has its last passes, the newest open", async () => {
  const tab = await objectOf("ada");
  const steps = await tab.texts(".strip summary b");
  assert.ok(steps.length >= 2 && steps.at(-1) === "protect", `${steps}`);
  const open = await tab.page.$$eval("details", (all) => all.map((details) => details.open));
  assert.deepEqual(open, [true, ...open.slice(1).fill(false)]);
  const made = (await tab.texts(".strip li")).filter((text) =>
    text.includes("ConfigMap/default/ada-greeting created"),
  );
  assert.equal(made.length, 1);
  assert.deepEqual(tab.complaints, []);
});

test("a pass that was opened stays open when newer ones come", async () => {
  const tab = await objectOf("ada");
  const [newest = ""] = await tab.texts(".strip li:first-child summary");
  const [oldest = ""] = await tab.texts(".strip li:last-child summary");
  await tab.page.click(".strip li:first-child summary");
  await tab.page.click(".strip li:last-child summary");
  session.greet("ada", "Grace");
  const came = () => document.querySelector(".strip")?.textContent.includes("Hello, Grace!");
  await tab.page.waitForFunction(came);
  const open = await tab.texts("details[open] summary");
  assert.ok(open.includes(oldest) && !open.includes(newest), `${open}`);
});

test("what a guest says is text", async () => {
  const tab = await objectOf("eve");
  await tab.refreshed();
  const shown = (await tab.texts(".strip code")).filter((text) => text.includes(EVIL));
  assert.ok(shown.length >= 2, `${shown}`);
  assert.equal(await tab.page.$("img"), null);
  assert.deepEqual(tab.complaints, []);
});

test("markup that got in would not run", async () => {
  const tab = await objectOf("eve");
  const refused = tab.page.evaluate(
    (evil) =>
      new Promise((resolve) => {
        document.addEventListener("securitypolicyviolation", (event) => {
          if (event.effectiveDirective === "script-src-attr") resolve(event.blockedURI);
        });
        document.body.insertAdjacentHTML("beforeend", evil);
      }),
    EVIL,
  );
  assert.equal(await refused, "inline");
  // So such things are noticed, and none was a dialog.
  assert.ok(tab.complaints.length > 0);
  assert.deepEqual(
    tab.complaints.filter((complaint) => complaint.startsWith("dialog")),
    [],
  );
});
