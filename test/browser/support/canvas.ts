/** Flows for tests of the canvas, and how tests find its parts. */
import type { BrowserContextOptions, Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { Ui } from "./ui.ts";

export interface TestNode {
  id: string;
  type: string;
  name: string;
  position?: { x: number; y: number };
  parameters?: Record<string, unknown>;
}

export const node = (
  id: string,
  type: string,
  name: string,
  x: number,
  y: number,
  parameters: Record<string, unknown> = {},
): TestNode => ({ id, type, name, position: { x, y }, parameters });

export const intent = (name: string, y = 100, parameters: Record<string, unknown> = {}): TestNode =>
  node(name, "UserIntent", name, 100, y, { toolDescription: `${name}.`, ...parameters });

export const edge = (source: string, target: string, sourceHandle = "out") => ({
  id: `${source}-${sourceHandle}-${target}`,
  source,
  sourceHandle,
  target,
  targetHandle: "in",
});

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

export const tile = (page: Page, name: string): Locator =>
  page.getByRole("group", { name: new RegExp(`^${escaped(name)}, `) });

/** Clicks a tile. If the panel covers its middle, the whole flow is shown first, as a person would do. */
export async function clickTile(page: Page, name: string): Promise<void> {
  const isCovered = async () => {
    const [desk, box] = await Promise.all(
      [page.locator(".desk"), tile(page, name)].map((each) => each.boundingBox()),
    );
    return !desk || !box || box.x + box.width / 2 > desk.x + desk.width;
  };
  if (await isCovered()) {
    await page.getByRole("button", { name: "Show the whole flow" }).click();
    await expect.poll(isCovered).toBe(false);
  }
  await tile(page, name).click();
}
export const port = (page: Page, name: string, title: string): Locator =>
  tile(page, name).getByTitle(title, { exact: true });
export const panel = (page: Page, name: string): Locator =>
  page.getByRole("complementary", { name: `Node ${name}`, exact: true });
export const dock = (page: Page): Locator => page.getByRole("region", { name: "Run of the draft" });

/** Tests of the canvas of one hub. */
export function useCanvas(ui: Ui, app = "desk") {
  const stored = async (id: string) => (await ui.call("GET", `/api/flows/${id}`)).json;
  return {
    stored,
    /** What an edit can change, without what the hub computes. */
    async graph(id: string) {
      const { name, description, nodes, edges } = await stored(id);
      return { name, description, nodes, edges };
    },
    async newFlow(
      name: string,
      nodes: readonly TestNode[] = [],
      edges: readonly unknown[] = [],
    ): Promise<string> {
      return (await ui.call("POST", `/api/apps/${app}/flows`, { name, nodes, edges })).json.id;
    },
    async idOf(name: string): Promise<string> {
      const { json } = await ui.call("GET", "/api/flows?limit=100");
      return json.items.find((flow: { name: string }) => flow.name === name).id;
    },
    /** The page of a flow whose view has come to rest. */
    async open(id: string, options?: BrowserContextOptions): Promise<Page> {
      const page = await ui.open(`/flows/${id}`, options);
      await page.getByRole("button", { name: "Add a node" }).waitFor();
      await atRest(page);
      return page;
    },
  };
}

/** All tiles are measured, and none moves any more. */
export async function atRest(page: Page): Promise<void> {
  const places = () =>
    page.locator(".react-flow__node").evaluateAll((tiles) =>
      tiles.map((each) => {
        const { x, y } = each.getBoundingClientRect();
        return `${x} ${y} ${getComputedStyle(each).visibility}`;
      }),
    );
  let before = "";
  await expect
    .poll(
      async () => {
        const now = JSON.stringify(await places());
        const rests = now === before && !now.includes("hidden");
        before = now;
        return rests;
      },
      { interval: 150 },
    )
    .toBe(true);
}

async function middleOf(locator: Locator): Promise<{ x: number; y: number }> {
  const box = await locator.boundingBox();
  if (!box) throw new Error(`${locator} is not visible`);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

export async function drag(page: Page, from: Locator, by: { x: number; y: number }): Promise<void> {
  const { x, y } = await middleOf(from);
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + by.x / 2, y + by.y / 2, { steps: 4 });
  await page.mouse.move(x + by.x, y + by.y, { steps: 4 });
  await page.mouse.up();
}

/** Draws a track with the mouse. */
export async function connect(page: Page, from: Locator, to: Locator): Promise<void> {
  const [start, end] = [await middleOf(from), await middleOf(to)];
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move((start.x + end.x) / 2, (start.y + end.y) / 2, { steps: 4 });
  await page.mouse.move(end.x, end.y, { steps: 4 });
  await page.mouse.up();
}

const focused = (locator: Locator): Promise<void> =>
  expect
    .poll(() =>
      locator.evaluateAll((found) => found.some((each) => each === document.activeElement)),
    )
    .toBe(true);

/** Adds a node with the library, after the one that is selected. */
export async function addNode(page: Page, title: string): Promise<void> {
  await page.keyboard.press("n");
  const search = page.getByPlaceholder("Search the node types");
  await focused(search);
  await page.keyboard.type(title);
  await page.getByRole("option", { name: title }).first().waitFor();
  await page.keyboard.press("Enter");
  await search.waitFor({ state: "detached" });
}

/** A page that is hidden saves at once, so a test need not wait until an edit has settled. */
export const saveNow = (page: Page): Promise<void> =>
  page.evaluate(() => {
    Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
    Reflect.deleteProperty(document, "visibilityState");
  });

/** From the panel of a node back to its tile, by keyboard. */
export async function leavePanel(page: Page, name: string): Promise<void> {
  await page.keyboard.press("Escape");
  await focused(tile(page, name));
}

/** Publishes the draft with the dialog. */
export async function publish(page: Page, version: number, note = ""): Promise<void> {
  await page.getByRole("button", { name: `Publish v${version}` }).click();
  const dialog = page.getByRole("dialog", { name: `Publish v${version}` });
  await dialog.getByRole("textbox", { name: "Note" }).fill(note);
  await dialog.getByRole("button", { name: "Publish", exact: true }).click();
  await page.getByText(`Published v${version}`).waitFor();
  await dialog.waitFor({ state: "detached" });
}

/** Replaces the text of a code editor with its own commands: Chromium would keep the style of a selection. */
export async function setCode(page: Page, editor: Locator, text: string): Promise<void> {
  // Until its code has loaded, the text is shown in a plain field.
  await editor.and(page.locator(".cm-content")).focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
}
