import type { Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { intercept } from "./support/intercept.ts";
import { sendEvents, setUpFlows, startExternalApi } from "./support/sample-hub.ts";
import { findAccessibilityViolations, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();

beforeAll(async () => {
  const externalApi = await startExternalApi();
  await setUpFlows(ui.call, externalApi.url);
  await sendEvents(ui.url());
  return externalApi.stop;
});

const rows = (page: Page) => page.getByRole("region", { name: "Runs" }).getByRole("link");

it("lists runs with flow, cause, time and error, and filters them", async () => {
  const page = await ui.open("/runs");
  await expect.poll(() => rows(page).count()).toBe(4);
  await rows(page).filter({ hasText: "Book payment" }).getByText("done").waitFor();
  await rows(page).filter({ hasText: "Failed build" }).getByText(/502/).waitFor();
  await page.getByRole("radio", { name: "Failed" }).click();
  await expect.poll(() => rows(page).count()).toBe(1);
  await page.getByRole("radio", { name: "Active" }).click();
  await rows(page).filter({ hasText: "Issue triage" }).waitFor();
  await page.getByRole("radio", { name: "All" }).click();
  await page.getByRole("button", { name: "Any flow" }).click();
  await page.getByRole("menuitem", { name: "Thank you" }).click();
  await expect.poll(() => rows(page).count()).toBe(1);
  await page.getByRole("button", { name: "Any cause" }).click();
  await page.getByRole("menuitem", { name: "called by an agent" }).click();
  await page.getByRole("heading", { name: "No run matches these filters" }).waitFor();
});

it("opens the run that has the focus, or that the keys J and K have selected, with Enter", async () => {
  const page = await ui.open("/runs");
  await rows(page).filter({ hasText: "Book payment" }).press("Enter");
  await page.getByRole("heading", { name: /Book payment/ }).waitFor();
  await page.goBack();
  await rows(page).first().waitFor();
  const { json } = await ui.call("GET", "/api/runs");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/runs/${json.items[1].id}`);
});

it("cancels and retries selected runs", async () => {
  const page = await ui.open("/runs");
  const activePage = await ui.open("/runs?view=active");
  const triage = rows(page).filter({ hasText: "Issue triage" });
  await triage.waitFor();
  await rows(activePage).filter({ hasText: "Issue triage" }).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.getByRole("button", { name: "Select all" }).click();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByText("1 run cancelled").waitFor();
  await triage.getByText("cancelled").first().waitFor();
  await activePage.getByRole("heading", { name: "No run matches these filters" }).waitFor();
  await rows(page).filter({ hasText: "Failed build" }).hover();
  await page.getByRole("checkbox", { name: /Failed build/ }).click();
  await page.getByRole("button", { name: "Retry" }).click();
  await page.getByText("1 run retried").waitFor();
});

it("shows new runs on request", async () => {
  const { json } = await ui.call("GET", "/api/flows?limit=100");
  const digest = json.items.find(({ name }: { name: string }) => name === "Digest");
  const page = await ui.open("/runs");
  await expect.poll(() => rows(page).count()).toBe(4);
  await page.getByText("Live", { exact: true }).waitFor();
  await ui.call("POST", `/api/flows/${digest.id}/runs?wait=1`, {
    trigger: "weekly_digest",
    input: { since: "monday" },
  });
  await page.getByRole("button", { name: "1 new run" }).click();
  await rows(page).filter({ hasText: "Digest" }).waitFor();
});

it("shows the trigger of a run, and whether a run tested the draft", async () => {
  const { json } = await ui.call("GET", "/api/flows?limit=100");
  const digest = json.items.find(({ name }: { name: string }) => name === "Digest");
  const start = (query: string) =>
    ui.call("POST", `/api/flows/${digest.id}/runs?wait=1${query}`, {
      trigger: "weekly_digest",
      input: { since: "monday" },
    });
  await start("");
  await start("&draft=1");
  const page = await ui.open("/runs");
  const digests = rows(page).filter({ hasText: "Digest" });
  await digests.nth(0).getByText("test of the draft").waitFor();
  await digests.nth(1).getByText("started through the API: weekly_digest").waitFor();
  await rows(page)
    .filter({ hasText: "Thank you" })
    .getByText(/^started by an event: /)
    .waitFor();
});

it("requests the next page once, and after an error again only on request", async () => {
  const page = await ui.open();
  const nextPage = { status: 400, body: { title: "Not now", detail: "The log cannot be read." } };
  let requestCount = 0;
  await intercept(page, "**/api/runs?*", async (route) => {
    if (!route.request().url().includes("cursor=")) {
      const response = await route.fetch();
      const json = { ...(await response.json()), next_cursor: "run:more" };
      return route.fulfill({ response, json });
    }
    requestCount += 1;
    const { status, body } = nextPage;
    await route.fulfill({
      status,
      contentType: "application/problem+json",
      body: JSON.stringify(body),
    });
  });
  await page.goto(`${ui.url()}/runs`);
  await page.getByRole("alert").getByText("The log cannot be read.").waitFor();
  await page.getByRole("radio", { name: "All" }).focus();
  expect(requestCount).toBe(1);
  Object.assign(nextPage, { status: 200, body: { items: [], next_cursor: null } });
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("alert").waitFor({ state: "detached" });
  await expect.poll(() => requestCount).toBe(2);
});

it.each(THEMES)("has no serious accessibility violation in the %s theme", async (colorScheme) => {
  const page = await ui.open("/runs", { colorScheme, reducedMotion: "reduce" });
  await rows(page).first().waitFor();
  expect(await findAccessibilityViolations(page)).toEqual([]);
});
