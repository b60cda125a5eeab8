/** The loading, error and empty states of every list, hostile names on every page, and reduced motion. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { deliver } from "../support/deliver.ts";
import { serveSdk2 } from "../support/mcp-servers.ts";
import { startExternalApi } from "./support/sample-hub.ts";
import { findAccessibilityViolations, THEMES, useUi } from "./support/ui.ts";

const ui = useUi();
let eventId = "";
let connectionId = "";

beforeAll(async () => {
  await deliver(ui.url());
  const { json } = await ui.call("GET", "/api/events");
  eventId = json.items[0].id;
  // The connection fails, because no server listens on this port.
  const added = await ui.call("POST", "/api/connections", {
    name: "Down",
    url: "http://127.0.0.1:9/mcp",
  });
  connectionId = added.json.id;
});

interface List {
  name: string;
  path: string | (() => string);
  /** Matches the URLs of the requests that load the list. */
  requests: RegExp;
  /** The heading or sentence of the empty list. */
  empty: string;
  /** The tab that contains the list. */
  tab?: string;
  /** The response without items, if it is not an empty page. */
  emptyResponse?: unknown;
}

const eventPath = () => `/inbox/${eventId}?view=all`;
const EMPTY_PAGE = { items: [], next_cursor: null };
const ERROR_DETAIL = "The store is being moved. Try again in a minute.";

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
    path: eventPath,
    tab: "Why",
    requests: /\/explain/,
    empty: "No published flow listens to events",
  },
  {
    name: "runs of an event",
    path: eventPath,
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

/** Holds back the responses to requests until `fail`. Then they are errors, and after `succeed` empty lists. */
function controlResponses(requests: RegExp, emptyResponse: unknown) {
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
                body: JSON.stringify({ title: "Not now", detail: ERROR_DETAIL, code: "moved" }),
              }
            : { status: 200, contentType: "application/json", body: JSON.stringify(emptyResponse) },
        );
      }),
    fail: () => released.resolve(),
    succeed: () => {
      isFailing = false;
    },
  };
}

describe("the list of", () => {
  it.each(LISTS)(
    "$name shows that it loads, the message of the hub if that fails, and a hint if it is empty",
    async (list) => {
      const { path, requests, empty, tab, emptyResponse = EMPTY_PAGE } = list;
      const responses = controlResponses(requests, emptyResponse);
      const page = await ui.open(typeof path === "string" ? path : path(), {
        prepare: responses.hold,
      });
      if (tab) await page.getByRole("tab", { name: tab }).click();
      const container = tab ? page.getByRole("tabpanel") : page.getByRole("main");
      await page.getByRole("heading", { level: 1 }).waitFor();
      await container.getByRole("status", { name: "Loading" }).first().waitFor();
      responses.fail();
      await container.getByRole("alert").getByText(ERROR_DETAIL).waitFor();
      // Requests succeed only after the click. Otherwise a list that reloads by itself would remove the button.
      await page.exposeFunction("onDocumentClick", responses.succeed);
      await page.evaluate("document.addEventListener('click', () => onDocumentClick(), true)");
      await container.getByRole("button", { name: "Try again" }).click();
      await container.getByText(empty).waitFor();
      expect(await container.getByText(ERROR_DETAIL).count()).toBe(0);
    },
  );
});

it.each(THEMES)(
  "a list that loads, has failed or is empty has no serious accessibility violation in the %s theme",
  async (colorScheme) => {
    const responses = controlResponses(/\/api\/events\?/, EMPTY_PAGE);
    const page = await ui.open("/inbox?view=all", {
      colorScheme,
      reducedMotion: "reduce",
      prepare: responses.hold,
    });
    await page.getByRole("status", { name: "Loading" }).first().waitFor();
    expect(await findAccessibilityViolations(page, { isLoading: true }), "loading").toEqual([]);
    responses.fail();
    await page.getByRole("alert").getByText(ERROR_DETAIL).waitFor();
    expect(await findAccessibilityViolations(page), "failed").toEqual([]);
    responses.succeed();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("heading", { name: "No event has arrived yet" }).waitFor();
    expect(await findAccessibilityViolations(page), "empty").toEqual([]);
  },
);

const LONG_WORD = "W".repeat(10_000);
const MARKUP = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
const RIGHT_TO_LEFT = "\u202Eمرحبا بالعالم";

/** Returns a name of the maximum length, with markup and right-to-left text. */
const hostileName = (max: number) => `${MARKUP}${RIGHT_TO_LEFT}${LONG_WORD}`.slice(0, max);

async function createHostileData(): Promise<{ flow: string; run: string; connection: string }> {
  const server = await serveSdk2(
    { forecast: () => ({}) },
    { definitions: [{ name: "forecast", description: `${MARKUP} ${LONG_WORD.slice(0, 2_000)}` }] },
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
    description: `${MARKUP} ${RIGHT_TO_LEFT} ${LONG_WORD.slice(0, 1_000)}`,
    nodes: [
      {
        id: "ask",
        type: "UserIntent",
        name: hostileName(200),
        position: { x: 0, y: 0 },
        parameters: {
          toolName: "ask",
          toolDescription: `${MARKUP} ${LONG_WORD.slice(0, 500)}`,
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
    input: { text: `${MARKUP} ${RIGHT_TO_LEFT} ${LONG_WORD}` },
  });
  return { flow: flow.id, run: run.id, connection: connection.id };
}

it("shows hostile names and errors as text on every page, without breaking the layout", async () => {
  const { flow, run, connection } = await createHostileData();
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

  const isOverflowing = (role: "dialog" | "region", name?: string) =>
    page
      .getByRole(role, { ...(name && { name }) })
      .evaluate((element) => element.scrollWidth > element.clientWidth);
  await page.keyboard.press("Control+k");
  await page.getByRole("option").filter({ hasText: "onerror" }).first().waitFor();
  expect(await isOverflowing("dialog"), "palette").toBe(false);
  await page.goto(`${ui.url()}/settings`);
  const row = page.getByRole("listitem").filter({ hasText: "onerror" });
  await row.getByRole("button", { name: /^Revoke/ }).click();
  expect(await isOverflowing("dialog"), "revoke a token").toBe(false);
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText(/was revoked$/).waitFor();
  expect(await isOverflowing("region", "Messages"), "message").toBe(false);
});

describe("an active run in the list", () => {
  const countAnimations = (page: Page) =>
    page.evaluate(
      () => document.getAnimations().filter(({ playState }) => playState === "running").length,
    );

  it.each([
    ["is animated", "no-preference", true],
    ["is not animated", "reduce", false],
  ] as const)("%s with prefers-reduced-motion: %s", async (_, reducedMotion, isAnimated) => {
    const externalApi = await startExternalApi();
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
          parameters: { url: `${externalApi.url}/slow`, timeoutMs: 300_000 },
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
    if (isAnimated) await expect.poll(() => countAnimations(page)).toBeGreaterThan(0);
    else expect(await countAnimations(page)).toBe(0);
    await ui.call("POST", `/api/runs/${run.id}/cancel`);
    externalApi.stop();
  });
});
