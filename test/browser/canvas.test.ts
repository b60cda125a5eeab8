/** The canvas: every row of "UI" in the contract of flows, and what never gets lost. */
import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { deliver } from "../support/deliver.ts";
import {
  addNode,
  atRest,
  clickTile,
  connect,
  dock,
  drag,
  edge,
  intent,
  node,
  panel,
  port,
  publish,
  saveNow,
  setCode,
  tile,
  useCanvas,
} from "./support/canvas.ts";
import { intercept } from "./support/intercept.ts";
import { setUpFlows, startOutside } from "./support/sample-desk.ts";
import { findBarriers, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();
const { stored, graph, newFlow, idOf, open } = useCanvas(ui);
let outside: string;

beforeAll(async () => {
  const server = await startOutside();
  outside = server.url;
  await setUpFlows(ui.call, outside);
  return server.stop;
});

const line = () => ({
  nodes: [
    intent("Ask"),
    node("fetch", "HttpRequest", "Fetch", 400, 100, { url: `${outside}/issue` }),
    node("end", "Return", "End", 700, 100, { value: "{{ fetch.body.ok }}" }),
  ],
  edges: [edge("Ask", "fetch"), edge("fetch", "end")],
});
const newLine = (name: string) => {
  const { nodes, edges } = line();
  return newFlow(name, nodes, edges);
};
const publishStored = (id: string) => ui.call("POST", `/api/flows/${id}/publish`, { note: "" });
const edges = async (id: string) =>
  (await stored(id)).edges.map(
    ({ source, sourceHandle, target }: Record<string, string>) =>
      `${source} ${sourceHandle} ${target}`,
  );
const below = async (page: Page, name: string, text: string) => {
  const frame = await tile(page, name).locator(".node-tile").boundingBox();
  const plate = await tile(page, name).locator(".id-plate").getByText(text).boundingBox();
  return (plate?.y ?? 0) - ((frame?.y ?? 0) + (frame?.height ?? 0));
};

describe("the desk", () => {
  it("has a plate below each trigger: the tool name, the event, the schedule", async () => {
    const id = await newFlow("Plates", [
      intent("Get Weather Data"),
      node("on", "Event", "On issue", 100, 300, { source: "github", type: "issues" }),
      node("at", "Schedule", "Each morning", 100, 500, { cron: "0 9 * * *" }),
    ]);
    const page = await open(id);
    for (const [name, text] of [
      ["Get Weather Data", "get_weather_data"],
      ["On issue", "github · issues"],
      ["Each morning", "0 9 * * *"],
    ] as const)
      expect(await below(page, name, text), text).toBeGreaterThanOrEqual(0);
    for (const text of ["get_weather_data", "github · issues"])
      await page.getByRole("main").locator("header").getByText(text).waitFor();
  });

  it("adds what follows with the + of a port, from a library with a search", async () => {
    const id = await newFlow("Plus", [
      intent("Ask"),
      node("check", "Condition", "Is it a bug?", 400, 100, {
        conditions: [{ left: "{{ trigger.x }}", op: "eq", right: 1 }],
      }),
    ]);
    const page = await open(id);
    await tile(page, "Is it a bug?").hover();
    await tile(page, "Is it a bug?")
      .getByRole("button", { name: "Add a node after false" })
      .click();
    const library = page.getByRole("dialog", { name: "Add a node after Is it a bug?" });
    await library.getByPlaceholder("Search the node types").fill("jsonata");
    await expect.poll(() => library.getByRole("option").count()).toBe(1);
    await library.getByRole("option", { name: /^Transform/ }).click();
    await tile(page, "Transform").waitFor();
    await expect.poll(async () => (await edges(id))[0]).toMatch(/^check false /);
    await tile(page, "Is it a bug?").hover();
    await tile(page, "Is it a bug?")
      .getByRole("button", { name: "Add what happens on error" })
      .click();
    await library.getByRole("option", { name: /^Return/ }).click();
    await expect.poll(async () => (await edges(id))[1]).toMatch(/^check error /);
  });

  it("connects two nodes with the mouse, and refuses what would be a circle", async () => {
    const id = await newFlow("Connect", [
      node("a", "Transform", "First", 100, 100, { expression: "1" }),
      node("b", "Transform", "Second", 500, 100, { expression: "2" }),
    ]);
    const page = await open(id);
    const track = (from: string, to: string) =>
      connect(page, port(page, from, "output out"), port(page, to, "input in"));
    await track("First", "Second");
    await expect.poll(() => edges(id)).toEqual(["a out b"]);
    await track("Second", "First");
    await page.keyboard.press("Escape");
    await clickTile(page, "First");
    await panel(page, "First").getByRole("textbox", { name: "Name", exact: true }).fill("Begin");
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await stored(id)).nodes[0].name).toBe("Begin");
    expect(await edges(id)).toEqual(["a out b"]);
  });

  it("undoes and redoes every kind of edit", async () => {
    const id = await newLine("Everything");
    const page = await open(id, { permissions: ["clipboard-read", "clipboard-write"] });
    const edits: [string, () => Promise<unknown>][] = [
      ["add", () => addNode(page, "Transform")],
      [
        "connect",
        async () => {
          await atRest(page);
          await connect(page, port(page, "Ask", "output out"), port(page, "Transform", "input in"));
        },
      ],
      [
        "move",
        async () => {
          // Without the panel, which covers it.
          await page.keyboard.press("Escape");
          await atRest(page);
          await drag(page, tile(page, "End"), { x: 40, y: 80 });
        },
      ],
      [
        "parameters",
        async () => {
          await clickTile(page, "Fetch");
          await panel(page, "Fetch").getByRole("textbox", { name: /^Url/ }).fill(`${outside}/two`);
        },
      ],
      [
        "rename",
        async () => {
          const name = panel(page, "Fetch").getByRole("textbox", { name: "Name", exact: true });
          await name.fill("Get it");
          await name.press("Enter");
        },
      ],
      [
        "name of the flow",
        async () => {
          const name = page.getByRole("textbox", { name: "Name of the flow" });
          await name.fill("Everything else");
          await name.press("Enter");
        },
      ],
      [
        "description of the flow",
        async () => {
          await page.getByRole("button", { name: "Description" }).click();
          const dialog = page.getByRole("dialog", { name: "Description of the flow" });
          await dialog.getByRole("textbox", { name: "Description" }).fill("Fetches an issue.");
          await dialog.getByRole("button", { name: "Apply" }).click();
        },
      ],
      [
        "paste",
        async () => {
          await clickTile(page, "Get it");
          await page.keyboard.press("Control+c");
          await page.keyboard.press("Control+v");
        },
      ],
      ["delete", () => page.keyboard.press("Delete")],
      ["tidy", () => page.getByRole("button", { name: "Tidy" }).click()],
    ];
    const states = [await graph(id)];
    const saved = async () => {
      await saveNow(page);
      return graph(id);
    };
    for (const [what, act] of edits) {
      await act();
      await expect.poll(saved, { message: what }).not.toEqual(states.at(-1));
      states.push(await graph(id));
    }
    // References follow a new name.
    expect(states[5]?.nodes[2].parameters.value).toBe("{{ get_it.body.ok }}");
    await page.keyboard.press("Escape");
    for (const [at, state] of [...states.entries()].reverse().slice(1)) {
      await page.keyboard.press("Control+z");
      await expect.poll(saved, { message: `undo ${edits[at]?.[0]}` }).toEqual(state);
    }
    expect(await page.getByRole("button", { name: "Undo" }).isDisabled()).toBe(true);
    for (const [at, state] of states.slice(1).entries()) {
      await page.keyboard.press(at % 2 === 0 ? "Control+Shift+z" : "Control+y");
      await expect.poll(saved, { message: `redo ${edits[at]?.[0]}` }).toEqual(state);
    }
  });

  it("copies nodes into another flow, with ids, references and tool names of their own", async () => {
    const from = await newLine("Copied from");
    const to = await newFlow("Copied to", [
      node("fetch", "HttpRequest", "Fetch", 100, 100, { url: "https://example.com" }),
    ]);
    const page = await open(from, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Control+c");
    await page.goto(`${ui.url()}/flows/${to}`);
    await tile(page, "Fetch").waitFor();
    await page.keyboard.press("Control+v");
    await expect.poll(async () => (await stored(to)).nodes.length).toBe(4);
    const pasted = await stored(to);
    const [, ask, fetch, end] = pasted.nodes;
    expect(pasted.edges).toHaveLength(2);
    expect(fetch).toMatchObject({ name: "Fetch", slug: "fetch_2" });
    expect(fetch.id).not.toBe("fetch");
    expect(end.parameters.value).toBe("{{ fetch_2.body.ok }}");
    const original = (await stored(from)).nodes[0].parameters.toolName;
    await expect
      .poll(async () => (await stored(to)).nodes[1].parameters.toolName)
      .toMatch(/^ask_\d+$/);
    expect(ask.parameters.toolName).not.toBe(original);
    // Again: beside the first copies, not on top of them.
    await page.getByRole("button", { name: "Show the whole flow" }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Paste" }).click();
    await expect.poll(async () => (await stored(to)).nodes.length).toBe(7);
    const spots = (await stored(to)).nodes.map(
      ({ position: { x, y } }: { position: { x: number; y: number } }) => `${x} ${y}`,
    );
    expect(new Set(spots).size).toBe(7);
  });

  it("deletes and cuts nodes and tracks by key", async () => {
    const id = await newLine("Delete");
    const page = await open(id, { permissions: ["clipboard-read", "clipboard-write"] });
    const track = page.getByRole("group", { name: "Fetch to End", exact: true });
    await track.focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Delete");
    await expect.poll(() => edges(id)).toEqual(["Ask out fetch"]);
    await clickTile(page, "Fetch");
    await page.keyboard.press("Backspace");
    await expect.poll(async () => (await stored(id)).nodes.length).toBe(2);
    expect(await edges(id)).toEqual([]);
    await clickTile(page, "End");
    await page.keyboard.press("Control+x");
    await expect.poll(async () => (await stored(id)).nodes.length).toBe(1);
    await page.keyboard.press("Control+v");
    await expect.poll(async () => (await stored(id)).nodes.length).toBe(2);
  });

  it.each(THEMES)("offers what can follow a node, with visible icons (%s)", async (colorScheme) => {
    const page = await open(await newLine(`Library ${colorScheme}`), { colorScheme });
    await page.getByRole("button", { name: "Add a node" }).click();
    const library = page.getByRole("dialog", { name: "Add a node" });
    const icon = library.getByRole("option", { name: /^MCP tool/ }).locator(".node-icon");
    const colors = await icon.evaluate((each) =>
      [each, each.firstElementChild ?? each].map((one) => getComputedStyle(one).color),
    );
    expect(colors[1]).toBe(colors[0]);
    const colorOf = (text: Locator) => text.evaluate((each) => getComputedStyle(each).color);
    expect(await colorOf(library.getByText("MCP tool", { exact: true }))).toBe(
      await colorOf(library.getByRole("heading", { name: "Add a node" })),
    );
    await page.keyboard.press("Escape");

    await clickTile(page, "Fetch");
    await page.keyboard.press("n");
    const after = page.getByRole("dialog", { name: "Add a node after Fetch" });
    await after.getByText("A trigger cannot follow a node").waitFor();
    await after.getByPlaceholder("Search the node types").fill("mcp server");
    await after.getByText("Nothing matches “mcp server”.").waitFor();
  });

  it("has a map, and finds nodes by name and parameters", async () => {
    const id = await newLine("Find");
    const page = await open(id);
    await page.getByRole("img", { name: "Map of the flow" }).waitFor();
    await expect.poll(() => page.locator(".react-flow__minimap-node").count()).toBe(3);
    await page.keyboard.press("Control+f");
    const find = page.getByRole("dialog", { name: "Find a node" });
    await find.getByPlaceholder("Names and parameters").fill("/issue");
    await expect.poll(() => find.getByRole("option").count()).toBe(1);
    await page.keyboard.press("Enter");
    await panel(page, "Fetch").waitFor();
    await page.keyboard.press("Control+f");
    await find.getByPlaceholder("Names and parameters").fill("no such thing");
    await find.getByText("Nothing matches “no such thing”.").waitFor();
  });

  it("lays out nodes that share one spot without saving it, and tidies on demand", async () => {
    const id = await newFlow(
      "Heap",
      [
        { id: "a", type: "Schedule", name: "Daily", parameters: { cron: "0 9 * * *" } },
        { id: "b", type: "Return", name: "End" },
      ],
      [edge("a", "b")],
    );
    const page = await open(id);
    const x = async (name: string) => (await tile(page, name).boundingBox())?.x ?? 0;
    await expect.poll(async () => (await x("Daily")) < (await x("End")) - 100).toBe(true);
    expect((await stored(id)).revision).toBe(1);
    await atRest(page);
    await drag(page, tile(page, "End"), { x: 30, y: 160 });
    await expect.poll(async () => (await stored(id)).revision).toBe(2);
    const moved = await graph(id);
    await page.keyboard.press("Escape");
    await page.keyboard.press("t");
    await expect.poll(() => graph(id)).not.toEqual(moved);
  });

  it("keeps its bars and its map apart, also beside the panel, which can be closed", async () => {
    const id = await newLine("Bars");
    const page = await open(id);
    await clickTile(page, "Fetch");
    await panel(page, "Fetch").waitFor();
    for (const width of [1440, 1280, 1100]) {
      await page.setViewportSize({ width, height: 900 });
      await atRest(page);
      const boxes = await page
        .locator(".float-bar, .react-flow__minimap")
        .evaluateAll((found) => found.map((each) => each.getBoundingClientRect().toJSON()));
      expect(boxes).toHaveLength(3);
      const overlapping = boxes.flatMap((one, nth) =>
        boxes
          .slice(nth + 1)
          .filter(
            (other) =>
              one.left < other.right &&
              other.left < one.right &&
              one.top < other.bottom &&
              other.top < one.bottom,
          ),
      );
      expect(overlapping, `${width} px`).toEqual([]);
    }
    await panel(page, "Fetch").getByRole("button", { name: "Close the panel" }).click();
    await expect.poll(() => panel(page, "Fetch").count()).toBe(0);
    await page.getByRole("button", { name: "Edit" }).click();
    await panel(page, "Fetch").waitFor();
  });

  it("lights the route that a trigger reaches, and nothing else", async () => {
    const page = await open(await idOf("Issue triage"));
    const lit = () => page.locator(".node-tile.lit .node-name b").allTextContents();
    await tile(page, "Triage issue").hover();
    await expect
      .poll(lit)
      .toEqual([
        "Triage issue",
        "Fetch the issue",
        "Is it a bug?",
        "Add the label",
        "Word a kind reply",
        "Answer",
      ]);
    await expect.poll(() => page.locator(".edge-track.route").count()).toBe(6);
    await tile(page, "Answer").hover();
    await expect.poll(lit).toEqual([]);
    await tile(page, "Issue opened").focus();
    await expect.poll(lit).toContain("Issue opened");
  });

  it("teaches how an empty flow begins", async () => {
    const id = await newFlow("Empty");
    const page = await open(id);
    await page.getByRole("heading", { name: "This flow has no nodes yet" }).waitFor();
    const warning = page.getByRole("button", { name: /^No triggers/ });
    await warning.focus();
    expect(await warning.locator("svg.lucide-triangle-alert").count()).toBe(1);
    await expect
      .poll(() => page.getByRole("tooltip").textContent())
      .toBe("This flow has no trigger nodes and cannot be executed via MCP.");
    await page.getByRole("main").getByRole("button", { name: "MCP tool" }).click();
    await tile(page, "MCP tool").getByText("mcp_tool").waitFor();
    await expect.poll(async () => (await stored(id)).nodes.length).toBe(1);
    await expect.poll(() => warning.count()).toBe(0);
  });

  it("shows problems on the node, and lists them before publishing", async () => {
    const id = await newFlow(
      "Problems",
      [
        intent("Nowhere"),
        intent("Start", 300),
        node("shape", "Transform", "Shape", 400, 300, { expression: "$sum(items.(1)" }),
        node("end", "Return", "End", 700, 300, { value: "{{ gone.x }}" }),
        node("orphan", "Return", "Orphan", 700, 500),
      ],
      [edge("Start", "shape"), edge("shape", "end")],
    );
    const page = await open(id);
    const { errors, warnings } = await stored(id);
    for (const { nodeId, message } of [...errors, ...warnings] as Record<string, string>[]) {
      const at = page.locator(`.react-flow__node[data-id="${nodeId}"]`).getByRole("note");
      expect(await at.locator("[title]").getAttribute("title"), message).toContain(message);
    }
    for (const name of ["Nowhere", "Shape", "End", "Orphan"])
      await tile(page, name).getByRole("note").waitFor();
    await page.getByRole("button", { name: "Publish v1" }).click();
    const dialog = page.getByRole("dialog", { name: "Publish v1" });
    const must = dialog.getByRole("region", { name: "Must be fixed first" });
    await expect.poll(() => must.getByRole("listitem").count()).toBe(errors.length);
    expect(await dialog.getByRole("button", { name: "Publish", exact: true }).isDisabled()).toBe(
      true,
    );
    await must.getByRole("button", { name: /unknown node gone/ }).click();
    await panel(page, "End").waitFor();
  });
});

describe("autosave", () => {
  it("never writes before the flow has loaded, and shows why it has not", async () => {
    const id = await newLine("Slow load");
    const page = await ui.open("/flows");
    const writes: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "PUT") writes.push(request.url());
    });
    await intercept(page, `**/api/flows/${id}`, (route) =>
      route.fulfill({
        status: 503,
        contentType: "application/problem+json",
        body: JSON.stringify({
          title: "Storage is unavailable",
          detail: "The database does not respond.",
          code: "storage_unavailable",
        }),
      }),
    );
    await page.goto(`${ui.url()}/flows/${id}`);
    await page.getByText("The database does not respond.").waitFor();
    for (const key of ["n", "Delete", "Control+z", "t"]) await page.keyboard.press(key);
    await page.unroute(`**/api/flows/${id}`);
    await page.getByRole("button", { name: "Try again" }).click();
    await tile(page, "Fetch").waitFor();
    await page.getByRole("link", { name: "Inbox" }).click();
    await page.waitForURL("**/inbox");
    expect(writes).toEqual([]);
    expect((await stored(id)).revision).toBe(1);
  });

  it("does not save an empty flow over a full one without being told", async () => {
    const id = await newFlow("Emptied", [node("end", "Return", "End", 100, 100)]);
    const page = await open(id);
    await clickTile(page, "End");
    await page.keyboard.press("Delete");
    await page.getByText("The flow is empty now.").waitFor();
    expect((await stored(id)).nodes).toHaveLength(1);
    await page.getByRole("alert").getByRole("button", { name: "Undo" }).click();
    await clickTile(page, "End");
    await page.keyboard.press("Delete");
    await page.getByRole("button", { name: "Save it empty" }).click();
    await expect.poll(async () => (await stored(id)).nodes).toEqual([]);
    await page.keyboard.press("Control+z");
    await expect.poll(async () => (await stored(id)).nodes.length).toBe(1);
  });

  it("tries again while the hub cannot be reached, and says what the hub rejects", async () => {
    const id = await newLine("Outage");
    const page = await open(id);
    const target = `**/api/flows/${id}`;
    await intercept(page, target, (route) =>
      route.request().method() === "PUT" ? route.abort() : route.continue(),
    );
    const name = page.getByRole("textbox", { name: "Name of the flow" });
    await name.fill("Through the outage");
    await name.press("Enter");
    await page.getByText("Not saved yet, trying again").waitFor();
    await page.keyboard.press("p");
    await page.getByRole("dialog").getByRole("button", { name: "Publish", exact: true }).click();
    await page.getByText("The draft is not saved").waitFor();
    await page.keyboard.press("Escape");
    await page.unroute(target);
    await expect.poll(async () => (await stored(id)).name).toBe("Through the outage");
    expect((await stored(id)).version).toBeNull();
    await page.getByText(/^Saved /).waitFor();

    await intercept(page, target, (route) =>
      route.request().method() === "PUT"
        ? route.fulfill({
            status: 400,
            contentType: "application/problem+json",
            body: JSON.stringify({
              title: "Invalid request",
              detail: "name: is odd",
              code: "invalid",
            }),
          })
        : route.continue(),
    );
    await name.fill("Odd");
    await name.press("Enter");
    await page.getByRole("alert").getByText("name: is odd").waitFor();
    await page.unroute(target);
    await name.fill("Fine");
    await name.press("Enter");
    await expect.poll(async () => (await stored(id)).name).toBe("Fine");
  });
});

describe("versions", () => {
  it("compares the draft with what is published, also what was removed", async () => {
    const id = await newLine("Compared");
    await publishStored(id);
    const page = await open(id);
    await clickTile(page, "Fetch");
    await panel(page, "Fetch").getByRole("textbox", { name: /^Url/ }).fill("https://example.com/2");
    await page.getByRole("button", { name: "1 change since v1" }).waitFor();
    await clickTile(page, "End");
    await page.keyboard.press("Delete");
    await page.keyboard.press("Escape");
    await addNode(page, "Merge");
    await page.getByRole("button", { name: "4 changes since v1" }).click();
    await tile(page, "Fetch").getByText("changed", { exact: true }).waitFor();
    await tile(page, "Merge").getByText("added", { exact: true }).waitFor();
    await tile(page, "End").getByText("removed", { exact: true }).waitFor();
    await expect.poll(() => page.locator(".edge-track.gone").count()).toBe(1);
    await page.getByRole("button", { name: "Publish v2" }).click();
    const changes = page.getByRole("dialog").getByRole("region", { name: "Changes" });
    const texts = (await changes.getByRole("listitem").allInnerTexts()).map((text) =>
      text.replaceAll(/\s+/g, " ").trim(),
    );
    expect(texts).toEqual([
      "changed Fetch url",
      "added Merge",
      "removed End",
      "removed Fetch → End",
    ]);
  });

  it("publishes with a note, and rolls back with a way back", async () => {
    const id = await newLine("Versions");
    const page = await open(id);
    await publish(page, 1, "First of all");
    await clickTile(page, "Fetch");
    const url = panel(page, "Fetch").getByRole("textbox", { name: /^Url/ });
    await url.fill("https://example.com/draft");
    await page.getByRole("button", { name: "1 change since v1" }).waitFor();
    await publish(page, 2);
    await page.getByRole("button", { name: "Versions" }).click();
    const versions = page.getByRole("dialog", { name: "Versions" });
    const first = versions.getByRole("listitem").filter({ hasText: "First of all" });
    await versions.getByText("published", { exact: true }).waitFor();
    await first.getByRole("button", { name: "Edit from here" }).click();
    await expect.poll(() => url.inputValue()).toBe(`${outside}/issue`);
    await expect.poll(async () => (await stored(id)).draft).toBe("changed");
    expect((await stored(id)).version).toBe(2);
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => url.inputValue()).toBe("https://example.com/draft");
    await page.getByRole("button", { name: "Versions" }).click();
    await first.getByRole("button", { name: "Roll back" }).click();
    await page.getByText("Published v1 again, as v3").waitFor();
    expect((await stored(id)).version).toBe(3);
    await expect.poll(() => url.inputValue()).toBe(`${outside}/issue`);
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => url.inputValue()).toBe("https://example.com/draft");
    await page.getByRole("button", { name: "1 change since v3" }).waitFor();

    // Without a change there is nothing to publish.
    await page.getByRole("button", { name: "Redo" }).click();
    await page.getByRole("button", { name: "Publish v4" }).click();
    await page.getByRole("dialog").getByText("Nothing has changed.").waitFor();
    const again = page.getByRole("dialog").getByRole("button", { name: "Publish", exact: true });
    expect(await again.isDisabled()).toBe(true);
  });
});

describe("runs of the draft", () => {
  it("run live from a trigger, show each step, and take the input of a past run", async () => {
    const id = await newFlow(
      "Run it",
      [
        intent("Ask", 100, { parameters: [{ name: "who", type: "string" }] }),
        node("fetch", "HttpRequest", "Fetch", 400, 100, { url: `${outside}/issue` }),
        node("slow", "HttpRequest", "Slow", 700, 100, {
          url: `${outside}/slow`,
          timeoutMs: 300_000,
        }),
        node("end", "Return", "End", 1000, 100, { value: "{{ trigger.who }}" }),
      ],
      [edge("Ask", "fetch"), edge("fetch", "slow"), edge("slow", "end")],
    );
    const page = await open(id);
    await page.keyboard.press("r");
    const dialog = page.getByRole("dialog", { name: "Run the draft" });
    const input = dialog.getByRole("textbox", { name: "Input" });
    expect(JSON.parse(await input.inputValue())).toEqual({ who: "" });
    await input.fill('{ "who": ');
    await dialog.getByRole("alert").waitFor();
    await input.fill('{ "who": "Ada" }');
    await dialog.getByRole("button", { name: "Run" }).click();
    await tile(page, "Fetch").getByRole("img", { name: "done" }).waitFor();
    await tile(page, "Slow").getByRole("img", { name: "under way" }).waitFor();
    await expect.poll(() => page.locator(".edge-track.done").count()).toBe(1);
    await expect.poll(() => page.locator(".edge-track.run").count()).toBe(1);
    await dock(page)
      .getByRole("button", { name: /^Fetch/ })
      .click();
    await dock(page).getByRole("tab", { name: "Output" }).click();
    await dock(page).getByRole("tree", { name: "Output" }).getByText("labels").waitFor();
    // The focus is in the run, so the key does not mean the node.
    await page.keyboard.press("Delete");
    expect(await page.locator(".react-flow__node").count()).toBe(4);
    await dock(page).getByRole("button", { name: "Cancel" }).click();
    await dock(page).getByText("cancelled").first().waitFor();

    await page.keyboard.press("r");
    await input.waitFor();
    await input.fill("{}");
    const past = dialog.getByRole("combobox", { name: "Past run" });
    await past.selectOption({ index: 1 });
    await expect.poll(async () => JSON.parse(await input.inputValue())).toEqual({ who: "Ada" });
  });

  it("run with a sample event that the trigger matches, or with one that has arrived", async () => {
    await deliver(ui.url());
    const listen = (action: string) => ({ source: "github", type: "issues", params: { action } });
    const id = await newFlow(
      "Events",
      [
        node("opened", "Event", "Opened", 100, 100, listen("opened")),
        node("closed", "Event", "Closed", 100, 300, listen("closed")),
        node("end", "Return", "End", 400, 100, { value: "{{ trigger.data.action }}" }),
      ],
      [edge("opened", "end"), edge("closed", "end")],
    );
    const page = await open(id);
    const dialog = page.getByRole("dialog", { name: "Run the draft" });
    const from = dialog.getByRole("combobox", { name: "Trigger" });
    const event = dialog.getByRole("combobox", { name: "Event" });
    const input = dialog.getByRole("textbox", { name: "Input" });
    const runFrom = async (name: string, choose?: () => Promise<unknown>) => {
      await page.keyboard.press("r");
      await from.selectOption({ label: name });
      await choose?.();
      await dialog.getByRole("button", { name: "Run" }).click();
      await dock(page).getByText(`Run started by “${name}”`).waitFor();
      await dock(page).getByText("done", { exact: true }).first().waitFor();
    };
    const output = () => dock(page).getByRole("tabpanel").textContent();
    await runFrom("Closed", async () =>
      expect(JSON.parse(await input.inputValue())).toEqual({
        source: "github",
        type: "issues",
        data: { action: "closed" },
      }),
    );
    await clickTile(page, "End");
    await dock(page).getByRole("tab", { name: "Output" }).click();
    await expect.poll(output).toContain("closed");
    await runFrom("Opened", () => event.selectOption({ index: 1 }));
    await expect.poll(output).toContain("opened");
    // The event of one trigger is not proposed for another one.
    await page.keyboard.press("r");
    await from.selectOption({ label: "Opened" });
    await expect.poll(() => event.inputValue()).not.toBe("");
    await from.selectOption({ label: "Closed" });
    await expect.poll(() => event.inputValue()).toBe("");
  });

  it("show why a step failed, and the wait before it is tried again", async () => {
    const id = await newFlow(
      "Fails",
      [
        intent("Ask"),
        node("call", "HttpRequest", "Call", 400, 100, {
          url: `${outside}/broken`,
          settings: { retries: { attempts: 2, backoffMs: 2_000 } },
        }),
      ],
      [edge("Ask", "call")],
    );
    const page = await open(id);
    await page.keyboard.press("r");
    await page.getByRole("dialog").getByRole("button", { name: "Run" }).click();
    await dock(page).getByText("waits before attempt 2").waitFor();
    await tile(page, "Call").getByRole("img", { name: "failed" }).waitFor();
    await dock(page).getByText("failed", { exact: true }).first().waitFor();
    await clickTile(page, "Call");
    await dock(page).getByRole("tab", { name: "Error" }).click();
    await dock(page).getByRole("tabpanel").getByText(/502/).first().waitFor();
    await dock(page)
      .getByRole("tab", { name: /^Attempts/ })
      .click();
    await dock(page).getByRole("tabpanel").getByText("2nd attempt").waitFor();
  });

  it("test one step with the data of a past run, and use pinned data instead of a call", async () => {
    const id = await newFlow(
      "Pins",
      [
        intent("Ask"),
        node("call", "HttpRequest", "Call", 400, 100, { url: `${outside}/broken` }),
        node("end", "Return", "End", 700, 100, { value: "{{ call.body.answer }}" }),
      ],
      [edge("Ask", "call"), edge("call", "end")],
    );
    const page = await open(id);
    await clickTile(page, "End");
    await panel(page, "End").getByRole("button", { name: "Test this step" }).click();
    // In the words of the hub: nothing is known of the node before it.
    await page.getByText(/give the output of Call/).waitFor();
    await page.getByRole("button", { name: "Dismiss" }).click();

    await clickTile(page, "Call");
    await panel(page, "Call").getByRole("button", { name: "Pin data" }).click();
    const pinned = panel(page, "Call").getByRole("textbox", { name: "Pinned output" });
    await setCode(page, pinned, '{ "body": { "answer": ');
    await panel(page, "Call")
      .getByText(/^Not pinned yet/)
      .waitFor();
    await setCode(page, pinned, '{ "body": { "answer": 42 } }');
    await tile(page, "Call").getByLabel("its output is pinned").waitFor();
    await page.keyboard.press("Escape");
    await clickTile(page, "End");
    await panel(page, "End").getByRole("button", { name: "Test this step" }).click();
    await dock(page).getByRole("tab", { name: "Output" }).click();
    await dock(page).getByRole("tabpanel").getByText("42").first().waitFor();

    await page.reload();
    await tile(page, "Call").getByLabel("its output is pinned").waitFor();
    await page.keyboard.press("r");
    await page.getByRole("dialog").getByRole("button", { name: "Run" }).click();
    await dock(page).getByText("done", { exact: true }).first().waitFor();
    await clickTile(page, "Call");
    await pinned.and(page.locator(".cm-content")).waitFor();
    await panel(page, "Call").getByRole("button", { name: "Unpin" }).click();
    await expect.poll(() => tile(page, "Call").getByLabel("its output is pinned").count()).toBe(0);
    await dock(page).getByRole("button", { name: "Run again" }).click();
    await dock(page).getByText("failed", { exact: true }).first().waitFor();
  });
});

describe.each(THEMES)("in the theme %s", (colorScheme) => {
  it("has no serious barrier: the desk, the panel, the comparison, the dialogs, a run", async () => {
    const id = await newLine(`Barriers ${colorScheme}`);
    await publishStored(id);
    const page = await open(id, { colorScheme, reducedMotion: "reduce" });
    const background = await page
      .locator(".desk")
      .evaluate((desk) => getComputedStyle(desk).backgroundColor);
    const [red = 255] = background.match(/[\d.]+/g)?.map(Number) ?? [];
    expect(red < 100, background).toBe(colorScheme === "dark");
    expect(await findBarriers(page), "the desk").toEqual([]);
    await clickTile(page, "Fetch");
    await panel(page, "Fetch").getByRole("textbox", { name: /^Url/ }).fill("{{ gone }}");
    await page.getByRole("button", { name: "1 change since v1" }).click();
    await tile(page, "Fetch").getByRole("note").waitFor();
    expect(await findBarriers(page), "the panel and the comparison").toEqual([]);
    for (const [key, name] of [
      ["n", "Add a node after Fetch"],
      ["Control+f", "Find a node"],
      ["c", "Connect Fetch to"],
      ["r", "Run the draft"],
      ["p", "Publish v2"],
    ] as const) {
      await tile(page, "Fetch").focus();
      await page.keyboard.press(key);
      await page.getByRole("dialog", { name }).waitFor();
      expect(await findBarriers(page), name).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    await page.keyboard.press("Control+z");
    await page.keyboard.press("r");
    await page.getByRole("dialog").getByRole("button", { name: "Run" }).click();
    await dock(page).getByText("done", { exact: true }).first().waitFor();
    expect(await findBarriers(page), "a run").toEqual([]);
  });
});
