import type { EventSummary } from "@signalbox/contract/events.ts";
import { expect, it } from "vitest";
import { type HomePage, homePage } from "./home.ts";

const page: HomePage = {
  version: "1.2.3",
  url: "http://127.0.0.1:4747",
  webhookUrl: "https://hub.example/webhooks/github",
  acceptsUnsigned: false,
  storage: "SQLite",
  pending: 0,
  newest: null,
};

const event: EventSummary = {
  id: "0198",
  source: "github",
  seq: 7,
  type: "issues",
  received_at: "2026-11-15T12:00:00.000Z",
  processed: false,
  trigger_status: null,
  last_triggered_at: null,
  action: "opened",
  repo: "octo/town",
  sender: "mona",
  number: 7,
  title: "It rains",
  url: "https://github.com/octo/town/issues/7",
};

it("shows the version, the addresses and the storage, with HTML escaped", () => {
  const html = homePage(page);
  for (const text of ["1.2.3", page.url, page.webhookUrl, "SQLite"]) expect(html).toContain(text);
  for (const name of ["version", "url", "webhookUrl", "storage"] as const) {
    const hostile = homePage({ ...page, [name]: `<b id="x" class='y'>&amp;</b>` });
    expect(hostile, name).toContain("&#60;b id=&#34;x&#34; class=&#39;y&#39;&#62;&#38;amp;");
    expect(hostile, name).not.toContain("<b id");
  }
});

it("shows the number of pending events, or nothing if it is unknown", () => {
  expect(homePage({ ...page, pending: 0 })).toContain("0 events<");
  expect(homePage({ ...page, pending: 1 })).toContain("1 event<");
  expect(homePage({ ...page, pending: 1234 })).toContain("1,234 events<");
  expect(homePage({ ...page, pending: null })).not.toContain("Pending");
});

it("warns only if the hub accepts unsigned webhooks", () => {
  expect(homePage(page)).not.toContain("Unsigned");
  expect(homePage({ ...page, acceptsUnsigned: true })).toContain("Unsigned");
});

it("shows the newest events, with HTML escaped and links to web pages only", () => {
  expect(homePage(page)).not.toContain("Newest events");
  expect(homePage({ ...page, newest: [] })).toContain("There are no events yet.");
  const html = homePage({ ...page, newest: [event, { ...event, processed: true, repo: null }] });
  for (const text of [
    "2026-11-15 12:00:00 UTC",
    "<small>github.issues opened · octo/town</small>",
    "<small>github.issues opened · mona</small>",
    '<a href="https://github.com/octo/town/issues/7" rel="noreferrer">It rains</a>',
    '<tr class="done">',
  ])
    expect(html).toContain(text);
  for (const name of ["source", "type", "action", "repo", "title", "url"] as const) {
    const hostile = { ...event, [name]: `https:"><script>` };
    expect(homePage({ ...page, newest: [hostile] }), name).not.toContain("<script");
  }
  const script = { ...event, url: "javascript:alert(1)" };
  expect(homePage({ ...page, newest: [script] })).not.toContain("javascript:");
});
