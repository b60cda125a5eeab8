import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { deliver, issueOpened } from "../support/deliver.ts";
import { findAccessibilityViolations, useUi } from "./support/ui.ts";

const ui = useUi();

const rows = (page: Page) => page.getByRole("region", { name: "Events" }).getByRole("link");
const send = (title: string) =>
  deliver(ui.url(), {
    body: JSON.stringify({ ...issueOpened, issue: { ...issueOpened.issue, title } }),
  });

it("guides a person from an empty hub to the first flow", async () => {
  const page = await ui.open("/inbox", { colorScheme: "dark", reducedMotion: "reduce" });
  const firstSteps = page.getByRole("region", { name: "First steps" });
  await page.getByRole("heading", { name: "No event is waiting" }).waitFor();
  await page.getByText("npx signalbox send github issues --action opened").waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  expect(await findAccessibilityViolations(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: "light" });
  await expect.poll(() => page.locator("html").getAttribute("data-theme")).toBe("light");
  expect(await findAccessibilityViolations(page), "light").toEqual([]);

  await firstSteps.getByRole("button", { name: "Send test event" }).click();
  await page.getByRole("dialog").getByRole("combobox", { name: "Source" }).waitFor();
  expect(await findAccessibilityViolations(page), "send a test event").toEqual([]);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.waitForURL(/inbox\/.+/);
  await page.getByRole("complementary", { name: "Event" }).waitFor();

  await firstSteps.getByRole("button", { name: "Make a flow" }).click();
  await page.getByRole("textbox", { name: "Name of the flow" }).fill("First flow");
  await page.getByRole("textbox", { name: "Name of the new app" }).fill("My desk");
  await page.getByRole("button", { name: "Create the flow" }).click();
  await page.waitForURL("**/flows/*");

  await page.goto(`${ui.url()}/inbox`);
  await firstSteps.getByRole("button", { name: "Connect an agent" }).waitFor();
  await firstSteps.getByRole("button", { name: "Hide the first steps" }).click();
  await page.reload();
  await page.getByRole("heading", { name: "Inbox", level: 1 }).waitFor();
  await rows(page).first().waitFor();
  expect(await firstSteps.count()).toBe(0);
});

it("shows the first event automatically, and later ones only on request", async () => {
  const { json } = await ui.call("GET", "/api/events?limit=100");
  const ids = json.items.map(({ id }: { id: string }) => id);
  if (ids.length > 0) await ui.call("POST", "/api/events/bulk", { action: "processed", ids });
  const page = await ui.open();
  await page.getByRole("heading", { name: "No event is waiting" }).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await send("The first");
  await rows(page).filter({ hasText: "The first" }).waitFor();

  const before = await rows(page).first().boundingBox();
  await send("The second");
  await send("The third");
  const newEventsButton = page.getByRole("button", { name: "2 new events" });
  await newEventsButton.waitFor();
  expect(await rows(page).count()).toBe(1);
  expect(await rows(page).first().boundingBox()).toEqual(before);
  await page.keyboard.press("n");
  await expect.poll(() => rows(page).count()).toBe(3);
  expect(await rows(page).first().textContent()).toContain("The third");
  await expect.poll(() => newEventsButton.count()).toBe(0);
});

it("shows a change from another tab without moving a row", async () => {
  const firstTab = await ui.open("/inbox?view=all");
  const secondTab = await ui.open("/inbox?view=all");
  for (const page of [firstTab, secondTab])
    await rows(page).filter({ hasText: "The second" }).waitFor();
  await firstTab.getByText("Live", { exact: true }).waitFor();
  await rows(secondTab).filter({ hasText: "The second" }).click();
  await secondTab.getByRole("button", { name: "Mark processed" }).click();
  await rows(firstTab).filter({ hasText: "The second" }).getByText("processed").waitFor();
  expect(
    (await rows(firstTab).allInnerTexts()).findIndex((text) => text.includes("The second")),
  ).toBe(1);
});

it("shows that the hub is unreachable, keeps the list, and continues when the hub is back", async () => {
  const page = await ui.open("/inbox?view=all");
  await rows(page).first().waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  let failedRequests = 0;
  page.on("requestfailed", (request) => {
    if (request.url().endsWith("/api/session")) failedRequests += 1;
  });
  await ui.hub().stop("SIGKILL");
  await page.getByText("Not live").waitFor();
  // After three attempts, the page no longer checks whether the session has ended.
  await expect.poll(() => failedRequests).toBeGreaterThanOrEqual(3);
  expect(await rows(page).count()).toBeGreaterThan(0);
  await rows(page).first().click();
  await page.getByRole("tab", { name: "Payload" }).click();
  const panel = page.getByRole("tabpanel");
  await panel.getByRole("alert").getByText("The hub does not respond").waitFor();

  await ui.restart();
  await page.getByText("Live", { exact: true }).waitFor();
  await panel.getByRole("tree", { name: "payload" }).waitFor();
});
