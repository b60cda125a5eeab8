/** What is not a request with one response and a token: streams and webhooks. */
import { deliver } from "../deliver.ts";
import { openSse } from "../sse.ts";
import { comparable, difference } from "./compare.ts";
import { get, type HubResponse, headersOf, send } from "./hub-client.ts";
import { type Ids, sendEvent } from "./tenants.ts";
import { leaks, unknownIds, VICTIM, type Walk } from "./the-walk.ts";

/** Streams stay open: while they are, both tenants get an event, and only that of the caller arrives. */
export async function walkStreams(walk: Walk): Promise<string[]> {
  const { hub, victim, caller, credential } = walk;
  const unknown = unknownIds(walk);
  const findings: string[] = [];
  const paths = (ids: Ids) => [
    "/events?after=0",
    `/events?after=${ids.tenant}:0`,
    "/api/live?topics=events,changes&after=0",
    `/api/live?topics=events,changes,runs:${ids.run},flows:${ids.flow}`,
  ];
  const streams = await Promise.all(
    [...paths(victim.ids), ...paths(unknown)].map(async (path) => ({
      path,
      stream: await openSse(`${hub.url}${path}`, headersOf(credential)),
    })),
  );
  await sendEvent(hub, VICTIM);
  const { event } = await sendEvent(hub, caller.name);
  for (const { path, stream } of streams) {
    const text = () => JSON.stringify(stream.messages);
    while (stream.response.ok && !text().includes(event))
      await new Promise((resolve) => setTimeout(resolve, 10));
    if (!stream.response.ok) findings.push(`GET ${path}: ${stream.response.status}`);
    const { headers } = stream.response;
    findings.push(...leaks(`GET ${path}`, { headers, text: text() }, victim, ["run", "flow"]));
    stream.close();
  }
  return findings;
}

/** Webhooks are authorized by signatures. A tenant can only sign for its own endpoints. */
export async function walkWebhooks(walk: Walk): Promise<string[]> {
  const { hub, victim, caller } = walk;
  const unknown = unknownIds(walk);
  const findings: string[] = [];
  const secret = "the-secret-of-the-caller";
  const { url } = await get<{ url: string }>(hub, caller.token, {
    method: "POST",
    path: "/api/sources",
    body: { kind: "github", name: "own", secret },
  });
  const own = new URL(url).pathname;
  const call = async (path: string, installation: number, signedWith: string) => {
    const body = JSON.stringify({
      action: "opened",
      installation: { id: installation },
      repository: { full_name: "some/town", owner: { id: installation / 10, login: "some" } },
    });
    const response = await deliver(hub.url, { path, body, secret: signedWith });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const compare = (name: string, one: HubResponse, other: HubResponse) => {
    const found = difference(comparable(one, [victim.ids]), comparable(other, [unknown]));
    if (found) findings.push(`${name}: the response shows whether the id exists: ${found}`);
    findings.push(...leaks(name, one, victim, ["sourceKey"]));
  };
  const absent = Number(unknown.tenant) * 10;
  compare(
    "POST /webhooks/{source} with another secret",
    await call("/webhooks/github", victim.installation, secret),
    await call("/webhooks/github", absent, secret),
  );
  // The event belongs to the endpoint's tenant, whatever installation the payload names.
  compare(
    "POST /webhooks/{source}/{key} with another installation",
    await call(own, victim.installation, secret),
    await call(own, absent, secret),
  );
  const callback = (token: string) =>
    send(hub, token, {
      method: "POST",
      path: "/api/trigger-callback",
      body: { type: "issue.opened", data: {}, id: "one" },
    });
  compare(
    "POST /api/trigger-callback with the id of a subscription",
    await callback(victim.ids.subscription),
    await callback(unknown.subscription),
  );
  return findings;
}
