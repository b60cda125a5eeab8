/**
 * Plays random sequences of changed triggers, failed calls and crashes, with a real database and with
 * servers that store credentials differently. After each operation, the hub accepts the tokens that the
 * server uses, and the server sends the events of all confirmed subscriptions. When calls succeed
 * again, every subscription reaches its wanted state, and the former tokens become invalid.
 */

import type { JsonObject } from "@signalbox/rules/json.ts";
import fc from "fast-check";
import { expect, it } from "vitest";
import { START } from "../events/store/contract/sample.ts";
import { eventTrigger, intents, makeFlow, publish } from "../flows/store/contract/flow-sample.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { sha256Hex } from "../kernel/lib/hmac.ts";
import { type Store, storeDefinition } from "../store.ts";
import { ConnectionError } from "./connection-error.ts";
import type { Connection, TriggerSubscription } from "./model.ts";
import { planConfigure } from "./plan-configure.ts";
import { createCallbackTokenDerivation } from "./staged-tokens.ts";
import { sampleConnection } from "./store/contract/connection-sample.ts";
import {
  createTestTriggerServer,
  type ServerModel,
  type TestTriggerServer,
} from "./test-trigger-server.ts";
import { createVisit, type VisitOptions } from "./visit.ts";

const TYPES = ["rain", "storm"];
const CITIES = ["Oslo", "Rome"];
const ID = "weather-7kq2xv";
const LEASE_MS = 30_000;
const HOUR_MS = 3_600_000;
const deriveToken = createCallbackTokenDerivation(new Uint8Array(32));

const trigger = fc.record({
  type: fc.constantFrom(...TYPES, null),
  city: fc.constantFrom(...CITIES, undefined),
  active: fc.boolean(),
});
/** `lost`: the call gets no answer. `stored`: the server executes the call before it fails. */
const fault = fc.constantFrom(
  "none",
  "none",
  "rejected",
  "stored, rejected",
  "lost",
  "stored, lost",
);
/** The process crashes before or after operation number `at` of a visit. A call or a write is an operation. */
const crash = fc.record({ at: fc.nat({ max: 25 }), isAfter: fc.boolean() });
const step = fc.oneof(
  fc.record({
    kind: fc.constant("publish" as const),
    triggers: fc.array(fc.option(trigger), { maxLength: 4 }),
  }),
  fc.record({ kind: fc.constant("visit" as const), faults: fc.array(fault, { maxLength: 5 }) }),
  fc.record({
    kind: fc.constant("crash" as const),
    crash,
    faults: fc.array(fault, { maxLength: 3 }),
  }),
  fc.record({ kind: fc.constant("unreachable" as const) }),
  fc.record({ kind: fc.constant("reset" as const) }),
  fc.record({ kind: fc.constant("move" as const) }),
  fc.record({
    kind: fc.constant("rotate" as const),
    index: fc.nat({ max: 3 }),
    revokeNow: fc.boolean(),
  }),
);
const steps = fc.array(step, { minLength: 1, maxLength: 14 });
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;
type Fault = typeof fault extends fc.Arbitrary<infer Value> ? Value : never;

class Crash extends Error {}

async function openHistory(store: Store, model: ServerModel, isStored: boolean) {
  /** The last server is the current one; the others are former servers. */
  const servers = [createTestTriggerServer(model, TYPES, { isStored })];
  const server = () => servers.at(-1) as TestTriggerServer;
  const urlOf = (index: number) => `https://server-${index}.example/mcp`;
  const serverOf = ({ target }: Connection) =>
    servers.find((_, index) => "url" in target && target.url === urlOf(index)) ?? server();
  const flow = await makeFlow(store, intents());
  const state = {
    now: START,
    faults: [] as Fault[],
    isReachable: true,
    hasLostState: false,
    /** Whether the server may have a token that was revoked. */
    hasRevoked: false,
    crash: undefined as { at: number; isAfter: boolean } | undefined,
    operations: 0,
    isDead: false,
    /** The hashes of all tokens that were created. */
    tokenHashes: [] as string[],
  };
  await store.createConnection(
    sampleConnection({ id: ID, tenant: "acme", target: { url: urlOf(0) } }),
    state.now,
  );

  /** Whether the server sends the events of the subscription, with a token that the hub accepts. */
  const isServed = async ({ type, params }: TriggerSubscription): Promise<boolean> => {
    const cities = typeof params.city === "string" ? [params.city] : CITIES;
    for (const eventType of type === "" ? TYPES : [type])
      for (const city of cities) {
        const hashes = await Promise.all(
          server()
            .notify(eventType, { city })
            .map(async ({ token }) => sha256Hex(token)),
        );
        const tokens = await Promise.all(
          hashes.map((hash) => store.findCallbackToken(hash, state.now)),
        );
        if (!tokens.some((token) => token && !token.isGone)) return false;
      }
    return true;
  };
  const subscriptions = () => store.listTriggerSubscriptions("acme", ID);
  const expectServed = async () => {
    for (const type of TYPES)
      for (const city of CITIES)
        for (const { token } of server().notify(type, { city }))
          expect(
            state.hasRevoked ||
              (await store.findCallbackToken(await sha256Hex(token), state.now)) !== undefined,
          ).toBe(true);
    // After a type was disabled, a fragile server sends nothing until the other types are enabled again.
    if (model === "fragile" || state.hasLostState || state.hasRevoked) return;
    for (const subscription of await subscriptions())
      if (subscription.state === "active" && subscription.wanted === "active")
        expect({ ...subscription, isServed: await isServed(subscription) }).toMatchObject({
          isServed: true,
        });
  };

  /** Runs one operation. The process crashes before or after it, if `state.crash` says so. */
  const operate = async <Result>(work: () => Result | Promise<Result>): Promise<Result> => {
    if (state.isDead) throw new Crash();
    const isLast = state.crash?.at === state.operations;
    state.operations += 1;
    if (isLast && !state.crash?.isAfter) state.isDead = true;
    if (state.isDead) throw new Crash();
    const result = await work();
    await expectServed();
    if (isLast) state.isDead = true;
    if (state.isDead) throw new Crash();
    return result;
  };
  const callServer = (server: TestTriggerServer, args: JsonObject) => {
    state.now += 10;
    const fault = state.faults.shift() ?? "none";
    if (fault === "lost") throw new ConnectionError("timeout", "no answer");
    if (fault === "rejected")
      return { isError: true, content: [{ type: "text", text: "not now" }] };
    const answer = server.configure(args);
    if (fault === "stored, lost") throw new ConnectionError("timeout", "no answer");
    return fault === "stored, rejected"
      ? { isError: false, content: [], structuredContent: { success: false } }
      : answer;
  };
  const options: VisitOptions = {
    by: "keeper",
    deriveToken,
    context: {
      now: () => state.now,
      random: () => 0.5,
      callbackUrl: "http://hub.example/api/trigger-callback",
    },
    log: { info() {}, warn() {}, error() {} },
    revokeRemoved: (_, remove) => remove(),
    store: {
      stageCallbackToken: (token) =>
        operate(() => {
          state.tokenHashes.push(token.hash);
          return store.stageCallbackToken(token);
        }),
      confirmCallbackToken: (...args) => operate(() => store.confirmCallbackToken(...args)),
      rejectCallbackToken: (...args) => operate(() => store.rejectCallbackToken(...args)),
      dropFormerServers: (...args) => operate(() => store.dropFormerServers(...args)),
      saveSubscriptions: (...args) => operate(() => store.saveSubscriptions(...args)),
      finishConnection: (...args) => operate(() => store.finishConnection(...args)),
    },
    connections: {
      disconnect() {},
      async loadOffers(connection) {
        if (!state.isReachable) throw new ConnectionError("unreachable", "connection refused");
        return operate(() => serverOf(connection).offers);
      },
      callTool: (connection, call) =>
        operate(() => callServer(serverOf(connection), call.arguments)),
      request: () => Promise.reject(new Error("unexpected request")),
    },
    append: () => Promise.reject(new Error("unexpected event")),
    newId: () => "",
  };
  const visit = createVisit(options);

  /** Visits the connection if it is due. After a crash, the clock moves until the lease has expired. */
  const visitDue = async (): Promise<boolean> => {
    const lease = { by: "keeper", now: state.now, until: state.now + LEASE_MS, limit: 1 };
    const [leased] = await store.leaseConnections(lease);
    if (!leased) return false;
    state.operations = 0;
    try {
      await visit(leased, new AbortController().signal);
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      state.now += LEASE_MS + 1;
    }
    state.isDead = false;
    state.crash = undefined;
    return true;
  };
  const advanceAndVisit = async (): Promise<void> => {
    const due = await store.nextConnectionDue();
    state.now = Math.max(state.now, due ?? state.now);
    await visitDue();
  };

  return {
    state,
    server,
    subscriptions,
    isServed,
    expectServed,
    /** The hashes of the tokens that the server may use now. */
    async currentHashes(): Promise<string[]> {
      const all = await subscriptions();
      const { calls } = planConfigure(server().offers, all, () => true);
      const owners = all.filter(({ id }) => calls.some(({ owner }) => owner === id));
      const target = { url: urlOf(servers.length - 1) };
      return Promise.all(owners.map(async (owner) => sha256Hex(await deriveToken(owner, target))));
    },
    advanceAndVisit,
    async play(step: Step): Promise<void> {
      state.faults = [];
      switch (step.kind) {
        case "publish":
          state.now += 1;
          await publish(store, flow, {
            at: state.now,
            triggers: step.triggers.flatMap((trigger, index) =>
              trigger
                ? eventTrigger({
                    node_id: `t${index}`,
                    source: ID,
                    type: trigger.type,
                    active: trigger.active,
                    config: { params: trigger.city === undefined ? {} : { city: trigger.city } },
                  })
                : [],
            ),
          });
          return;
        case "unreachable":
          state.isReachable = false;
          await store.touchConnection("acme", ID, state.now);
          await visitDue();
          state.isReachable = true;
          return;
        case "reset":
          server().reset();
          state.hasLostState = true;
          return;
        case "move": {
          state.now += 1;
          servers.push(createTestTriggerServer(model, TYPES, { isStored }));
          state.hasLostState = true;
          const target = { url: urlOf(servers.length - 1) };
          await store.updateConnection("acme", ID, { target }, state.now);
          return;
        }
        case "rotate": {
          const all = await subscriptions();
          const chosen = all[step.index % Math.max(1, all.length)];
          if (chosen && step.revokeNow) state.hasRevoked = true;
          if (chosen)
            await store.rotateCallbackToken("acme", ID, chosen.id, {
              revokeNow: step.revokeNow,
              at: state.now,
            });
          return;
        }
        case "crash":
          state.crash = step.crash;
          state.faults = [...step.faults];
          return advanceAndVisit();
        case "visit":
          state.faults = [...step.faults];
          return advanceAndVisit();
      }
    },
    /** Makes all visits of the next `ms`, without faults. */
    async visitWithoutFaults(ms: number): Promise<void> {
      state.faults = [];
      const end = state.now + ms;
      for (let visits = 0; ; visits += 1) {
        expect(visits).toBeLessThan(2_000);
        const due = await store.nextConnectionDue();
        if (due === null || due > end) break;
        await advanceAndVisit();
      }
      state.now = end;
      state.hasLostState = false;
      state.hasRevoked = false;
    },
  };
}

const RUNS = Number(process.env.CONVERGENCE_RUNS ?? 60);

it.each<[ServerModel, string]>([
  ["connection", "keeps one credential per connection"],
  ["type", "keeps one credential per type"],
  ["fragile", "loses all types when one is disabled"],
  ["subscription", "keeps one credential per subscription"],
])(
  "subscriptions reach their wanted states after any failures, at a server (%s) that %s",
  async (model) => {
    await fc.assert(
      fc.asyncProperty(fc.boolean(), steps, async (isStored, played) => {
        const store = openSqlite(storeDefinition, ":memory:");
        try {
          const history = await openHistory(store, model, isStored);
          for (const step of played) {
            await history.play(step);
            await history.expectServed();
          }
          const formerHashes = [...history.state.tokenHashes];
          // Longer than the interval after which subscriptions are configured again.
          await history.visitWithoutFaults((isStored ? 1.5 : 0.3) * HOUR_MS);
          const subscriptions = await history.subscriptions();
          for (const subscription of subscriptions) {
            const { wanted, revision } = subscription;
            expect(subscription).toMatchObject({
              state: wanted,
              error: null,
              configured: revision,
            });
            if (wanted === "active") expect(await history.isServed(subscription)).toBe(true);
          }
          if (!subscriptions.some(({ wanted }) => wanted === "active")) {
            const sent = TYPES.flatMap((type) => history.server().notify(type, { city: "Oslo" }));
            // A server that has refused to disable a type may still send its events. The hub rejects
            // them with 410 or 401.
            if (!JSON.stringify(played).includes('"rejected"')) expect(sent).toEqual([]);
            for (const { token } of sent) {
              const hash = await sha256Hex(token);
              const storedToken = await store.findCallbackToken(hash, history.state.now);
              expect(storedToken?.isGone ?? true).toBe(true);
            }
          }
          // Former tokens expire; the current ones do not.
          history.state.now += 48 * HOUR_MS;
          await history.expectServed();
          const currentHashes = await history.currentHashes();
          for (const hash of formerHashes) {
            if (currentHashes.includes(hash)) continue;
            const storedToken = await store.findCallbackToken(hash, history.state.now);
            expect(storedToken?.isGone ?? true).toBe(true);
          }
        } finally {
          await store.close();
        }
      }),
      { numRuns: RUNS },
    );
  },
  240_000,
);
