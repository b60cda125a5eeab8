/** Webhook subscriptions of the MCP Events draft. Receivers verify signatures with public libraries. */
import { describe, expect, inject, it, vi } from "vitest";
import { issueOpened } from "../support/deliver.ts";
import {
  clients,
  connectSdk2,
  type EventsClient,
  errorOf,
  send,
  startFixture,
} from "../support/events-client.ts";
import { fixedPort } from "../support/fixed-port.ts";
import { hosts } from "../support/hosts.ts";
import { createMigratedDatabase } from "../support/postgres.ts";
import { WAIT } from "../support/timeouts.ts";
import { newSecret, type Receiver, startReceiver } from "../support/webhook-receiver.ts";

const subscribeParams = (receiver: Pick<Receiver, "url" | "secret">, overrides: object = {}) => ({
  name: "github.issues",
  arguments: {},
  delivery: { mode: "webhook", url: receiver.url, secret: receiver.secret },
  cursor: null,
  ...overrides,
});
const subscribe = (client: EventsClient, receiver: Receiver, overrides: object = {}) =>
  client.request("events/subscribe", subscribeParams(receiver, overrides));
const expectReceived = (receiver: Receiver, ids: unknown[]) =>
  vi.waitFor(() => expect(receiver.events()).toEqual(ids), WAIT);
/** Ignores repeated events: a hub that is killed may not have stored its last cursor. */
const expectReceivedAtLeastOnce = (receiver: Receiver, ids: unknown[]) =>
  vi.waitFor(() => expect([...new Set(receiver.events())]).toEqual(ids), WAIT);

describe.each(hosts)("on %s", (host) => {
  it.each(clients)(
    "%s subscribes: its endpoint is verified, and gets events in order until the client unsubscribes",
    async (_, connect) => {
      const fixture = await startFixture(host);
      const client = await connect(fixture.hub);
      const [receiver, otherReceiver] = [await startReceiver(), await startReceiver()];
      await send(fixture);
      const created = await subscribe(client, receiver, { arguments: { action: "opened" } });
      expect(created).toMatchObject({
        id: expect.stringMatching(/^sub_/),
        refreshBefore: expect.stringMatching(/Z$/),
        cursor: expect.stringMatching(/^1@/),
        truncated: false,
        deliveryStatus: { state: "ok" },
      });
      expect(receiver.requests.map(({ id, body }) => [id.slice(0, 17), body.type])).toEqual([
        ["msg_verification_", "verification"],
      ]);

      const first = await send(fixture);
      await send(fixture, { action: "closed" });
      const second = await send(fixture);
      await expectReceived(receiver, [first, second]);
      expect(receiver.received[1]).toMatchObject({
        id: second,
        subscription: created.id,
        signatures: 1,
        body: {
          eventId: second,
          name: "github.issues",
          cursor: expect.stringMatching(/^4@/),
          data: { seq: 4, repo: "octo/town", payload: issueOpened },
        },
      });

      // A repeated request refreshes the subscription. It keeps its cursor, and is not verified again.
      await vi.waitFor(async () => {
        const refreshed = await subscribe(client, receiver, {
          arguments: { action: "opened" },
          cursor: "0",
        });
        // The hub stores the cursor only after the receiver has responded.
        expect(refreshed).toMatchObject({ id: created.id, cursor: expect.stringMatching(/^4@/) });
      }, WAIT);
      await subscribe(client, otherReceiver);
      const third = await send(fixture);
      await expectReceived(receiver, [first, second, third]);

      const { delivery, name } = subscribeParams(receiver);
      const unsubscribeParams = {
        name,
        arguments: { action: "opened" },
        delivery: { url: delivery.url },
      };
      expect(await client.request("events/unsubscribe", unsubscribeParams)).toBeDefined();
      const fourth = await send(fixture);
      await expectReceived(otherReceiver, [third, fourth]);
      expect(receiver.events()).toEqual([first, second, third]);
      expect(receiver.requests.filter(({ body }) => body.type === "verification")).toHaveLength(1);
      expect(await errorOf(client.request("events/unsubscribe", unsubscribeParams))).toMatchObject({
        code: -32011,
        data: { kind: "subscription" },
      });
    },
  );

  it("a subscription loses no event when the hub is killed and restarted", async () => {
    const fixture = await startFixture(host);
    const receiver = await startReceiver();
    await subscribe(await connectSdk2(fixture.hub), receiver);
    const ids = [await send(fixture)];
    await expectReceived(receiver, ids);
    receiver.respond = (_, response) => void response.writeHead(503).end();
    for (let count = 0; count < 5; count += 1) ids.push(await send(fixture));
    await vi.waitFor(() => expect(receiver.requests.length).toBeGreaterThan(2), WAIT);
    await fixture.restart();
    ids.push(await send(fixture));
    receiver.respond = (_, response) => void response.writeHead(200).end();
    await expectReceivedAtLeastOnce(receiver, ids);
  });

  it("a subscription loses no event while the receiver is down, and retries keep the event id", async () => {
    const fixture = await startFixture(host);
    const receiver = await startReceiver(Number(await fixedPort()));
    const client = await connectSdk2(fixture.hub);
    await subscribe(client, receiver);
    await receiver.stop();
    const [first, second] = [await send(fixture), await send(fixture)];
    await vi.waitFor(async () => {
      const { deliveryStatus } = await subscribe(client, receiver);
      expect(deliveryStatus).toMatchObject({ state: "failing", lastError: expect.any(String) });
    }, WAIT);
    const restarted = await startReceiver(receiver.port, receiver.secret);
    restarted.respond = ({ body }, response) =>
      void response
        .writeHead(
          restarted.requests.filter(({ id }) => id === body.eventId).length > 1 ? 200 : 500,
        )
        .end();
    await expectReceived(restarted, [first, second]);
    expect(restarted.requests.map(({ id }) => id)).toEqual([first, first, second, second]);
    await vi.waitFor(async () => {
      const { deliveryStatus } = await subscribe(client, restarted);
      expect(deliveryStatus).toMatchObject({ state: "ok", failedAttempts: 0, lastError: null });
    }, WAIT);
  });

  it("the hub signs with the old and the new secret after a rotation", async () => {
    const fixture = await startFixture(host);
    const receiver = await startReceiver();
    const client = await connectSdk2(fixture.hub);
    const { id } = await subscribe(client, receiver);
    const newParams = subscribeParams({ ...receiver, secret: newSecret() });
    expect(await client.request("events/subscribe", newParams)).toMatchObject({ id });
    const first = await send(fixture);
    await expectReceived(receiver, [first]);
    receiver.secret = newParams.delivery.secret;
    const second = await send(fixture);
    await expectReceived(receiver, [first, second]);
    expect(receiver.received.map(({ signatures }) => signatures)).toEqual([2, 2]);
  });

  it("the hub sends `terminated` when the token is revoked, and nothing after it", async () => {
    const fixture = await startFixture(host);
    const { id, token } = await fixture.token();
    const [receiver, otherReceiver] = [await startReceiver(), await startReceiver()];
    await subscribe(await connectSdk2(fixture.hub, token), receiver);
    await subscribe(await connectSdk2(fixture.hub), otherReceiver);
    await fixture.revoke(id);
    const first = await send(fixture);
    await expectReceived(otherReceiver, [first]);
    await expectReceived(receiver, ["terminated"]);
    expect(receiver.received[0]).toMatchObject({
      id: expect.stringMatching(/^msg_terminated_/),
      body: { type: "terminated", reason: "forbidden" },
    });
    await expectReceived(otherReceiver, [first, await send(fixture)]);
    expect(receiver.events()).toEqual(["terminated"]);
  });

  it("a subscription skips an event after 413 and sends a `gap` message, and ends after 410", async () => {
    const fixture = await startFixture(host);
    const [receiver, otherReceiver] = [await startReceiver(), await startReceiver()];
    const client = await connectSdk2(fixture.hub);
    await subscribe(client, receiver);
    await subscribe(client, otherReceiver);
    receiver.respond = (_, response) => void response.writeHead(413).end();
    await send(fixture);
    await vi.waitFor(() => expect(receiver.requests).toHaveLength(2), WAIT);
    receiver.respond = (_, response) => void response.writeHead(200).end();
    const second = await send(fixture);
    await expectReceived(receiver, ["gap", second]);
    expect(receiver.received[0]).toMatchObject({
      body: { type: "gap", cursor: expect.stringMatching(/^1@/) },
    });
    receiver.respond = (_, response) => void response.writeHead(410).end();
    await send(fixture);
    await vi.waitFor(
      () => expect(receiver.requests.filter(({ body }) => body.eventId)).toHaveLength(3),
      WAIT,
    );
    await send(fixture);
    await vi.waitFor(() => expect(otherReceiver.received).toHaveLength(4), WAIT);
    expect(receiver.requests.filter(({ body }) => body.eventId)).toHaveLength(3);
  });

  describe("events/subscribe", () => {
    it("rejects an invalid or forbidden URL, secret, mode, name or ttl", async () => {
      const fixture = await startFixture(host);
      const client = await connectSdk2(fixture.hub);
      const getError = (url: string, overrides: object = {}) =>
        errorOf(
          client.request(
            "events/subscribe",
            subscribeParams({ url, secret: newSecret() }, overrides),
          ),
        );
      for (const url of [
        "https://169.254.169.254/latest/meta-data",
        "http://10.0.0.1/",
        "https://[::1]/",
        "https://127.0.0.2/",
        "https://0x7f.2/",
        "http://192.168.1.1:8080/",
        "ftp://example.com/",
        "https://user:pass@example.com/",
        "javascript:alert(1)",
        "no url",
      ])
        expect([url, await getError(url)]).toMatchObject([
          url,
          { code: -32602, message: expect.stringMatching(/delivery\.url: ./) },
        ]);
      const delivery = { mode: "webhook", url: "https://example.com/" };
      expect(
        await getError("", { delivery: { ...delivery, secret: "whsec_dG9vIHNob3J0" } }),
      ).toMatchObject({
        code: -32602,
        message: expect.stringMatching(/delivery\.secret: .*24 to 64/),
      });
      expect(
        await getError("", { delivery: { ...delivery, secret: newSecret(), mode: "email" } }),
      ).toMatchObject({ code: -32014, data: { feature: "delivery.mode" } });
      expect(await getError("https://example.com/", { name: "github.nothing" })).toMatchObject({
        code: -32011,
      });
      expect(await getError("https://example.com/", { ttlMs: 0 })).toMatchObject({
        code: -32602,
        message: expect.stringMatching(/ttlMs: /),
      });
    });

    it("rejects an endpoint that fails the verification, and returns the reason", async () => {
      const fixture = await startFixture(host);
      const client = await connectSdk2(fixture.hub);
      const [receiver, stoppedReceiver] = [await startReceiver(), await startReceiver()];
      const getError = async (url = receiver.url) => {
        const { code, message, data } = await errorOf(
          client.request("events/subscribe", subscribeParams({ url, secret: receiver.secret })),
        );
        return { code, data, hasFieldName: message.includes("delivery.url: ") };
      };
      const verificationError = (reason: string) => ({
        code: -32015,
        data: { reason },
        hasFieldName: true,
      });
      receiver.echo = () => JSON.stringify({ challenge: "something else" });
      expect(await getError()).toEqual(verificationError("challenge_failed"));
      const { secret } = receiver;
      // The receiver returns 401 for a signature with its former secret.
      receiver.secret = newSecret();
      expect(
        await errorOf(
          client.request("events/subscribe", subscribeParams({ url: receiver.url, secret })),
        ),
      ).toMatchObject({ code: -32015, data: { reason: "http_4xx" } });
      await stoppedReceiver.stop();
      expect(await getError(stoppedReceiver.url)).toEqual(verificationError("connection_refused"));
    });

    it("rejects an endpoint that does not support TLS, with `tls_error`", async ({ skip }) => {
      skip(host === "workerd", "workerd does not distinguish TLS errors from failed connections");
      const fixture = await startFixture(host);
      const client = await connectSdk2(fixture.hub);
      const receiver = await startReceiver();
      const url = receiver.url.replace("http:", "https:");
      expect(
        await errorOf(client.request("events/subscribe", subscribeParams({ ...receiver, url }))),
      ).toMatchObject({ code: -32015, data: { reason: "tls_error" } });
    });

    it("rejects http and private addresses, unless the operator allows them", async () => {
      const fixture = await startFixture(host, { SIGNALBOX_ALLOW_PRIVATE: "" });
      const client = await connectSdk2(fixture.hub);
      const receiver = await startReceiver();
      for (const [url, message] of [
        [receiver.url, /https/],
        [receiver.url.replace("http:", "https:"), /SIGNALBOX_ALLOW_PRIVATE/],
      ] as const)
        expect(
          await errorOf(client.request("events/subscribe", subscribeParams({ ...receiver, url }))),
        ).toMatchObject({ code: -32602, message: expect.stringMatching(message) });
      expect(receiver.requests).toEqual([]);
    });
  });
});

it("a subscription continues on another replica if the replica that delivers is killed", async () => {
  const fixture = await startFixture("Node", {
    DATABASE_URL: await createMigratedDatabase(inject("postgresUrl")),
  });
  const otherReplica = await fixture.replica();
  const receiver = await startReceiver();
  await subscribe(await connectSdk2(fixture.hub), receiver);
  const ids = [await send(fixture), await send({ hub: otherReplica }), await send(fixture)];
  await expectReceived(receiver, ids);
  await fixture.hub.stop("SIGKILL");
  ids.push(await send({ hub: otherReplica }));
  await expectReceivedAtLeastOnce(receiver, ids);
});
