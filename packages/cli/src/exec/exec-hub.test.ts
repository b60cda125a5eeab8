import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { WAIT } from "../../../../test/support/timeouts.ts";
import { createHubClient, type HubLocation } from "../hub-client.ts";
import { createExecHub, isTaken } from "./exec-hub.ts";

type Responder = (request: IncomingMessage, response: ServerResponse) => void;

const json =
  (status: number, body: object): Responder =>
  (_, response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
const problem = (status: number, code: string) => json(status, { status, code, detail: code });

/** Starts a hub that handles each request with the next responder, and all further ones with the last. */
async function setup(responders: Responder[], { isTokenFromFile = false } = {}) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const respond = responders.length > 1 ? responders.shift() : responders[0];
    request.resume().on("end", () => respond?.(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(close);
  const location: HubLocation = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: "sbx",
    isTokenGiven: true,
    from: "settings",
  };
  const warnings: string[] = [];
  const hub = createExecHub({
    connect: () => ({ client: createHubClient(location), isTokenFromFile }),
    worker: "one",
    leaseS: 60,
    selection: { type: "issues", repo: undefined, source: undefined },
    warn: (message) => warnings.push(message),
    random: () => 0,
  });
  return { hub, requests, warnings, close };
}

const retryForever = {
  signal: new AbortController().signal,
  retryForMs: () => Number.POSITIVE_INFINITY,
};
const neverRetry = { ...retryForever, retryForMs: () => 0 };
const event = { id: "1", attempts: 1 };

it("retries a request until the hub responds, and reports the outage once", async () => {
  const cutOff: Responder = (_, response) => {
    response.writeHead(200, { "content-length": 100 }).write("{");
    response.destroy();
  };
  const responders = [problem(503, "busy"), cutOff, problem(429, "busy"), json(200, event)];
  const { hub, requests, warnings } = await setup(responders);
  expect(await hub.claim("1", retryForever)).toEqual({ event, json: JSON.stringify(event) });
  expect(requests).toEqual(Array(4).fill("POST /api/events/1/claim"));
  expect(warnings).toEqual(["busy Retrying.", "The hub responds again."]);
});

it("does not retry a request after the retry time, a rejection or an abort", async () => {
  const { hub, requests } = await setup([problem(503, "busy")]);
  await expect(hub.renew("1", neverRetry)).rejects.toMatchObject({ status: 503 });
  expect(requests).toEqual(["POST /api/events/1/claim?payload=0"]);
  const denied = await setup([problem(401, "token_unknown")]);
  await expect(denied.hub.claim("1", retryForever)).rejects.toMatchObject({ status: 401 });
  const stop = new AbortController();
  const stopped = hub.renew("1", { ...retryForever, signal: stop.signal });
  stop.abort();
  await expect(stopped).rejects.toMatchObject({ name: "AbortError" });
});

it("throws an AbortError if a request fails temporarily after the abort", async () => {
  const stop = new AbortController();
  const stopsAndFails: Responder = (request, response) => {
    stop.abort();
    problem(503, "busy")(request, response);
  };
  const { hub, requests } = await setup([stopsAndFails]);
  const claim = hub.claim("1", { ...retryForever, signal: stop.signal, finishesRequest: true });
  await expect(claim).rejects.toMatchObject({ name: "AbortError" });
  expect(requests).toHaveLength(1);
  const taken = await setup([problem(409, "changed")]);
  const { signal } = stop;
  expect(
    await taken.hub.claim("1", { ...retryForever, signal, finishesRequest: true }),
  ).toBeUndefined();
});

it("retries after a status of 401 if the token is from the file of a running hub", async () => {
  const responders = [problem(401, "token_unknown"), json(200, event)];
  const { hub } = await setup(responders, { isTokenFromFile: true });
  expect(await hub.claim("1", retryForever)).toMatchObject({ event });
});

it("treats events that other workers have, and missing events, as taken", async () => {
  const { hub } = await setup([
    problem(409, "changed"),
    problem(404, "not_found"),
    problem(409, "changed"),
    problem(404, "not_found"),
  ]);
  expect(await hub.claim("1", retryForever)).toBeUndefined();
  expect(await hub.read("1", retryForever)).toBeUndefined();
  await expect(hub.renew("1", retryForever)).rejects.toSatisfy(isTaken);
  await expect(hub.renew("1", retryForever)).rejects.toSatisfy(isTaken);
});

it("lists the events of all pages", async () => {
  const { hub, requests } = await setup([
    json(200, { items: [{ id: "1" }], next_cursor: "7" }),
    json(200, { items: [], next_cursor: "8" }),
    json(200, { items: [{ id: "2" }], next_cursor: null }),
  ]);
  const ids: string[] = [];
  for await (const { id } of hub.list(retryForever)) ids.push(id);
  expect(ids).toEqual(["1", "2"]);
  const query = "type=issues&claimable=1&order=oldest&limit=100";
  expect(requests).toEqual(
    ["", "&cursor=7", "&cursor=8"].map((cursor) => `GET /api/events?${query}${cursor}`),
  );
});

it("follows the live stream, and reconnects if it ends or if the hub is not ready yet", async () => {
  const stream =
    (...messages: object[]): Responder =>
    (_, response) => {
      const text = [{ status: "connected", log: "acme@1" }, ...messages]
        .map((data) => `data: ${JSON.stringify(data)}\n\n`)
        .join("");
      response.writeHead(200, { "content-type": "text/event-stream" }).end(text);
    };
  const { hub, requests, warnings } = await setup([
    problem(503, "busy"),
    stream({ event_id: "1" }),
    stream({ event_id: "2" }, { heartbeat: 1 }, { event_id: "3" }),
  ]);
  const stop = new AbortController();
  const seen: string[] = [];
  const following = hub.follow({
    onOpen: () => seen.push("open"),
    onEvent: (id) => seen.push(id),
    signal: stop.signal,
  });
  await vi.waitFor(() => expect(seen.slice(0, 5)).toEqual(["open", "1", "open", "2", "3"]), WAIT);
  stop.abort();
  await following;
  expect(requests[0]).toBe("GET /events?type=issues");
  expect(warnings[0]).toBe("The live stream ended (busy). Retrying.");
});
