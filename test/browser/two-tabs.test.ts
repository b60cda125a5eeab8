/** Two tabs, or a tab and an agent, edit one flow: nothing is lost. */
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
const { stored, newFlow, open } = useCanvas(ui);

beforeAll(async () => {
  await ui.call("POST", "/api/apps", { slug: "desk", name: "Desk" });
});

const newLine = (name: string) =>
  newFlow(
    name,
    [
      intent(`Ask ${name}`),
      node("fetch", "HttpRequest", "Fetch", 400, 100, { url: "https://example.com/" }),
      node("end", "Return", "End", 700, 100, { value: "{{ fetch.body }}" }),
    ],
    [edge(`Ask ${name}`, "fetch"), edge("fetch", "end")],
  );

/** Two pages of one flow, both live. */
async function openTwice(id: string): Promise<[Page, Page]> {
  const pages: [Page, Page] = [await open(id), await open(id)];
  for (const page of pages) await page.getByText("Live", { exact: true }).waitFor();
  return pages;
}
const url = (page: Page) => panel(page, "Fetch").getByRole("textbox", { name: /^Url/ });
const urlOf = async (id: string) => (await stored(id)).nodes[1].parameters.url;
const rename = async (page: Page, name: string) => {
  await page.getByRole("textbox", { name: "Name of the flow" }).fill(name);
  await page.keyboard.press("Enter");
};
const nameIn = (page: Page) => page.getByRole("textbox", { name: "Name of the flow" }).inputValue();

/** The page cannot save until the returned function is called. Then it does at once. */
async function hold(page: Page, id: string): Promise<() => Promise<void>> {
  const target = `**/api/flows/${id}`;
  await intercept(page, target, (route) =>
    route.request().method() === "PUT" ? route.abort() : route.continue(),
  );
  return async () => {
    await page.unroute(target);
    await saveNow(page);
  };
}

it("shows what another tab or an agent has saved, and an undo takes back only one's own", async () => {
  const id = await newLine("Follow");
  const [one, two] = await openTwice(id);
  await rename(two, "Mine");
  await expect.poll(() => nameIn(one)).toBe("Mine");
  await clickTile(one, "Fetch");
  await url(one).fill("https://example.com/one");
  await clickTile(two, "Fetch");
  await expect.poll(() => url(two).inputValue()).toBe("https://example.com/one");
  await ui.call("POST", `/api/flows/${id}/nodes`, { type: "Merge", name: "From an agent" });
  for (const page of [one, two]) await tile(page, "From an agent").waitFor();
  await two.getByRole("button", { name: "Undo" }).click();
  await expect.poll(async () => (await stored(id)).name).toBe("Follow");
  expect(await urlOf(id)).toBe("https://example.com/one");
  expect((await stored(id)).nodes).toHaveLength(4);
});

it("joins edits of different things that were made at the same time", async () => {
  const id = await newLine("Join");
  const [one, two] = await openTwice(id);
  const release = await hold(two, id);
  await clickTile(two, "Fetch");
  await url(two).fill("https://example.com/two");
  await two.keyboard.press("Escape");
  await addNode(two, "Transform");
  await two.getByText("Not saved yet, trying again").waitFor();
  await clickTile(one, "End");
  await one.keyboard.press("Delete");
  await rename(one, "Joined");
  await expect.poll(async () => (await stored(id)).name).toBe("Joined");
  await release();
  await expect.poll(() => urlOf(id)).toBe("https://example.com/two");
  const { name, nodes } = await stored(id);
  expect(name).toBe("Joined");
  expect(nodes.map((each: { name: string }) => each.name)).toEqual([
    "Ask Join",
    "Fetch",
    "Transform",
  ]);
  for (const page of [one, two]) {
    await expect.poll(() => nameIn(page)).toBe("Joined");
    await tile(page, "Transform").waitFor();
    await expect.poll(() => tile(page, "End").count()).toBe(0);
  }
  expect(await two.getByText("This flow was changed elsewhere").count()).toBe(0);
});

it.each([
  { choice: "Keep mine", kept: "Two", other: "One" },
  { choice: "Take the other edit", kept: "One", other: "Two" },
])("asks about the same value ($choice), and Undo shows the other one", async (row) => {
  const { choice, kept, other } = row;
  const id = await newLine(`Collide ${choice}`);
  const [one, two] = await openTwice(id);
  const release = await hold(two, id);
  await rename(two, "Two");
  await clickTile(two, "Fetch");
  await url(two).fill("https://example.com/two");
  await two.getByText("Not saved yet, trying again").waitFor();
  await rename(one, "One");
  await expect.poll(async () => (await stored(id)).name).toBe("One");
  await release();
  const banner = two.getByRole("alert");
  await banner.getByText("This flow was changed elsewhere while you edited it.").waitFor();
  await banner.getByText(/the name of the flow/).waitFor();
  expect((await stored(id)).name).toBe("One");
  await banner.getByRole("button", { name: choice }).click();
  await expect.poll(() => urlOf(id)).toBe("https://example.com/two");
  expect((await stored(id)).name).toBe(kept);
  await expect.poll(() => nameIn(one)).toBe(kept);
  await two.keyboard.press("Escape");
  await two.getByRole("button", { name: "Undo" }).click();
  await expect.poll(async () => (await stored(id)).name).toBe(other);
});

it("brings unsaved edits back when the flow is opened again", async () => {
  const id = await newLine("Restored");
  const page = await open(id);
  const release = await hold(page, id);
  await rename(page, "Not lost");
  await page.getByText("Not saved yet, trying again").waitFor();
  await page.getByRole("link", { name: "Flows" }).click();
  await page.waitForURL("**/flows");
  expect((await stored(id)).name).toBe("Restored");
  await ui.call("PATCH", `/api/flows/${id}/nodes/fetch`, {
    parameters: { url: "https://example.com/meanwhile" },
  });
  await release();
  await page.goto(`${ui.url()}/flows/${id}`);
  await page.getByText("Your unsaved edits were restored").waitFor();
  await expect.poll(async () => (await stored(id)).name).toBe("Not lost");
  expect(await urlOf(id)).toBe("https://example.com/meanwhile");
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(async () => (await stored(id)).name).toBe("Restored");
});

it("does not bring back edits that were saved after the page was left", async () => {
  const id = await newLine("Late");
  const page = await open(id);
  const kept = () => page.evaluate((key) => localStorage.getItem(key), `signalbox.unsaved.${id}`);
  const release = await hold(page, id);
  await rename(page, "Saved late");
  await expect.poll(kept).toContain("Saved late");
  await page.getByRole("link", { name: "Flows" }).click();
  await page.waitForURL("**/flows");
  await release();
  await expect.poll(kept).toBeNull();
  expect((await stored(id)).name).toBe("Saved late");
  await ui.call("PATCH", `/api/flows/${id}`, { name: "Renamed since" });
  await page.goto(`${ui.url()}/flows/${id}`);
  await tile(page, "Fetch").waitFor();
  expect(await nameIn(page)).toBe("Renamed since");
  expect(await page.getByText("Your unsaved edits were restored").count()).toBe(0);
});

it("publishes in one tab while the other edits", async () => {
  const id = await newLine("Publish");
  const [one, two] = await openTwice(id);
  const release = await hold(two, id);
  await clickTile(two, "Fetch");
  await url(two).fill("https://example.com/later");
  await two.getByText("Not saved yet, trying again").waitFor();
  await publish(one, 1);
  await release();
  await expect.poll(() => urlOf(id)).toBe("https://example.com/later");
  for (const page of [one, two])
    await page.getByRole("button", { name: "1 change since v1" }).waitFor();
});
