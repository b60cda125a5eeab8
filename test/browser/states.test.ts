/** What every list shows while it loads, if it cannot load, and if it is empty; and hostile names. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { deliver } from "../support/deliver.ts";
import { serveSdk2 } from "../support/mcp-servers.ts";
import { startOutside } from "./support/sample-desk.ts";
import { findBarriers, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();
let eventId = "";
let connectionId = "";

beforeAll(async () => {
  await deliver(ui.url());
  const { json } = await ui.call("GET", "/api/events");
  eventId = json.items[0].id;
  // It does not respond: nothing listens at this port.
  const added = await ui.call("POST", "/api/connections", {
    name: "Down",
    url: "http://127.0.0.1:9/mcp",
  });
  connectionId = added.json.id;
});

interface List {
  name: string;
  path: string | (() => string);
  requests: RegExp;
  /** The heading or sentence of the empty list. */
  empty: string;
  /** The tab that shows it. */
  tab?: string;
  /** The empty response, if it is not an empty page. */
  nothing?: unknown;
}

const ofEvent = () => `/inbox/${eventId}?view=all`;
const NONE = { items: [], next_cursor: null };
const WORDS = "The store is being moved. Try again in a minute.";

const LISTS: readonly List[] = [
  {
    name: "events",
    path: "/inbox?view=all",
    requests: /\/api\/events\?/,
    empty: "No event has arrived yet",
  },
  { name: "flows", path: "/flows", requests: /\/api\/flows\?/, empty: "No flow yet" },
  { name: "runs", path: "/runs", requests: /\/api\/runs\?/, empty: "Nothing has run yet" },
  {
    name: "connections",
    path: "/connections",
    requests: /\/api\/connections\?/,
    empty: "No MCP server yet",
  },
  {
    name: "sources",
    path: "/sources",
    requests: /\/api\/sources$/,
    empty: "No endpoint with a key yet",
  },
  {
    name: "rejected webhooks",
    path: "/sources",
    requests: /\/api\/refusals$/,
    empty: "None since the hub started.",
  },
  { name: "tokens", path: "/settings", requests: /\/api\/tokens\?/, empty: "No token yet" },
  {
    name: "secrets",
    path: "/settings/secrets",
    requests: /\/api\/secrets$/,
    empty: "No secret yet",
  },
  {
    name: "settings",
    path: "/settings/settings",
    requests: /\/api\/settings$/,
    empty: "No setting matches this text.",
  },
  {
    name: "triggers that were considered",
    path: ofEvent,
    tab: "Why",
    requests: /\/explain/,
    empty: "No published flow listens to events",
  },
  {
    name: "runs of an event",
    path: ofEvent,
    tab: "Runs",
    requests: /\/api\/runs\?.*event=/,
    empty: "This event has started no run",
  },
  {
    name: "flows that use a connection",
    path: () => `/connections/${connectionId}`,
    tab: "Used by",
    requests: /\/subscriptions$/,
    empty: "No flow listens to this server",
  },
];

/** Delays the responses to some requests until the test calls `fail`. They are errors until it calls `answer`. */
function control(requests: RegExp, nothing: unknown) {
  let isFailing = true;
  const released = Promise.withResolvers<void>();
  return {
    hold: (page: Page) =>
      page.route(requests, async (route) => {
        await released.promise;
        await route.fulfill(
          isFailing
            ? {
                status: 409,
                contentType: "application/problem+json",
                body: JSON.stringify({ title: "Not now", detail: WORDS, code: "moved" }),
              }
            : { status: 200, contentType: "application/json", body: JSON.stringify(nothing) },
        );
      }),
    fail: () => released.resolve(),
    answer: () => {
      isFailing = false;
    },
  };
}

describe("the list of", () => {
  it.each(LISTS)("$name loads, fails in the hub's words, and teaches when empty", async (list) => {
    const { path, requests, empty, tab, nothing = NONE } = list;
    const responses = control(requests, nothing);
    const page = await ui.open(typeof path === "string" ? path : path(), {
      prepare: responses.hold,
    });
    if (tab) await page.getByRole("tab", { name: tab }).click();
    const place = tab ? page.getByRole("tabpanel") : page.getByRole("main");
    await page.getByRole("heading", { level: 1 }).waitFor();
    await place.getByRole("status", { name: "Loading" }).first().waitFor();
    responses.fail();
    await place.getByRole("alert").getByText(WORDS).waitFor();
    // Requests succeed after the click, not before: a list that reloads without it has no button.
    await page.exposeFunction("onDocumentClick", responses.answer);
    await page.evaluate("document.addEventListener('click', () => onDocumentClick(), true)");
    await place.getByRole("button", { name: "Try again" }).click();
    await place.getByText(empty).waitFor();
    expect(await place.getByText(WORDS).count()).toBe(0);
  });
});

it.each(THEMES)("loading, failure and emptiness have no barrier (%s)", async (colorScheme) => {
  const responses = control(/\/api\/events\?/, NONE);
  const page = await ui.open("/inbox?view=all", {
    colorScheme,
    reducedMotion: "reduce",
    prepare: responses.hold,
  });
  await page.getByRole("status", { name: "Loading" }).first().waitFor();
  expect(await findBarriers(page, { isLoading: true }), "loading").toEqual([]);
  responses.fail();
  await page.getByRole("alert").getByText(WORDS).waitFor();
  expect(await findBarriers(page), "failed").toEqual([]);
  responses.answer();
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "No event has arrived yet" }).waitFor();
  expect(await findBarriers(page), "empty").toEqual([]);
});

const WORD = "W".repeat(10_000);
const MARKUP = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
const RIGHT_TO_LEFT = "\u202Eمرحبا بالعالم";

/** A name as long as names may be, with markup and text that runs the other way. */
const hostileName = (max: number) => `${MARKUP}${RIGHT_TO_LEFT}${WORD}`.slice(0, max);

async function setUpHostileDesk(): Promise<{ flow: string; run: string; connection: string }> {
  const server = await serveSdk2(
    { forecast: () => ({}) },
    { definitions: [{ name: "forecast", description: `${MARKUP} ${WORD.slice(0, 2_000)}` }] },
  );
  const { json: connection } = await ui.call("POST", "/api/connections", {
    name: hostileName(200),
    url: server.url,
  });
  await ui.call("POST", "/api/sources", { kind: "generic", name: hostileName(200) });
  await ui.call("POST", "/api/tokens", { name: hostileName(200) });
  await ui.call("POST", "/api/apps", { slug: "hostile", name: hostileName(200) });
  const { json: flow } = await ui.call("POST", "/api/apps/hostile/flows", {
    name: hostileName(200),
    description: `${MARKUP} ${RIGHT_TO_LEFT} ${WORD.slice(0, 1_000)}`,
    nodes: [
      {
        id: "ask",
        type: "UserIntent",
        name: hostileName(200),
        position: { x: 0, y: 0 },
        parameters: {
          toolName: "ask",
          toolDescription: `${MARKUP} ${WORD.slice(0, 500)}`,
          parameters: [{ name: "text", type: "string" }],
        },
      },
      {
        id: "fail",
        type: "Code",
        name: hostileName(190),
        position: { x: 300, y: 0 },
        parameters: { code: "throw new Error(trigger.text)" },
      },
    ],
    edges: [{ source: "ask", target: "fail" }],
  });
  await ui.call("POST", `/api/flows/${flow.id}/publish`, { note: MARKUP });
  const { json: run } = await ui.call("POST", `/api/flows/${flow.id}/runs?wait=1`, {
    trigger: "ask",
    input: { text: `${MARKUP} ${RIGHT_TO_LEFT} ${WORD}` },
  });
  return { flow: flow.id, run: run.id, connection: connection.id };
}

it("shows hostile names and errors as text on every page, without breaking the layout", async () => {
  const { flow, run, connection } = await setUpHostileDesk();
  const page = await ui.open();
  for (const path of [
    "/inbox?view=all",
    "/flows",
    `/flows/${flow}`,
    "/runs",
    `/runs/${run}`,
    `/connections/${connection}`,
    "/sources",
    "/settings",
    "/connect",
  ]) {
    await page.goto(`${ui.url()}${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    await expect
      .poll(() => page.getByRole("status", { name: "Loading" }).count(), { message: path })
      .toBe(0);
    if (!path.startsWith("/inbox")) await expect.poll(() => page.content()).toContain("WWWW");
    const overflow = await page.evaluate(() =>
      [document.documentElement, ...document.querySelectorAll("main, main aside")].map(
        (element) => element.scrollWidth - element.clientWidth,
      ),
    );
    expect(Math.max(...overflow), `${path} is wider than the window`).toBeLessThanOrEqual(0);
    expect(await page.locator("img[src=x], main script").count(), path).toBe(0);
    expect(await page.title(), path).not.toBe("owned");
  }

  const isWide = (role: "dialog" | "region", name?: string) =>
    page
      .getByRole(role, { ...(name && { name }) })
      .evaluate((element) => element.scrollWidth > element.clientWidth);
  await page.keyboard.press("Control+k");
  await page.getByRole("option").filter({ hasText: "onerror" }).first().waitFor();
  expect(await isWide("dialog"), "palette").toBe(false);
  await page.goto(`${ui.url()}/settings`);
  const row = page.getByRole("listitem").filter({ hasText: "onerror" });
  await row.getByRole("button", { name: /^Revoke/ }).click();
  expect(await isWide("dialog"), "revoke a token").toBe(false);
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText(/was revoked$/).waitFor();
  expect(await isWide("region", "Messages"), "message").toBe(false);
});

describe("motion", () => {
  const animations = (page: Page) =>
    page.evaluate(
      () => document.getAnimations().filter(({ playState }) => playState === "running").length,
    );

  it.each([
    ["no-preference", true],
    ["reduce", false],
  ] as const)("with the preference %s: %s", async (reducedMotion, isMoving) => {
    const outside = await startOutside();
    const name = `Endless ${reducedMotion}`;
    await ui.call("POST", "/api/apps", { slug: reducedMotion, name });
    const { json: flow } = await ui.call("POST", `/api/apps/${reducedMotion}/flows`, {
      name,
      nodes: [
        { id: "ask", type: "UserIntent", name: "Ask", parameters: { toolDescription: "Asks." } },
        {
          id: "wait",
          type: "HttpRequest",
          name: "Wait",
          parameters: { url: `${outside.url}/slow`, timeoutMs: 300_000 },
        },
      ],
      edges: [{ source: "ask", target: "wait" }],
    });
    await ui.call("POST", `/api/flows/${flow.id}/publish`, {});
    const { json: run } = await ui.call("POST", `/api/flows/${flow.id}/runs`, {
      trigger: "ask",
      input: {},
    });
    const page = await ui.open("/runs", { reducedMotion });
    await page
      .getByRole("region", { name: "Runs" })
      .getByRole("link")
      .filter({ hasText: name })
      .getByRole("img", { name: "under way" })
      .waitFor();
    if (isMoving) await expect.poll(() => animations(page)).toBeGreaterThan(0);
    else expect(await animations(page)).toBe(0);
    await ui.call("POST", `/api/runs/${run.id}/cancel`);
    outside.stop();
  });
});
