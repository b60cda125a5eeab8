/** A flow of 200 nodes must not block the page. */
import { beforeAll, expect, it } from "vitest";
import { atRest, edge, intent, node, tile, useCanvas } from "./support/canvas.ts";
import { longestTask, MAX_TASK_MS, MOVING } from "./support/longest-task.ts";
import { useUi } from "./support/ui.ts";

const ui = useUi();
const { newFlow, open, stored } = useCanvas(ui);
const NODES = 200;
const COLUMNS = 20;
let id: string;

beforeAll(async () => {
  await ui.call("POST", "/api/apps", { slug: "desk", name: "Desk" });
  const steps = Array.from({ length: NODES - 1 }, (_, nth) => {
    const at = nth + 1;
    const [x, y] = [100 + (at % COLUMNS) * 280, 100 + Math.floor(at / COLUMNS) * 140];
    return node(`n${at}`, "Transform", `Step ${at}`, x, y, { expression: `${at}` });
  });
  const tracks = steps.map(({ id }, nth) => edge(nth === 0 ? "Start" : `n${nth}`, id));
  id = await newFlow("Large", [intent("Start"), ...steps], tracks);
});

it("opens a flow of 200 nodes without blocking the page", async () => {
  const page = await ui.open("/flows", MOVING);
  const link = page.getByRole("link", { name: "Large", exact: true });
  await link.waitFor();
  // The code of the canvas is loaded once, with its own cost.
  await link.click();
  await tile(page, "Step 1").waitFor();
  await page.goBack();
  await link.waitFor();
  const longest = await longestTask(page, async () => {
    await link.click();
    await tile(page, "Step 199").waitFor();
    await atRest(page);
  });
  console.info(`longest task while a flow of ${NODES} nodes opens: ${longest} ms`);
  expect(longest).toBeLessThan(MAX_TASK_MS);
});

it("takes over the edit of an agent in it without blocking the page", async () => {
  const page = await open(id);
  await page.getByText("Live", { exact: true }).waitFor();
  const longest = await longestTask(page, async () => {
    await ui.call("PATCH", `/api/flows/${id}/nodes/n50`, { name: "By an agent" });
    await tile(page, "By an agent").waitFor();
  });
  console.info(`longest task while an edit of a flow of ${NODES} nodes arrives: ${longest} ms`);
  expect(longest).toBeLessThan(MAX_TASK_MS);
});

it("drags, hovers, zooms, selects and undoes in it without blocking the page", async () => {
  const page = await open(id, MOVING);
  const box = await tile(page, "Step 90").boundingBox();
  if (!box) throw new Error("The tile is not visible.");
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const { revision } = await stored(id);
  const longest = await longestTask(page, async () => {
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
  await expect.poll(async () => (await stored(id)).revision).toBeGreaterThan(revision);
  console.info(`longest task while editing a flow of ${NODES} nodes: ${longest} ms`);
  expect(longest).toBeLessThan(MAX_TASK_MS);
});
