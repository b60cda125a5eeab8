import type { JsonObject } from "@signalbox/rules/json.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Binding, TriggerSubscription } from "./model.ts";
import { type PlanOffers, planConfigure } from "./plan-configure.ts";

const TYPES = ["rain", "storm", "snow"];

const offers = (perSubscription: boolean, bindings: Record<string, Binding> = {}): PlanOffers => ({
  perSubscription,
  triggers: TYPES.map((type) => ({
    type,
    description: "",
    binding: bindings[type] ?? "callback",
    inputSchema: {},
    paramsSchema: { city: { type: "string" } },
  })),
});

const subscription = (
  id: string,
  fields: Partial<TriggerSubscription> = {},
): TriggerSubscription => ({
  id,
  tenant: "acme",
  connection: "weather-7kq2xv",
  flow_id: "flow",
  node_id: id,
  type: "rain",
  params: {},
  poll: null,
  wanted: "active",
  state: "configuring",
  error: null,
  revision: 1,
  configured: 0,
  configured_type: null,
  token_generation: 0,
  position: null,
  attempt: 0,
  next_at: 0,
  last_fired_at: null,
  created_at: 0,
  updated_at: 0,
  ...fields,
});

/** A subscription that the server has confirmed. It is not due. */
const confirmed = (id: string, fields: Partial<TriggerSubscription> = {}) =>
  subscription(id, {
    state: "active",
    configured: 1,
    configured_type: fields.type ?? "rain",
    next_at: 1,
    ...fields,
  });
const due = (subscription: TriggerSubscription) => ({ ...subscription, next_at: 0 });

/** `affected` lists, for each subscription, the indexes of its calls. */
const plan = (perSubscription: boolean, ...subscriptions: TriggerSubscription[]) => {
  const { calls, affected } = planConfigure(
    offers(perSubscription),
    subscriptions,
    ({ next_at }) => next_at === 0,
  );
  return {
    calls: calls.map(({ type, enabled, owner, subscriptionId, params }) => ({
      [enabled ? "on" : "off"]: type,
      ...(owner !== undefined && { owner }),
      ...(subscriptionId !== undefined && { id: subscriptionId }),
      ...(Object.keys(params).length > 0 && { params: params as JsonObject }),
    })),
    affected: Object.fromEntries(
      affected.map(({ subscription, calls: own }) => [
        subscription.id,
        own.map((call) => calls.indexOf(call)),
      ]),
    ),
  };
};

describe("the plan for a server with one credential per connection", () => {
  it("enables each wanted type once, with the params that are equal in all its subscriptions", () => {
    const params = { city: "Rome", other: "x" };
    expect(
      plan(
        false,
        subscription("a", { params }),
        subscription("b", { params: { city: "Rome" } }),
        subscription("c", { type: "storm", params: { city: "Oslo" } }),
      ),
    ).toEqual({
      calls: [
        { on: "rain", owner: "a", params: { city: "Rome" } },
        { on: "storm", owner: "c", params: { city: "Oslo" } },
      ],
      affected: { a: [0], b: [0], c: [1] },
    });
  });

  it("makes no calls if no subscription is due", () => {
    expect(plan(false, confirmed("a"), confirmed("b"))).toEqual({ calls: [], affected: {} });
  });

  it("does not disable the type of a paused subscription while another one wants it", () => {
    expect(plan(false, due(confirmed("a", { wanted: "paused" })), confirmed("b"))).toEqual({
      calls: [{ on: "rain", owner: "b" }],
      affected: { a: [], b: [0] },
    });
  });

  it("disables a type that is no longer wanted, then enables all wanted types again", () => {
    expect(
      plan(
        false,
        due(confirmed("a", { wanted: "paused" })),
        confirmed("b", { type: "storm" }),
        confirmed("c", { type: "snow" }),
      ),
    ).toEqual({
      calls: [{ off: "rain" }, { on: "storm", owner: "b" }, { on: "snow", owner: "c" }],
      affected: { a: [0], b: [1], c: [2] },
    });
  });

  it("removes a subscription only after the server has received the token of another one", () => {
    expect(plan(false, due(confirmed("a", { wanted: "removed" })), confirmed("b"))).toEqual({
      calls: [{ on: "rain", owner: "b" }],
      affected: { a: [0], b: [0] },
    });
    expect(
      plan(false, due(confirmed("a", { wanted: "removed" })), confirmed("b", { type: "storm" })),
    ).toEqual({
      calls: [{ off: "rain" }, { on: "storm", owner: "b" }],
      affected: { a: [0, 1], b: [1] },
    });
  });

  it("makes no call to remove or pause a subscription that was never configured", () => {
    expect(
      plan(
        false,
        subscription("a", { wanted: "removed" }),
        subscription("b", { wanted: "paused" }),
      ),
    ).toEqual({ calls: [], affected: { a: [], b: [] } });
  });

  it("disables the former type of a changed subscription before it enables the new one", () => {
    expect(plan(false, due(confirmed("a", { type: "storm", configured_type: "rain" })))).toEqual({
      calls: [{ off: "rain" }, { on: "storm", owner: "a" }],
      affected: { a: [1] },
    });
  });

  it("enables every offered type for a subscription to all types", () => {
    expect(plan(false, subscription("a", { type: "" }), confirmed("b"))).toEqual({
      calls: [
        { on: "rain", owner: "b" },
        { on: "storm", owner: "a" },
        { on: "snow", owner: "a" },
      ],
      affected: { a: [0, 1, 2], b: [0] },
    });
  });
});

describe("the plan for a server with one credential per subscription", () => {
  it("makes calls for due subscriptions only", () => {
    expect(
      plan(
        true,
        subscription("a", { params: { city: "Rome" } }),
        confirmed("b"),
        due(confirmed("c", { wanted: "removed" })),
        due(confirmed("d", { type: "storm", configured_type: "rain" })),
      ),
    ).toEqual({
      calls: [
        { off: "rain", id: "c" },
        { off: "rain", id: "d" },
        { on: "rain", id: "a", owner: "a", params: { city: "Rome" } },
        { on: "storm", id: "d", owner: "d" },
      ],
      affected: { a: [2], c: [0], d: [3] },
    });
  });
});

it("disables the former callbacks of a subscription that is now polled", () => {
  const polled = due(confirmed("a", { poll: { tool: "list" } }));
  expect(plan(false, polled).calls).toEqual([{ off: "rain" }]);
  const { calls } = planConfigure(
    offers(false, { rain: "events" }),
    [subscription("a")],
    () => true,
  );
  expect(calls).toEqual([]);
});

const anySubscription = fc.record({
  type: fc.constantFrom(...TYPES, ""),
  wanted: fc.constantFrom("active" as const, "paused" as const, "removed" as const),
  configured_type: fc.constantFrom(...TYPES, "", null),
  params: fc.constantFrom<JsonObject>({}, { city: "Rome" }, { city: "Oslo" }, { city: 7 }),
  next_at: fc.constantFrom(0, 1),
});

it("follows the rules below for any subscriptions", () => {
  const anySubscriptions = fc.array(anySubscription, { maxLength: 6 });
  fc.assert(
    fc.property(fc.boolean(), anySubscriptions, (perSubscription, records) => {
      const all = records.map((record, index) => subscription(`s${index}`, record));
      const { calls, affected, scope } = planConfigure(
        offers(perSubscription),
        all,
        ({ next_at }) => next_at === 0,
      );
      const wantedBy = (wanted: string) =>
        all.filter(({ wanted: state, type }) => state === "active" && (type === wanted || !type));
      expect(scope).toBe(perSubscription ? "subscription" : "connection");
      // Every due subscription is affected.
      const affectedIds = new Set(affected.map(({ subscription: { id } }) => id));
      for (const { id, next_at } of all) if (next_at === 0) expect(affectedIds).toContain(id);
      // Calls that disable come first.
      const firstOn = calls.findIndex(({ enabled }) => enabled);
      if (firstOn >= 0) expect(calls.slice(firstOn).every(({ enabled }) => enabled)).toBe(true);
      for (const { type, enabled, owner, params } of calls) {
        if (enabled) expect(wantedBy(type).map(({ id }) => id)).toContain(owner);
        // A type that a subscription wants is never disabled for the whole connection.
        else if (!perSubscription) expect(wantedBy(type)).toEqual([]);
        expect(Object.values(params).every((value) => typeof value === "string")).toBe(true);
        // No param excludes an event that a subscription wants.
        if (enabled && !perSubscription)
          for (const { params: own } of wantedBy(type))
            for (const [name, value] of Object.entries(params))
              expect(String(own[name])).toBe(value);
      }
      // One call per type, or per subscription and type.
      const keys = calls.map((call) => JSON.stringify([call.type, call.subscriptionId]));
      expect(new Set(keys).size).toBe(keys.length);
    }),
  );
});
