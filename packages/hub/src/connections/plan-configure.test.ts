import type { JsonObject } from "@signalbox/rules/json.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Binding, TriggerSubscription } from "../store/connection-store.ts";
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
  given: Partial<TriggerSubscription> = {},
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
  position: null,
  attempt: 0,
  next_at: 0,
  last_fired_at: null,
  created_at: 0,
  updated_at: 0,
  ...given,
});

/** A subscription that the server has confirmed. It is not due. */
const confirmed = (id: string, given: Partial<TriggerSubscription> = {}) =>
  subscription(id, {
    state: "active",
    configured: 1,
    configured_type: given.type ?? "rain",
    next_at: 1,
    ...given,
  });
const due = (given: TriggerSubscription) => ({ ...given, next_at: 0 });

const plan = (perSubscription: boolean, ...subscriptions: TriggerSubscription[]) => {
  const { calls, settles } = planConfigure(
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
    settles: Object.fromEntries(
      settles.map((one) => [one.subscription.id, one.calls.map((call) => calls.indexOf(call))]),
    ),
  };
};

describe("for a server with one credential per connection", () => {
  it("enables each wanted type once, with the params on which its subscriptions agree", () => {
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
      settles: { a: [0], b: [0], c: [1] },
    });
  });

  it("calls nothing if nothing is due", () => {
    expect(plan(false, confirmed("a"), confirmed("b"))).toEqual({ calls: [], settles: {} });
  });

  it("does not disable the type of a paused subscription while another one wants it", () => {
    expect(plan(false, due(confirmed("a", { wanted: "paused" })), confirmed("b"))).toEqual({
      calls: [{ on: "rain", owner: "b" }],
      settles: { a: [], b: [0] },
    });
  });

  it("disables a type that is not wanted any more, and then enables all others again", () => {
    expect(
      plan(
        false,
        due(confirmed("a", { wanted: "paused" })),
        confirmed("b", { type: "storm" }),
        confirmed("c", { type: "snow" }),
      ),
    ).toEqual({
      calls: [{ off: "rain" }, { on: "storm", owner: "b" }, { on: "snow", owner: "c" }],
      settles: { a: [0], b: [1], c: [2] },
    });
  });

  it("removes a subscription after the server has got a token of another one", () => {
    expect(plan(false, due(confirmed("a", { wanted: "removed" })), confirmed("b"))).toEqual({
      calls: [{ on: "rain", owner: "b" }],
      settles: { a: [0], b: [0] },
    });
    expect(
      plan(false, due(confirmed("a", { wanted: "removed" })), confirmed("b", { type: "storm" })),
    ).toEqual({
      calls: [{ off: "rain" }, { on: "storm", owner: "b" }],
      settles: { a: [0, 1], b: [1] },
    });
  });

  it("removes and pauses without a call what the server has never got", () => {
    expect(
      plan(
        false,
        subscription("a", { wanted: "removed" }),
        subscription("b", { wanted: "paused" }),
      ),
    ).toEqual({ calls: [], settles: { a: [], b: [] } });
  });

  it("disables the former type of an edited subscription first", () => {
    expect(plan(false, due(confirmed("a", { type: "storm", configured_type: "rain" })))).toEqual({
      calls: [{ off: "rain" }, { on: "storm", owner: "a" }],
      settles: { a: [1] },
    });
  });

  it("enables every offered type for a subscription to all types", () => {
    expect(plan(false, subscription("a", { type: "" }), confirmed("b"))).toEqual({
      calls: [
        { on: "rain", owner: "b" },
        { on: "storm", owner: "a" },
        { on: "snow", owner: "a" },
      ],
      settles: { a: [0, 1, 2], b: [0] },
    });
  });
});

describe("for a server with a credential per subscription", () => {
  it("calls for each due subscription only", () => {
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
      settles: { a: [2], c: [0], d: [3] },
    });
  });
});

it("disables former callbacks of a subscription that is polled now", () => {
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

it("keeps these rules for any subscriptions", () => {
  fc.assert(
    fc.property(fc.boolean(), fc.array(anySubscription, { maxLength: 6 }), (per, given) => {
      const all = given.map((one, n) => subscription(`s${n}`, one));
      const { calls, settles, scope } = planConfigure(
        offers(per),
        all,
        ({ next_at }) => next_at === 0,
      );
      const wants = (type: string) =>
        all.filter((one) => one.wanted === "active" && (one.type === type || one.type === ""));
      expect(scope).toBe(per ? "subscription" : "connection");
      // Every due subscription is driven to its state.
      const settled = new Set(settles.map((one) => one.subscription.id));
      for (const one of all) if (one.next_at === 0) expect(settled).toContain(one.id);
      // Calls that disable come first.
      const firstOn = calls.findIndex(({ enabled }) => enabled);
      if (firstOn >= 0) expect(calls.slice(firstOn).every(({ enabled }) => enabled)).toBe(true);
      for (const { type, enabled, owner, params } of calls) {
        if (enabled) expect(wants(type).map(({ id }) => id)).toContain(owner);
        // A type that a subscription wants is never disabled for all.
        else if (!per) expect(wants(type)).toEqual([]);
        expect(Object.values(params).every((value) => typeof value === "string")).toBe(true);
        // No param excludes an event that a subscription wants.
        if (enabled && !per)
          for (const one of wants(type))
            for (const [name, value] of Object.entries(params))
              expect(String(one.params[name])).toBe(value);
      }
      // One call per type, or per subscription and type.
      const keys = calls.map((call) => JSON.stringify([call.type, call.subscriptionId]));
      expect(new Set(keys).size).toBe(keys.length);
    }),
  );
});
