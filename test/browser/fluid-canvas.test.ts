/** A flow of 200 nodes does not block the main thread of the page. */
import { beforeAll, expect, it } from "vitest";
import { edge, intent, node, tile, useCanvas, waitUntilSettled } from "./support/canvas.ts";
import {
  MAX_TASK_MS,
  measureLongestTask,
  WITH_ANIMATIONS,
} from "./support/measure-longest-task.ts";
import { useUi } from "./support/ui.ts";

const ui = useUi();
const { createFlow, openFlow, getFlow } = useCanvas(ui);
const NODES = 200;
const COLUMNS = 20;
let id: string;

beforeAll(async () => {
  await ui.call("POST", "/api/apps", { slug: "desk", name: "Desk" });
  const steps = Array.from({ length: NODES - 1 }, (_, index) => {
    const number = index + 1;
    const [x, y] = [100 + (number % COLUMNS) * 280, 100 + Math.floor(number / COLUMNS) * 140];
    return node(`n${number}`, "Transform", `Step ${number}`, x, y, { expression: `${number}` });
  });
  const edges = steps.map(({ id }, index) => edge(index === 0 ? "Start" : `n${index}`, id));
  id = await createFlow("Large", [intent("Start"), ...steps], edges);
});

it("opens a flow of 200 nodes without blocking the page", async () => {
  const page = await ui.open("/flows", WITH_ANIMATIONS);
  const link = page.getByRole("link", { name: "Large", exact: true });
  await link.waitFor();
  // The first visit loads the code of the canvas, which is not measured.
  await link.click();
  await tile(page, "Step 1").waitFor();
  await page.goBack();
  await link.waitFor();
  const longest = await measureLongestTask(page, async () => {
    await link.click();
    await tile(page, "Step 199").waitFor();
    await waitUntilSettled(page);
  });
  console.info(`longest task while a flow of ${NODES} nodes opens: ${longest} ms`);
  expect(longest).toBeLessThan(MAX_TASK_MS);
});

it("shows the edit of an agent in a flow of 200 nodes without blocking the page", async () => {
  const page = await openFlow(id);
  await page.getByText("Live", { exact: true }).waitFor();
  const longest = await measureLongestTask(page, async () => {
    await ui.call("PATCH", `/api/flows/${id}/nodes/n50`, { name: "By an agent" });
    await tile(page, "By an agent").waitFor();
  });
  console.info(`longest task while an edit of a flow of ${NODES} nodes arrives: ${longest} ms`);
  expect(longest).toBeLessThan(MAX_TASK_MS);
});

it("drags, hovers, zooms, selects and undoes in a flow of 200 nodes without blocking the page", async () => {
  const page = await openFlow(id, WITH_ANIMATIONS);
  const box = await tile(page, "Step 90").boundingBox();
  if (!box) throw new Error("The tile is not visible.");
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const { revision } = await getFlow(id);
  const longest = await measureLongestTask(page, async () => {
    await page.mouse.move(x, y);
    await page.mouse.down();
    for (let step = 1; step <= 40; step += 1) await page.mouse.move(x + step * 4, y + step * 3);
    await page.mouse.up();
    await tile(page, "Start").hover();
    await expect.poll(() => page.locator(".node-tile.lit").count()).toBe(NODES);
    await page.mouse.move(x, 100);
    for (let step = 0; step < 6; step += 1) await page.mouse.wheel(0, -300);
    for (let step = 0; step < 6; step += 1) await page.mouse.wheel(0, 300);
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+z");
  });
  await expect.poll(async () => (await getFlow(id)).revision).toBeGreaterThan(revision);
  console.info(`longest task while editing a flow of ${NODES} nodes: ${longest} ms`);
  expect(longest).toBeLessThan(MAX_TASK_MS);
});
