/** Bodies with many values, long lists and many errors: each is rejected before it costs much. */
import { expect, it } from "vitest";
import { type Api, startApi } from "../support/api-client.ts";
import {
  endlessErrors,
  endlessMcpParams,
  endlessNodes,
  flowOfOneName,
  type HostileRequest,
} from "../support/attacks/hostile-requests.ts";
import { probeHealth } from "../support/health-probe.ts";

/** Expects that each request is rejected as it says, with a short message. */
async function expectRejected(api: Api, requests: HostileRequest[], token?: string): Promise<void> {
  for (const { path, body, headers, status, message } of requests) {
    const options = { raw: body, ...(headers && { headers }), ...(token && { token }) };
    const { status: got, text } = await api.call("POST", path, undefined, options);
    expect([got, text]).toEqual([status, expect.stringMatching(message)]);
    expect(text.length).toBeLessThan(20_000);
  }
}

it("lists of nodes without end are rejected by their length", async () => {
  const api = await startApi();
  await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
  const probe = probeHealth(api.hub, "lists of nodes");
  await expectRejected(api, endlessNodes("desk"));
  await probe.expectHealthy();
});

it("500 nodes of one name are accepted", async () => {
  const api = await startApi();
  await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
  const probe = probeHealth(api.hub, "500 nodes of one name");
  const raw = flowOfOneName(500);
  const { json } = await api.expect(201, "POST", "/api/apps/desk/flows", undefined, { raw });
  const slugs = new Set(json.nodes.map(({ slug }: { slug: string }) => slug));
  expect(slugs.size).toBe(500);
  await probe.expectHealthy();
});

it("a response lists 20 errors and counts the others", async () => {
  const api = await startApi();
  const probe = probeHealth(api.hub, "errors without end");
  await expectRejected(api, endlessErrors());
  await probe.expectHealthy();
});

it("MCP requests with many values are rejected before a schema reads them", async () => {
  const api = await startApi();
  const token = await api.token("--scope", "inbox:read");
  const probe = probeHealth(api.hub, "MCP requests with many values");
  await expectRejected(api, endlessMcpParams(), token);
  await probe.expectHealthy();
});
