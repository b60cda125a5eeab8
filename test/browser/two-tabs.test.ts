/** Two tabs, or a tab and an agent, edit one flow, and no edit is lost. */
import type { Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import {
  addNode,
  clickTile,
  edge,
  intent,
  node,
  panel,
  publish,
  saveNow,
  tile,
  useCanvas,
} from "./support/canvas.ts";
import { intercept } from "./support/intercept.ts";
import { useUi } from "./support/ui.ts";

const ui = useUi();
const { getFlow, createFlow, openFlow } = useCanvas(ui);

beforeAll(async () => {
  await ui.call("POST", "/api/apps", { slug: "desk", name: "Desk" });
});

const createLinearFlow = (name: string) =>
  createFlow(
    name,
    [
      intent(`Ask ${name}`),
      node("fetch", "HttpRequest", "Fetch", 400, 100, { url: "https://example.com/" }),
      node("end", "Return", "End", 700, 100, { value: "{{ fetch.body }}" }),
    ],
    [edge(`Ask ${name}`, "fetch"), edge("fetch", "end")],
  );

/** Opens two pages of one flow, and waits until both are live. */
async function openTwice(id: string): Promise<[Page, Page]> {
  const pages: [Page, Page] = [await openFlow(id), await openFlow(id)];
  for (const page of pages) await page.getByText("Live", { exact: true }).waitFor();
  return pages;
}
const urlField = (page: Page) => panel(page, "Fetch").getByRole("textbox", { name: /^Url/ });
const getUrl = async (id: string) => (await getFlow(id)).nodes[1].parameters.url;
const rename = async (page: Page, name: string) => {
  await page.getByRole("textbox", { name: "Name of the flow" }).fill(name);
  await page.keyboard.press("Enter");
};
const shownName = (page: Page) =>
  page.getByRole("textbox", { name: "Name of the flow" }).inputValue();

/** Prevents the page from saving until the returned function is called, which saves at once. */
async function blockSaves(page: Page, id: string): Promise<() => Promise<void>> {
  const target = `**/api/flows/${id}`;
  await intercept(page, target, (route) =>
    route.request().method() === "PUT" ? route.abort() : route.continue(),
  );
  return async () => {
    await page.unroute(target);
    await saveNow(page);
  };
}

it("shows the edits of another tab and of an agent, and Undo reverts only the edits of its own tab", async () => {
  const id = await createLinearFlow("Follow");
  const [firstTab, secondTab] = await openTwice(id);
  await rename(secondTab, "Mine");
  await expect.poll(() => shownName(firstTab)).toBe("Mine");
  await clickTile(firstTab, "Fetch");
  await urlField(firstTab).fill("https://example.com/one");
  await clickTile(secondTab, "Fetch");
  await expect.poll(() => urlField(secondTab).inputValue()).toBe("https://example.com/one");
  await ui.call("POST", `/api/flows/${id}/nodes`, { type: "Merge", name: "From an agent" });
  for (const page of [firstTab, secondTab]) await tile(page, "From an agent").waitFor();
  await secondTab.getByRole("button", { name: "Undo" }).click();
  await expect.poll(async () => (await getFlow(id)).name).toBe("Follow");
  expect(await getUrl(id)).toBe("https://example.com/one");
  expect((await getFlow(id)).nodes).toHaveLength(4);
});

it("merges concurrent edits of different nodes and properties", async () => {
  const id = await createLinearFlow("Join");
  const [firstTab, secondTab] = await openTwice(id);
  const release = await blockSaves(secondTab, id);
  await clickTile(secondTab, "Fetch");
  await urlField(secondTab).fill("https://example.com/two");
  await secondTab.keyboard.press("Escape");
  await addNode(secondTab, "Transform");
  await secondTab.getByText("Not saved yet, trying again").waitFor();
  await clickTile(firstTab, "End");
  await firstTab.keyboard.press("Delete");
  await rename(firstTab, "Joined");
  await expect.poll(async () => (await getFlow(id)).name).toBe("Joined");
  await release();
  await expect.poll(() => getUrl(id)).toBe("https://example.com/two");
  const { name, nodes } = await getFlow(id);
  expect(name).toBe("Joined");
  expect(nodes.map((each: { name: string }) => each.name)).toEqual([
    "Ask Join",
    "Fetch",
    "Transform",
  ]);
  for (const page of [firstTab, secondTab]) {
    await expect.poll(() => shownName(page)).toBe("Joined");
    await tile(page, "Transform").waitFor();
    await expect.poll(() => tile(page, "End").count()).toBe(0);
  }
  expect(await secondTab.getByText("This flow was changed elsewhere").count()).toBe(0);
});

it.each([
  { choice: "Keep mine", chosen: "Two", rejected: "One" },
  { choice: "Take the other edit", chosen: "One", rejected: "Two" },
])(
  "asks which of two edits of one value to use, and Undo restores the other ($choice)",
  async (row) => {
    const { choice, chosen, rejected } = row;
    const id = await createLinearFlow(`Collide ${choice}`);
    const [firstTab, secondTab] = await openTwice(id);
    const release = await blockSaves(secondTab, id);
    await rename(secondTab, "Two");
    await clickTile(secondTab, "Fetch");
    await urlField(secondTab).fill("https://example.com/two");
    await secondTab.getByText("Not saved yet, trying again").waitFor();
    await rename(firstTab, "One");
    await expect.poll(async () => (await getFlow(id)).name).toBe("One");
    await release();
    const banner = secondTab.getByRole("alert");
    await banner.getByText("This flow was changed elsewhere while you edited it.").waitFor();
    await banner.getByText(/the name of the flow/).waitFor();
    expect((await getFlow(id)).name).toBe("One");
    await banner.getByRole("button", { name: choice }).click();
    await expect.poll(() => getUrl(id)).toBe("https://example.com/two");
    expect((await getFlow(id)).name).toBe(chosen);
    await expect.poll(() => shownName(firstTab)).toBe(chosen);
    await secondTab.keyboard.press("Escape");
    await secondTab.getByRole("button", { name: "Undo" }).click();
    await expect.poll(async () => (await getFlow(id)).name).toBe(rejected);
  },
);

it("restores unsaved edits when the flow is opened again", async () => {
  const id = await createLinearFlow("Restored");
  const page = await openFlow(id);
  const release = await blockSaves(page, id);
  await rename(page, "Not lost");
  await page.getByText("Not saved yet, trying again").waitFor();
  await page.getByRole("link", { name: "Flows" }).click();
  await page.waitForURL("**/flows");
  expect((await getFlow(id)).name).toBe("Restored");
  await ui.call("PATCH", `/api/flows/${id}/nodes/fetch`, {
    parameters: { url: "https://example.com/meanwhile" },
  });
  await release();
  await page.goto(`${ui.url()}/flows/${id}`);
  await page.getByText("Your unsaved edits were restored").waitFor();
  await expect.poll(async () => (await getFlow(id)).name).toBe("Not lost");
  expect(await getUrl(id)).toBe("https://example.com/meanwhile");
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(async () => (await getFlow(id)).name).toBe("Restored");
});

it("does not restore edits that were saved after the person left the page", async () => {
  const id = await createLinearFlow("Late");
  const page = await openFlow(id);
  const readUnsaved = () =>
    page.evaluate((key) => localStorage.getItem(key), `signalbox.unsaved.${id}`);
  const release = await blockSaves(page, id);
  await rename(page, "Saved late");
  await expect.poll(readUnsaved).toContain("Saved late");
  await page.getByRole("link", { name: "Flows" }).click();
  await page.waitForURL("**/flows");
  await release();
  await expect.poll(readUnsaved).toBeNull();
  expect((await getFlow(id)).name).toBe("Saved late");
  await ui.call("PATCH", `/api/flows/${id}`, { name: "Renamed since" });
  await page.goto(`${ui.url()}/flows/${id}`);
  await tile(page, "Fetch").waitFor();
  expect(await shownName(page)).toBe("Renamed since");
  expect(await page.getByText("Your unsaved edits were restored").count()).toBe(0);
});

it("publishes in one tab without losing an unsaved edit of the other tab", async () => {
  const id = await createLinearFlow("Publish");
  const [firstTab, secondTab] = await openTwice(id);
  const release = await blockSaves(secondTab, id);
  await clickTile(secondTab, "Fetch");
  await urlField(secondTab).fill("https://example.com/later");
  await secondTab.getByText("Not saved yet, trying again").waitFor();
  await publish(firstTab, 1);
  await release();
  await expect.poll(() => getUrl(id)).toBe("https://example.com/later");
  for (const page of [firstTab, secondTab])
    await page.getByRole("button", { name: "1 change since v1" }).waitFor();
});
