import { expect, it } from "vitest";
import { findSubscriptionProblems, type SubscribedNode } from "./find-subscription-problems.ts";
import { testFlow, testNode } from "./test-flow.ts";

const NOW = 1_000_000;
const flow = testFlow([testNode("Event", "Storm", { source: "weather-7kq2xv" })]);
const problemsOf = (subscription: Partial<SubscribedNode>) =>
  findSubscriptionProblems(
    flow,
    [
      {
        node_id: "storm",
        type: "storm",
        wanted: "active",
        state: "active",
        error: null,
        assumed: {},
        updated_at: NOW - 30_000,
        ...subscription,
      },
    ],
    NOW,
  ).map(({ code, nodeId, message }) => `${code} ${nodeId}: ${message}`);

it("reports a failed subscription with the message of the server", () => {
  expect(problemsOf({ state: "failed", error: "no quota" })).toEqual([
    "subscription_failed storm: Storm: the subscription has failed, so events do not arrive; the hub retries: no quota",
  ]);
  expect(problemsOf({ type: "", state: "failed", error: "rain: no quota" })).toEqual([
    "subscription_failed storm: Storm: the subscription has failed, so events of some types do not arrive; the hub retries: rain: no quota",
  ]);
});

it("reports a subscription that the server has not confirmed, after half a minute or an error", () => {
  const unconfirmed =
    "subscription_unconfirmed storm: Storm: the subscription is not confirmed, so events may not arrive; the hub retries";
  const configuring = { state: "configuring" } as const;
  expect(problemsOf(configuring)).toEqual([unconfirmed]);
  expect(problemsOf({ ...configuring, updated_at: NOW - 29_999 })).toEqual([]);
  expect(problemsOf({ ...configuring, updated_at: NOW, error: "timeout" })).toEqual([
    `${unconfirmed}: timeout`,
  ]);
  expect(problemsOf({ error: "timeout" })).toEqual([`${unconfirmed}: timeout`]);
});

it("reports nothing for active, paused and removed subscriptions, and for deleted nodes", () => {
  expect(problemsOf({})).toEqual([]);
  expect(problemsOf({ wanted: "paused", state: "failed", error: "x" })).toEqual([]);
  expect(problemsOf({ wanted: "removed", state: "failed", error: "x" })).toEqual([]);
  expect(problemsOf({ node_id: "deleted", state: "failed", error: "x" })).toEqual([]);
});

it("reports the defaults that the server may assume instead of values that it does not get", () => {
  expect(problemsOf({ assumed: { area: "ui" } })).toEqual([
    'assumed_default storm: Storm: params.area: the server may assume "ui", because its triggers share one subscription, and the hub sends only values that all of them have; if so, this trigger gets no events. Add a second connection to the server for it',
  ]);
});
