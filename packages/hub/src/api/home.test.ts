import { expect, it } from "vitest";
import { type HomePage, homePage } from "./home.ts";

const page: HomePage = {
  version: "1.2.3",
  url: "http://127.0.0.1:4747",
  webhookUrl: "https://hub.example/webhooks/github",
  unsigned: false,
  storage: "SQLite",
  pending: 0,
};

it("shows the given values with HTML escaped", () => {
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

it("warns only if webhooks are not verified", () => {
  expect(homePage(page)).not.toContain("Unsigned");
  expect(homePage({ ...page, unsigned: true })).toContain("Unsigned");
});
