/** Long lists and large payloads do not block the main thread of the page. */
import { beforeAll, expect, it } from "vitest";
import { deliver, issueOpened } from "../support/deliver.ts";
import {
  MAX_TASK_MS,
  measureLongestTask,
  WITH_ANIMATIONS,
} from "./support/measure-longest-task.ts";
import { useUi } from "./support/ui.ts";

const ui = useUi();
const EVENTS = 10_000;

beforeAll(async () => {
  const batch = 200;
  for (let sent = 0; sent < EVENTS; sent += batch)
    await Promise.all(
      Array.from({ length: batch }, (_, index) =>
        deliver(ui.url(), {
          body: JSON.stringify({
            ...issueOpened,
            issue: { ...issueOpened.issue, number: sent + index, title: `Issue ${sent + index}` },
          }),
        }),
      ),
    );
  const items = Array.from({ length: 20_000 }, (_, id) => ({
    id,
    name: `item ${id}`,
    note: "x".repeat(60),
  }));
  await deliver(ui.url(), {
    type: "push",
    body: JSON.stringify({
      ...issueOpened,
      head_commit: { message: "Two megabytes", id: "a" },
      items,
    }),
  });
}, 300_000);

it("scrolls through 10,000 events without blocking the page", async () => {
  const page = await ui.open("/inbox?view=all", WITH_ANIMATIONS);
  const list = page.getByRole("region", { name: "Events" });
  await list.getByText("Two megabytes").waitFor();
  const scroller = list.locator("ol").locator("..");
  const longest = await measureLongestTask(page, async () => {
    for (;;) {
      await scroller.hover();
      await page.mouse.wheel(0, 4_000);
      const isAtEnd = (await list.getByText("Issue 0", { exact: true }).count()) > 0;
      if (isAtEnd) break;
    }
  });
  expect(await page.locator("ol li").count()).toBeLessThan(100);
  console.info(`longest task while scrolling through ${EVENTS} events: ${longest} ms`);
  expect(longest).toBeLessThan(MAX_TASK_MS);
});

it("opens, searches and scrolls a payload of 2 MB without blocking the page", async () => {
  const page = await ui.open("/inbox?view=all", WITH_ANIMATIONS);
  await page.getByText("Two megabytes").first().waitFor();
  const tree = page.getByRole("tree", { name: "payload" });
  const longest = await measureLongestTask(page, async () => {
    await page.getByText("Two megabytes").first().click();
    await page.getByRole("tab", { name: "Payload" }).click();
    await tree.getByText("items").click();
    await tree.getByText("{ 3 }").first().waitFor();
    await page.getByRole("searchbox", { name: "Search in payload" }).fill("item 19999");
    await page.getByText("1 of 1").waitFor();
    await tree.getByText("item 19999").waitFor();
    await tree.hover();
    for (let step = 0; step < 20; step += 1) await page.mouse.wheel(0, -3_000);
  });
  console.info(`longest task in a payload of 2 MB: ${longest} ms`);
  expect(longest).toBeLessThan(MAX_TASK_MS);
});

it("loads less than 250 KB of compressed scripts for the inbox", async () => {
  const page = await ui.open("/inbox", WITH_ANIMATIONS);
  await page.getByRole("region", { name: "Events" }).getByRole("link").first().waitFor();
  const bytes = await page.evaluate(() =>
    performance
      .getEntriesByType("resource")
      .filter(({ name }) => name.endsWith(".js"))
      .reduce((sum, entry) => sum + (entry as PerformanceResourceTiming).encodedBodySize, 0),
  );
  console.info(`scripts of the first load: ${bytes} bytes, compressed`);
  expect(bytes).toBeGreaterThan(50_000);
  expect(bytes).toBeLessThan(250_000);
});
