/** Bodies with many values, long lists or many errors are rejected, and do not block other requests. */
import { expect, it } from "vitest";
import { type Api, startApi } from "../support/api-client.ts";
import {
  flowWithEqualNames,
  type HostileRequest,
  mcpRequestsWithTooManyValues,
  requestsWithTooManyErrors,
  requestsWithTooManyNodes,
} from "../support/attacks/hostile-requests.ts";
import { probeHealth } from "../support/health-probe.ts";

/** Expects that each response has the `status` of its request, and a short text that matches `message`. */
async function expectRejected(api: Api, requests: HostileRequest[], token?: string): Promise<void> {
  for (const { path, body, headers, status, message } of requests) {
    const options = { raw: body, ...(headers && { headers }), ...(token && { token }) };
    const { status: actualStatus, text } = await api.call("POST", path, undefined, options);
    expect([actualStatus, text]).toEqual([status, expect.stringMatching(message)]);
    expect(text.length).toBeLessThan(20_000);
  }
}

it("flows with too many nodes are rejected", async () => {
  const api = await startApi();
  await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
  const probe = probeHealth(api.hub, "lists of nodes");
  await expectRejected(api, requestsWithTooManyNodes("desk"));
  await probe.expectHealthy();
});

it("500 nodes with the same name are accepted, and each gets its own slug", async () => {
  const api = await startApi();
  await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
  const probe = probeHealth(api.hub, "500 nodes of one name");
  const raw = flowWithEqualNames(500);
  const { json } = await api.expect(201, "POST", "/api/apps/desk/flows", undefined, { raw });
  const slugs = new Set(json.nodes.map(({ slug }: { slug: string }) => slug));
  expect(slugs.size).toBe(500);
  await probe.expectHealthy();
});

it("a request with many errors gets a short response that counts the omitted errors", async () => {
  const api = await startApi();
  const probe = probeHealth(api.hub, "requests with many errors");
  await expectRejected(api, requestsWithTooManyErrors());
  await probe.expectHealthy();
});

it("MCP requests with many values are rejected", async () => {
  const api = await startApi();
  const token = await api.token("--scope", "inbox:read");
  const probe = probeHealth(api.hub, "MCP requests with many values");
  await expectRejected(api, mcpRequestsWithTooManyValues(), token);
  await probe.expectHealthy();
});
