import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { deliver, issueOpened } from "../support/deliver.ts";
import { findBarriers, useUi } from "./support/ui.ts";

const ui = useUi();

const rows = (page: Page) => page.getByRole("region", { name: "Events" }).getByRole("link");
const send = (title: string) =>
  deliver(ui.url(), {
    body: JSON.stringify({ ...issueOpened, issue: { ...issueOpened.issue, title } }),
  });

it("leads from an empty hub to the first flow, and shows events as they arrive", async () => {
  const page = await ui.open("/inbox", { colorScheme: "dark", reducedMotion: "reduce" });
  const path = page.getByRole("region", { name: "First steps" });
  await page.getByRole("heading", { name: "No event is waiting" }).waitFor();
  await page.getByText("npx signalbox send github issues --action opened").waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  expect(await findBarriers(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: "light" });
  await expect.poll(() => page.locator("html").getAttribute("data-theme")).toBe("light");
  expect(await findBarriers(page), "light").toEqual([]);

  await path.getByRole("button", { name: "Send test event" }).click();
  await page.getByRole("dialog").getByRole("combobox", { name: "Source" }).waitFor();
  expect(await findBarriers(page), "send a test event").toEqual([]);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.waitForURL(/inbox\/.+/);
  await page.getByRole("complementary", { name: "Event" }).waitFor();

  await path.getByRole("button", { name: "Make a flow" }).click();
  await page.getByRole("textbox", { name: "Name of the flow" }).fill("First flow");
  await page.getByRole("textbox", { name: "Name of the new app" }).fill("My desk");
  await page.getByRole("button", { name: "Create the flow" }).click();
  await page.waitForURL("**/flows/*");

  await page.goto(`${ui.url()}/inbox`);
  await path.getByRole("button", { name: "Connect an agent" }).waitFor();
  await path.getByRole("button", { name: "Hide the first steps" }).click();
  await page.reload();
  await page.getByRole("heading", { name: "Inbox", level: 1 }).waitFor();
  await rows(page).first().waitFor();
  expect(await path.count()).toBe(0);
});

it("shows the first event by itself, and later ones only when asked", async () => {
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
  const pill = page.getByRole("button", { name: "2 new events" });
  await pill.waitFor();
  expect(await rows(page).count()).toBe(1);
  expect(await rows(page).first().boundingBox()).toEqual(before);
  await page.keyboard.press("n");
  await expect.poll(() => rows(page).count()).toBe(3);
  expect(await rows(page).first().textContent()).toContain("The third");
  await expect.poll(() => pill.count()).toBe(0);
});

it("shows a change of another tab without moving a row", async () => {
  const one = await ui.open("/inbox?view=all");
  const other = await ui.open("/inbox?view=all");
  for (const page of [one, other]) await rows(page).filter({ hasText: "The second" }).waitFor();
  await one.getByText("Live", { exact: true }).waitFor();
  await rows(other).filter({ hasText: "The second" }).click();
  await other.getByRole("button", { name: "Mark processed" }).click();
  await rows(one).filter({ hasText: "The second" }).getByText("processed").waitFor();
  expect((await rows(one).allInnerTexts()).findIndex((text) => text.includes("The second"))).toBe(
    1,
  );
});

it("says when the hub is gone, keeps what is shown, and goes on when it is back", async () => {
  const page = await ui.open("/inbox?view=all");
  await rows(page).first().waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  let failed = 0;
  page.on("requestfailed", (request) => {
    if (request.url().endsWith("/api/session")) failed += 1;
  });
  await ui.hub().stop("SIGKILL");
  await page.getByText("Not live").waitFor();
  // The last attempt to find out whether the session has ended.
  await expect.poll(() => failed).toBeGreaterThanOrEqual(3);
  expect(await rows(page).count()).toBeGreaterThan(0);
  await rows(page).first().click();
  await page.getByRole("tab", { name: "Payload" }).click();
  const panel = page.getByRole("tabpanel");
  await panel.getByRole("alert").getByText("The hub does not respond").waitFor();

  await ui.restart();
  await page.getByText("Live", { exact: true }).waitFor();
  await panel.getByRole("tree", { name: "payload" }).waitFor();
});
