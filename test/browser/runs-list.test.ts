import type { Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { sendEvents, setUpFlows, startOutside } from "./support/sample-desk.ts";
import { findBarriers, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();

beforeAll(async () => {
  const outside = await startOutside();
  await setUpFlows(ui.call, outside.url);
  await sendEvents(ui.url());
  return outside.stop;
});

const rows = (page: Page) => page.getByRole("region", { name: "Runs" }).getByRole("link");

it("lists runs with flow, cause, time and error, and filters them", async () => {
  const page = await ui.open("/runs");
  await expect.poll(() => rows(page).count()).toBe(4);
  await rows(page).filter({ hasText: "Book payment" }).getByText("done").waitFor();
  await rows(page).filter({ hasText: "Failed build" }).getByText(/502/).waitFor();
  await page.getByRole("radio", { name: "Failed" }).click();
  await expect.poll(() => rows(page).count()).toBe(1);
  await page.getByRole("radio", { name: "Under way" }).click();
  await rows(page).filter({ hasText: "Issue triage" }).waitFor();
  await page.getByRole("radio", { name: "All" }).click();
  await page.getByRole("button", { name: "Any flow" }).click();
  await page.getByRole("menuitem", { name: "Thank you" }).click();
  await expect.poll(() => rows(page).count()).toBe(1);
  await page.getByRole("button", { name: "Any cause" }).click();
  await page.getByRole("menuitem", { name: "called by an agent" }).click();
  await page.getByRole("heading", { name: "No run matches these filters" }).waitFor();
});

it("cancels and retries many runs", async () => {
  const page = await ui.open("/runs");
  const triage = rows(page).filter({ hasText: "Issue triage" });
  await triage.waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.getByRole("button", { name: "Select all" }).click();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.getByText("1 run cancelled").waitFor();
  await triage.getByText("cancelled").first().waitFor();
  await rows(page).filter({ hasText: "Failed build" }).hover();
  await page.getByRole("checkbox", { name: /Failed build/ }).click();
  await page.getByRole("button", { name: "Retry" }).click();
  await page.getByText("1 run retried").waitFor();
});

it("shows new runs when asked", async () => {
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

it.each(THEMES)("has no barrier (%s)", async (colorScheme) => {
  const page = await ui.open("/runs", { colorScheme, reducedMotion: "reduce" });
  await rows(page).first().waitFor();
  expect(await findBarriers(page)).toEqual([]);
});
