/** Tests streams, whose responses do not end, and webhooks, which need no token of the hub. */
import { deliver } from "../deliver.ts";
import { openSse } from "../sse.ts";
import { describeDifference, normalizeResponse } from "./compare-responses.ts";
import { type HubResponse, headersOf, requestJson, send } from "./hub-client.ts";
import { type Ids, sendEvent } from "./tenants.ts";
import { createUnknownIds, findLeaks, VICTIM, type WalkContext } from "./walk-context.ts";

/** Opens streams, sends an event to both tenants, and checks that only the caller's event arrives. */
export async function walkStreams(walk: WalkContext): Promise<string[]> {
  const { hub, victim, caller, credential } = walk;
  const unknown = createUnknownIds(walk);
  const findings: string[] = [];
  const streamPaths = (ids: Ids) => [
    "/events?after=0",
    `/events?after=${ids.tenant}:0`,
    "/api/live?topics=events,changes&after=0",
    `/api/live?topics=events,changes,runs:${ids.run},flows:${ids.flow}`,
  ];
  const streams = await Promise.all(
    [...streamPaths(victim.ids), ...streamPaths(unknown)].map(async (path) => ({
      path,
      stream: await openSse(`${hub.url}${path}`, headersOf(credential)),
    })),
  );
  await sendEvent(hub, VICTIM);
  const { event } = await sendEvent(hub, caller.identity);
  for (const { path, stream } of streams) {
    const text = () => JSON.stringify(stream.messages);
    while (stream.response.ok && !text().includes(event))
      await new Promise((resolve) => setTimeout(resolve, 10));
    if (!stream.response.ok) findings.push(`GET ${path}: ${stream.response.status}`);
    const { headers } = stream.response;
    findings.push(...findLeaks(`GET ${path}`, { headers, text: text() }, victim, ["run", "flow"]));
    stream.close();
  }
  return findings;
}

/** Checks that a tenant, which can sign webhooks only for its own endpoints, cannot find out ids of others. */
export async function walkWebhooks(walk: WalkContext): Promise<string[]> {
  const { hub, victim, caller } = walk;
  const unknown = createUnknownIds(walk);
  const findings: string[] = [];
  const ownSecret = "the-secret-of-the-caller";
  const { url } = await requestJson<{ url: string }>(hub, caller.token, {
    method: "POST",
    path: "/api/sources",
    body: { kind: "github", name: "own", secret: ownSecret },
  });
  const ownPath = new URL(url).pathname;
  const sendWebhook = async (path: string, installation: number, secret: string) => {
    const body = JSON.stringify({
      action: "opened",
      installation: { id: installation },
      repository: { full_name: "some/town", owner: { id: installation / 10, login: "some" } },
    });
    const response = await deliver(hub.url, { path, body, secret });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const compare = (name: string, foreign: HubResponse, absent: HubResponse) => {
    const difference = describeDifference(
      normalizeResponse(foreign, [victim.ids]),
      normalizeResponse(absent, [unknown]),
    );
    if (difference)
      findings.push(`${name}: the response shows whether the id exists: ${difference}`);
    findings.push(...findLeaks(name, foreign, victim, ["sourceKey"]));
  };
  const unknownInstallation = Number(unknown.tenant) * 10;
  compare(
    "POST /webhooks/{source} with another secret",
    await sendWebhook("/webhooks/github", victim.installation, ownSecret),
    await sendWebhook("/webhooks/github", unknownInstallation, ownSecret),
  );
  // The event belongs to the tenant of the endpoint, even if the payload names another installation.
  compare(
    "POST /webhooks/{source}/{key} with another installation",
    await sendWebhook(ownPath, victim.installation, ownSecret),
    await sendWebhook(ownPath, unknownInstallation, ownSecret),
  );
  const sendCallback = (token: string) =>
    send(hub, token, {
      method: "POST",
      path: "/api/trigger-callback",
      body: { type: "issue.opened", data: {}, id: "one" },
    });
  compare(
    "POST /api/trigger-callback with the id of a subscription",
    await sendCallback(victim.ids.subscription),
    await sendCallback(unknown.subscription),
  );
  return findings;
}
