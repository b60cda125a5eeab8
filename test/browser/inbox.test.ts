import type { Page, Route } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { deliver, issueOpened } from "../support/deliver.ts";
import { intercept } from "./support/intercept.ts";
import { sendEvents, setUpFlows, startExternalApi } from "./support/sample-hub.ts";
import { findAccessibilityViolations, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();
const LAMP_TITLE = "The lamp stays red after the train has passed";

beforeAll(async () => {
  const externalApi = await startExternalApi();
  await setUpFlows(ui.call, externalApi.url);
  await sendEvents(ui.url());
  return externalApi.stop;
});

const rows = (page: Page) => page.getByRole("region", { name: "Events" }).getByRole("link");
const row = (page: Page, title: string) => rows(page).filter({ hasText: title });
const detail = (page: Page) => page.getByRole("complementary", { name: "Event" });
const selectTab = (page: Page, name: string) => page.getByRole("tab", { name }).click();
const openLampEvent = async (page: Page) => {
  // A test event of the hub has the same title, so the last row is opened.
  await row(page, LAMP_TITLE).last().click();
  await detail(page).getByRole("heading", { name: LAMP_TITLE }).waitFor();
};

describe("the list", () => {
  it("shows title, type, origin and the runs of each event", async () => {
    const page = await ui.open();
    const invoice = row(page, "Invoice 2026-0412");
    await invoice.getByText("invoice.paid").waitFor();
    await invoice.getByText("Book payment").waitFor();
    await row(page, "nightly").getByText("Failed build · HTTP 502").waitFor();
    await row(page, "Fix the bell").getByText("no trigger matched").waitFor();
  });

  it("filters by state, source, type, time and text, and stores the filters in the URL", async () => {
    const page = await ui.open();
    await row(page, LAMP_TITLE).waitFor();
    await page.getByRole("radio", { name: "Failed" }).click();
    await expect.poll(() => rows(page).count()).toBe(1);
    expect(page.url()).toContain("view=failed");
    await page.getByRole("radio", { name: "All" }).click();
    await page.getByRole("button", { name: "Source" }).click();
    await page.getByRole("menuitem", { name: "stripe" }).click();
    await expect.poll(() => rows(page).count()).toBe(2);
    await page.getByRole("button", { name: "Type" }).click();
    await page.getByRole("menuitem", { name: "invoice.paid" }).click();
    await expect.poll(() => rows(page).count()).toBe(1);
    await page.getByRole("button", { name: "Any time" }).click();
    await page.getByRole("menuitem", { name: "Last hour" }).click();
    await page.waitForURL(/period=1h/);
    await expect.poll(() => rows(page).count()).toBe(1);
    await page.goto(`${ui.url()}/inbox?view=all`);
    await page.getByRole("searchbox", { name: "Search events" }).fill("lamp stays");
    await page.waitForURL(/q=lamp/);
    await expect.poll(() => rows(page).count()).toBe(1);
    await page.goBack();
    await expect.poll(() => rows(page).count()).toBe(13);
  });

  it("keeps a trailing space while a person types, and the filter that the person selects meanwhile", async () => {
    const page = await ui.open("/inbox?view=all");
    const field = page.getByRole("searchbox", { name: "Search events" });
    await field.fill("lamp ");
    await page.waitForURL(/q=lamp$/);
    await field.press("End");
    await page.keyboard.type("stays");
    await page.getByRole("radio", { name: "Waiting" }).click();
    await page.waitForURL(/\/inbox\?q=lamp\+stays$/);
    expect(await field.inputValue()).toBe("lamp stays");
  });

  it("shows an error if the next page fails to load, and loads it again only on request", async () => {
    let requestCount = 0;
    const page = await ui.open("/inbox?view=all", {
      prepare: (page) =>
        page.route("**/api/events?**", async (route) => {
          if (!route.request().url().includes("cursor=")) {
            const response = await route.fetch();
            return route.fulfill({ json: { ...(await response.json()), next_cursor: "next" } });
          }
          requestCount += 1;
          await route.fulfill({
            status: 400,
            contentType: "application/problem+json",
            body: JSON.stringify({ title: "Invalid request", detail: "The cursor is too old." }),
          });
        }),
    });
    const failure = page.getByRole("alert").getByText("The cursor is too old.");
    await failure.waitFor();
    expect(await rows(page).count()).toBe(13);
    await page.getByRole("button", { name: "Try again" }).click();
    await expect.poll(() => requestCount).toBe(2);
    await failure.waitFor();
    expect(requestCount).toBe(2);
  });

  it("stores, deletes and restores named views", async () => {
    const page = await ui.open("/inbox?view=unmatched");
    await page.getByRole("button", { name: "Save view" }).click();
    await page.getByRole("textbox", { name: "Name of the view" }).fill("Nobody listens");
    await page.keyboard.press("Enter");
    await page.goto(`${ui.url()}/inbox`);
    await page.getByRole("button", { name: "Views" }).click();
    await page.getByRole("link", { name: "Nobody listens" }).click();
    await page.waitForURL(/view=unmatched/);
    await page.getByRole("button", { name: "Views" }).click();
    expect(await findAccessibilityViolations(page)).toEqual([]);
    await page.getByRole("button", { name: "Delete the view Nobody listens" }).click();
    await page.getByRole("button", { name: "Save view" }).waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("button", { name: "Views" }).waitFor();
  });

  it("shows that no event matches, and an error from which it recovers with Try again", async () => {
    const page = await ui.open("/inbox?q=nothing-has-this-text");
    await page.getByRole("heading", { name: "No event matches these filters" }).waitFor();
    await intercept(page, "**/api/events?**", (route) =>
      route.fulfill({
        status: 503,
        contentType: "application/problem+json",
        body: JSON.stringify({
          title: "Storage is unavailable",
          detail: "The database does not respond. Check DATABASE_URL.",
          code: "storage_unavailable",
        }),
      }),
    );
    await page.goto(`${ui.url()}/inbox?view=failed`);
    await page.getByText("The database does not respond. Check DATABASE_URL.").waitFor();
    await page.unroute("**/api/events?**");
    const requested = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    await intercept(page, "**/api/events?**", async (route) => {
      requested.resolve();
      await release.promise;
      await route.continue();
    });
    await page.getByRole("button", { name: "Try again" }).click();
    await requested.promise;
    release.resolve();
    await expect.poll(() => rows(page).count()).toBe(1);
  });
});

describe("the keyboard", () => {
  it("moves, selects, marks events as processed with an undo, and shows why triggers fired", async () => {
    const page = await ui.open();
    await row(page, LAMP_TITLE).waitFor();
    const first = rows(page).first();
    await page.keyboard.press("j");
    expect(await first.getAttribute("aria-current")).toBe("true");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    expect(await first.getAttribute("aria-current")).toBe("true");
    await page.keyboard.press("w");
    await expect
      .poll(() => page.getByRole("tab", { name: "Why" }).getAttribute("aria-selected"))
      .toBe("true");

    await page.keyboard.press("e");
    await page.getByText("1 event marked as processed").waitFor();
    await expect.poll(() => rows(page).count()).toBe(12);
    await page.getByRole("button", { name: "Undo" }).click();
    // The list changes at once. The message appears after the response of the hub.
    await page.getByText("1 event marked as waiting").waitFor();
    await expect.poll(() => rows(page).count()).toBe(13);

    await page.keyboard.press("Escape");
    for (const key of ["j", "x", "j", "x"]) await page.keyboard.press(key);
    await page.getByText("2 events selected").waitFor();
    await page.getByRole("button", { name: "Select all" }).click();
    await page.getByText("13 events selected").waitFor();
    await page.keyboard.press("e");
    await page.getByText("13 events marked as processed").waitFor();
    await page.getByRole("heading", { name: "No event is waiting" }).waitFor();
    await page.getByRole("button", { name: "Undo" }).last().click();
    await page.getByText("13 events marked as waiting").waitFor();
    await expect.poll(() => rows(page).count()).toBe(13);
  });

  it("marks an event as processed, also if an outdated response of the hub arrives later", async () => {
    const page = await ui.open();
    await row(page, LAMP_TITLE).waitFor();
    const requested = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const holdResponse = async (route: Route) => {
      const response = await route.fetch();
      requested.resolve();
      await release.promise;
      await route.fulfill({ response });
    };
    await intercept(page, "**/api/events?**", holdResponse, { times: 1 });
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await requested.promise;
    await page.keyboard.press("j");
    await page.keyboard.press("e");
    await page.getByText("1 event marked as processed").waitFor();
    const next = page.waitForResponse(/api\/events\?/);
    release.resolve();
    await next;
    await expect.poll(() => rows(page).count()).toBe(12);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("1 event marked as waiting").waitFor();
    await expect.poll(() => rows(page).count()).toBe(13);
  });

  it("runs an action once while a key is held down, and restores the list if the action fails", async () => {
    const page = await ui.open("/inbox?view=all");
    await row(page, LAMP_TITLE).waitFor();
    await page.keyboard.press("j");
    // The second `down` is a key repeat, because the key was not released.
    await page.keyboard.down("x");
    await page.keyboard.down("x");
    await page.keyboard.up("x");
    await page.getByText("1 event selected").waitFor();
    await intercept(page, "**/api/events/bulk", (route) => route.abort());
    await page.keyboard.press("e");
    await page.getByText("The hub does not respond").waitFor();
    expect(await rows(page).first().getByText("processed").count()).toBe(0);
    await page.getByText("1 event selected").waitFor();
    expect(await findAccessibilityViolations(page)).toEqual([]);
  });

  it("replays an event, and shows whether a trigger matched", async () => {
    const page = await ui.open();
    await row(page, "Fix the bell").click();
    await detail(page).getByRole("heading", { name: "Fix the bell" }).waitFor();
    await page.keyboard.press("r");
    await page.getByText("No trigger matched, so no run started").waitFor();
    await row(page, "star.created").click();
    await detail(page).getByText("star.created").first().waitFor();
    await page.keyboard.press("r");
    await page.getByText("1 run started").waitFor();
  });
});

describe("an event", () => {
  it("shows its payload as a tree with a search, and copies the path of a value", async () => {
    const page = await ui.open("/inbox", { permissions: ["clipboard-read", "clipboard-write"] });
    await openLampEvent(page);
    await selectTab(page, "Payload");
    const tree = page.getByRole("tree", { name: "payload" });
    const copied = () => page.evaluate(() => navigator.clipboard.readText());
    await tree.getByText("Seen at signal 12, twice this week.", { exact: false }).waitFor();
    await page.getByRole("searchbox", { name: "Search in payload" }).fill("d876e3");
    await page.getByText("1 of 1").waitFor();
    const matchingItem = tree.getByRole("treeitem").filter({ hasText: "d876e3" });
    await matchingItem.hover();
    await matchingItem.getByRole("button", { name: "Copy the path issue.labels[0].color" }).click();
    await expect.poll(copied).toBe("issue.labels[0].color");
    await tree.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowLeft");
    await expect
      .poll(() =>
        tree.getByRole("treeitem", { name: "issue" }).first().getAttribute("aria-expanded"),
      )
      .toBe("false");
    await page.keyboard.press("c");
    await page.getByText("Path copied").waitFor();
    await expect.poll(copied).toBe("issue");
    // The search expands the parents of a matching value.
    await page.getByRole("searchbox", { name: "Search in payload" }).fill("question");
    await tree.getByText('"question"').waitFor();
  });

  it("copies its link also without the clipboard API, which pages over plain HTTP lack", async () => {
    const page = await ui.open("/inbox", {
      permissions: ["clipboard-read"],
      prepare: (page) =>
        page.addInitScript(() => {
          const { clipboard } = navigator;
          Object.assign(window, { readText: () => clipboard.readText() });
          Object.defineProperty(navigator, "clipboard", { value: undefined });
        }),
    });
    await openLampEvent(page);
    await page.getByRole("button", { name: "Copy a link to the event" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const copied = await page.evaluate(() =>
      (window as unknown as { readText(): Promise<string> }).readText(),
    );
    expect(copied).toMatch(/\/inbox\/[\w-]+\?view=all$/);
  });

  it("shows a payload above 8 MB as text, in parts", async () => {
    const body = { ...issueOpened, filler: "ä".repeat(4_500_000) };
    await deliver(ui.url(), { type: "push", body: JSON.stringify(body) });
    const { json } = await ui.call("GET", "/api/events?limit=1");
    const page = await ui.open(`/inbox/${json.items[0].id}?view=all`);
    await selectTab(page, "Payload");
    const panel = page.getByRole("tabpanel");
    await panel.getByText("The first 262.1 KB of 9.0 MB, as text").waitFor();
    await panel.getByRole("button", { name: "Load more" }).click();
    await panel.getByText("The first 524.3 KB of 9.0 MB, as text").waitFor();
    const text = (await panel.locator("pre").textContent()) ?? "";
    expect(text.startsWith('{"action":"opened"')).toBe(true);
    expect(text).not.toContain("\uFFFD");
    await ui.call("POST", "/api/events/bulk", { action: "processed", ids: [json.items[0].id] });
  });

  it("shows its headers and its runs", async () => {
    const page = await ui.open();
    await openLampEvent(page);
    await selectTab(page, "Headers");
    await detail(page).getByText("x-github-event").waitFor();
    await selectTab(page, "Runs");
    await detail(page)
      .getByRole("link", { name: /Issue triage/ })
      .last()
      .click();
    await page.waitForURL("**/runs/*");
  });

  it("explains the verdict of every trigger, and marks the compared field in the payload", async () => {
    const page = await ui.open();
    await openLampEvent(page);
    await selectTab(page, "Why");
    const hotline = detail(page).locator("section").filter({ hasText: "Bug hotline / New bug" });
    await hotline.getByText("did not start").waitFor();
    const deciding = hotline.getByText('issue.labels[].name is "question", wanted "bug"');
    await deciding.waitFor();
    await detail(page).getByText("Digest / Any issue").waitFor();
    await detail(page).getByText("fields that “Bug hotline” compared").waitFor();
    const marked = page.locator(".json-mark");
    await expect.poll(async () => (await marked.allInnerTexts()).join(" ")).toContain("question");
  });

  it("explains many triggers in pages", async () => {
    const nodes = Array.from({ length: 60 }, (_, index) => ({
      id: `on-${index}`,
      slug: `on_${index}`,
      name: `Repository ${index}`,
      type: "Event",
      position: { x: 0, y: 100 * index },
      parameters: { source: "github", type: "issues", params: { "repository.name": `r${index}` } },
    }));
    const { json } = await ui.call("POST", "/api/apps/desk/flows", {
      name: "Many",
      nodes,
      edges: [],
    });
    await ui.call("POST", `/api/flows/${json.id}/publish`, {});
    const page = await ui.open();
    await openLampEvent(page);
    await selectTab(page, "Why");
    const shown = detail(page).getByText(/^50 of \d+ triggers are shown\.$/);
    await shown.waitFor();
    await detail(page)
      .getByText("This is the verdict of the trigger as it is now")
      .first()
      .waitFor();
    await detail(page).getByRole("button", { name: "Load more triggers" }).click();
    await shown.waitFor({ state: "hidden" });
    const verdicts = detail(page).locator("section").filter({ hasText: "Many / Repository" });
    await expect.poll(() => verdicts.count()).toBe(60);
    await ui.call("DELETE", `/api/flows/${json.id}`);
  });

  it("creates a flow with a trigger that matches it", async () => {
    const page = await ui.open();
    await openLampEvent(page);
    await page.getByRole("button", { name: "Make a flow from this event" }).click();
    await page.getByRole("textbox", { name: "Name of the flow" }).fill("From the lamp");
    await page.getByRole("button", { name: "Create the flow" }).click();
    await page.waitForURL("**/flows/*");
    const { json } = await ui.call("GET", `/api/flows/${page.url().split("/").at(-1)}`);
    expect(json).toMatchObject({
      name: "From the lamp",
      nodes: [
        {
          type: "Event",
          parameters: { source: "github", type: "issues", params: { action: "opened" } },
        },
      ],
    });
    await ui.call("DELETE", `/api/flows/${json.id}`);
  });

  it("opens by its URL, also if the list does not contain it", async () => {
    const { json } = await ui.call("GET", "/api/events?text=lamp%20stays&limit=1");
    const page = await ui.open(`/inbox/${json.items[0].id}?view=failed`);
    await detail(page).getByRole("heading", { name: LAMP_TITLE }).waitFor();
    await page.goto(`${ui.url()}/inbox/01a1e34d-fd1d-706c-8f93-000000000000`);
    await detail(page).getByRole("alert").waitFor();
  });
});

it("sends a test event, and opens it", async () => {
  const page = await ui.open();
  await page.getByRole("button", { name: "Send test event" }).click();
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByText("The test event is in the inbox").waitFor();
  await detail(page).getByText("issues.opened").first().waitFor();
});

it("shows hostile text as text, without breaking the layout", async () => {
  const longWord = "W".repeat(10_000);
  const title = `<img src=x onerror="document.title='owned'"> ${longWord}`;
  const body = {
    action: "opened",
    issue: {
      number: 9,
      title,
      body: `<script>alert(1)</script> \u202Eright-to-left مرحبا بالعالم ${longWord}`,
      labels: [{ name: `"><b>${longWord}` }],
      [`<i>${longWord}`]: longWord,
    },
    repository: { full_name: `octo/${"r".repeat(100)}`, owner: { id: 1, login: "octo" } },
    sender: { login: "مرحبا" },
  };
  await deliver(ui.url(), { body: JSON.stringify(body) });
  const page = await ui.open("/inbox?view=all");
  await rows(page).first().click();
  await detail(page).waitFor();
  for (const name of ["Summary", "Payload", "Headers", "Why"]) {
    await selectTab(page, name);
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflow, name).toBeLessThanOrEqual(0);
    const detailOverflow = await detail(page).evaluate(
      (aside) => aside.scrollWidth - aside.clientWidth,
    );
    expect(detailOverflow, name).toBeLessThanOrEqual(0);
  }
  expect(await page.title()).toBe("Inbox · Signalbox");
  expect(await page.locator("img[src=x], main script, main b:has-text('WWWW')").count()).toBe(0);
});

it.each(THEMES)("has no serious accessibility violation in the %s theme", async (colorScheme) => {
  const page = await ui.open("/inbox", { colorScheme, reducedMotion: "reduce" });
  await openLampEvent(page);
  for (const name of ["Summary", "Payload", "Headers", "Why", "Runs"]) {
    await selectTab(page, name);
    expect(await findAccessibilityViolations(page), name).toEqual([]);
  }
});
