/** Creates flows for tests of the canvas, finds the elements of the canvas, and uses them. */
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

const escapeRegExp = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

export const tile = (page: Page, name: string): Locator =>
  page.getByRole("group", { name: new RegExp(`^${escapeRegExp(name)}, `) });

/** Clicks the tile of a node. If the panel covers its middle, clicks "Show the whole flow" first. */
export async function clickTile(page: Page, name: string): Promise<void> {
  const isCovered = async () => {
    const [canvas, box] = await Promise.all(
      [page.locator(".desk"), tile(page, name)].map((locator) => locator.boundingBox()),
    );
    return !canvas || !box || box.x + box.width / 2 > canvas.x + canvas.width;
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

/** Functions for flows of one app and their pages. */
export function useCanvas(ui: Ui, app = "desk") {
  const getFlow = async (id: string) => (await ui.call("GET", `/api/flows/${id}`)).json;
  return {
    getFlow,
    /** Returns the properties of a flow that an edit can change, without those that the hub computes. */
    async getGraph(id: string) {
      const { name, description, nodes, edges } = await getFlow(id);
      return { name, description, nodes, edges };
    },
    async createFlow(
      name: string,
      nodes: readonly TestNode[] = [],
      edges: readonly unknown[] = [],
    ): Promise<string> {
      return (await ui.call("POST", `/api/apps/${app}/flows`, { name, nodes, edges })).json.id;
    },
    async findFlowId(name: string): Promise<string> {
      const { json } = await ui.call("GET", "/api/flows?limit=100");
      return json.items.find((flow: { name: string }) => flow.name === name).id;
    },
    /** Opens the page of a flow, and waits until its nodes no longer move. */
    async openFlow(id: string, options?: BrowserContextOptions): Promise<Page> {
      const page = await ui.open(`/flows/${id}`, options);
      await page.getByRole("button", { name: "Add a node" }).waitFor();
      await waitUntilSettled(page);
      return page;
    },
  };
}

/** Waits until all tiles are visible, and none moves any more. */
export async function waitUntilSettled(page: Page): Promise<void> {
  const readPositions = () =>
    page.locator(".react-flow__node").evaluateAll((tiles) =>
      tiles.map((element) => {
        const { x, y } = element.getBoundingClientRect();
        return `${x} ${y} ${getComputedStyle(element).visibility}`;
      }),
    );
  let before = "";
  await expect
    .poll(
      async () => {
        const now = JSON.stringify(await readPositions());
        const isSettled = now === before && !now.includes("hidden");
        before = now;
        return isSettled;
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

/** Draws an edge with the mouse. */
export async function connect(page: Page, from: Locator, to: Locator): Promise<void> {
  const [start, end] = [await middleOf(from), await middleOf(to)];
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move((start.x + end.x) / 2, (start.y + end.y) / 2, { steps: 4 });
  await page.mouse.move(end.x, end.y, { steps: 4 });
  await page.mouse.up();
}

const waitForFocus = (locator: Locator): Promise<void> =>
  expect
    .poll(() =>
      locator.evaluateAll((elements) =>
        elements.some((element) => element === document.activeElement),
      ),
    )
    .toBe(true);

/** Adds a node after the selected one, with the dialog that lists the node types. */
export async function addNode(page: Page, title: string): Promise<void> {
  await page.keyboard.press("n");
  const search = page.getByPlaceholder("Search the node types");
  await waitForFocus(search);
  await page.keyboard.type(title);
  await page.getByRole("option", { name: title }).first().waitFor();
  await page.keyboard.press("Enter");
  await search.waitFor({ state: "detached" });
}

/** Makes the page save at once, as it does when it is hidden. Otherwise a save is debounced. */
export const saveNow = (page: Page): Promise<void> =>
  page.evaluate(() => {
    Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
    Reflect.deleteProperty(document, "visibilityState");
  });

/** Moves the focus from the panel of a node back to its tile, with the keyboard. */
export async function leavePanel(page: Page, name: string): Promise<void> {
  await page.keyboard.press("Escape");
  await waitForFocus(tile(page, name));
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

/** Replaces the text of a code editor. Deletes it first, because Chromium would give new text the style of a selection. */
export async function setCode(page: Page, editor: Locator, text: string): Promise<void> {
  // Until the code of the editor has loaded, the page shows a plain field, which has no `.cm-content`.
  await editor.and(page.locator(".cm-content")).focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
}
