/** Bodies with many values, long lists and many errors: each is rejected before it costs much. */
import { expect, it } from "vitest";
import { startApi } from "../support/api-client.ts";
import { probeHealth } from "../support/health-probe.ts";

const repeat = (text: string, count: number) => `[${`${text},`.repeat(count - 1)}${text}]`;
const fields = (count: number) =>
  `{${Array.from({ length: count }, (_, at) => `"k${at}":0`).join(",")}}`;
const node = '{"type":"Code","name":"Step","parameters":{}}';

it("lists of nodes without end are rejected by their length", async () => {
  const api = await startApi();
  await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
  const probe = probeHealth(api.hub, "lists of nodes");
  const flows = "/api/apps/desk/flows";
  const attacks: [string, string, number, RegExp][] = [
    [flows, `{"name":"x","nodes":${repeat("{}", 2_300_000)}}`, 400, /more than 50000 values/],
    [flows, `{"name":"x","nodes":${repeat(node, 5_000)}}`, 400, /nodes: must have at most 500/],
    [`${flows}/import`, `{"name":"x","nodes":${repeat("{}", 200_000)}}`, 400, /50000 values/],
    [`${flows}/import`, `{"name":"x","nodes":${repeat(node, 9_000)}}`, 400, /at most 500 items/],
    [
      "/api/apps/desk/import",
      `{"flows":[{"name":"x","nodes":${repeat(node, 9_000)}}]}`,
      400,
      /at most 500 items/,
    ],
    [
      flows,
      `{"name":"x","nodes":${repeat(`"${"x".repeat(1_000)}"`, 9_000)}}`,
      413,
      /8388608 bytes/,
    ],
  ];
  for (const [path, raw, status, message] of attacks) {
    const { status: got, text } = await api.call("POST", path, undefined, { raw });
    expect([got, text]).toEqual([status, expect.stringMatching(message)]);
  }
  await probe.expectHealthy();
});

it("500 nodes of one name are accepted", async () => {
  const api = await startApi();
  await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
  const probe = probeHealth(api.hub, "500 nodes of one name");
  const raw = `{"name":"x","nodes":${repeat(node, 500)}}`;
  const { json } = await api.expect(201, "POST", "/api/apps/desk/flows", undefined, { raw });
  const slugs = new Set(json.nodes.map(({ slug }: { slug: string }) => slug));
  expect(slugs.size).toBe(500);
  await probe.expectHealthy();
});

it("an answer lists 20 errors and counts the others", async () => {
  const api = await startApi();
  const probe = probeHealth(api.hub, "errors without end");
  const post = (scopes: string) =>
    api.call("POST", "/api/tokens", undefined, { raw: `{"name":"x","scopes":${scopes}}` });
  const large = await post(repeat('"x"', 1_000_000));
  expect([large.status, large.text]).toEqual([413, expect.stringContaining("1048576 bytes")]);
  const many = await post(repeat('"x"', 40_000));
  expect([many.status, many.text]).toEqual([400, expect.stringMatching(/at most \d+ items/)]);
  const wrong = await post(repeat('"x"', 900));
  expect(wrong.status).toBe(400);
  expect(wrong.text.length).toBeLessThan(20_000);
  expect(wrong.text).toMatch(/at most \d+ items|and 880 more/);
  const unknown = await api.call("POST", "/api/tokens", undefined, { raw: fields(9_000) });
  expect(unknown.json.errors).toHaveLength(20);
  expect(unknown.text).toMatch(/and [\d,]+ more/);
  await probe.expectHealthy();
});

it("MCP requests with many values are rejected before a schema reads them", async () => {
  const api = await startApi();
  const token = await api.token("--scope", "inbox:read");
  const probe = probeHealth(api.hub, "MCP requests with many values");
  const send = (method: string, params: string) =>
    api.call("POST", "/mcp", undefined, {
      token,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      raw: `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`,
    });
  const wait = (filter: string) =>
    send("tools/call", `{"name":"wait_for_event","arguments":{"filter":${filter}}}`);
  const initialize = (capabilities: string) =>
    send(
      "initialize",
      `{"protocolVersion":"2025-11-25","clientInfo":{"name":"x","version":"1"},"capabilities":${capabilities}}`,
    );
  for (const attack of [wait, initialize]) {
    const large = await attack(fields(300_000));
    expect([large.status, large.text]).toEqual([413, expect.stringContaining("bytes")]);
    const many = await attack(repeat("0", 200_000));
    expect([many.status, many.text]).toEqual([400, expect.stringContaining("50000 values")]);
    const wide = await attack(fields(40_000));
    expect([400, 413]).toContain(wide.status);
    expect(wide.text).toMatch(/the limit is 10000|bytes/);
  }
  await probe.expectHealthy();
});
