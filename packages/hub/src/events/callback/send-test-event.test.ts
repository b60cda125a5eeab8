import { expect, it } from "vitest";
import { createIds } from "../../kernel/lib/ids.ts";
import type { AppendRequest, AppendResult } from "../model.ts";
import { createSendTestEvent } from "./send-test-event.ts";

const sample = { city: "Rome" };
const offers = {
  server: null,
  perSubscription: false,
  tools: [],
  triggers: [
    { type: "storm", sample },
    { type: "rain", sample: undefined },
  ],
};

function setUp(result?: AppendResult) {
  const stored: AppendRequest[] = [];
  const send = createSendTestEvent({
    store: {
      getConnection: async (tenant: string) => (tenant === "acme" ? {} : undefined) as never,
      getOffers: async () => offers as never,
    },
    async append(request) {
      stored.push(request);
      return result ?? ({ outcome: "stored", events: [] } as unknown as AppendResult);
    },
    newId: createIds(),
    now: () => 7,
  });
  return { send: (overrides = {}) => send({ ...request, ...overrides }), stored };
}

const request = { tenant: "acme", connection: "weather-7kq2xv", type: "storm" };

it("stores the server's sample as an event of the connection, and marks it", async () => {
  const { send, stored } = setUp();
  expect(await send()).toEqual({ id: stored[0]?.events[0]?.id });
  expect(stored).toMatchObject([
    {
      tenant: "acme",
      data: [sample],
      events: [
        {
          source: request.connection,
          source_id: request.connection,
          external_id: null,
          type: "storm",
          received_at: 7,
          headers: { "signalbox-test": "true" },
        },
      ],
    },
  ]);
  expect(new TextDecoder().decode(stored[0]?.events[0]?.body)).toBe(JSON.stringify(sample));
});

it("stores the requested data instead of the sample, even for a type that the server does not list", async () => {
  const { send, stored } = setUp();
  await send({ type: "hail", data: { n: 1 } });
  expect(stored[0]).toMatchObject({ data: [{ n: 1 }], events: [{ type: "hail" }] });
});

it("requires data if the server has no sample", async () => {
  const { send, stored } = setUp();
  for (const type of ["rain", "hail"])
    await expect(send({ type })).rejects.toMatchObject({ code: "invalid", field: "data" });
  expect(stored).toEqual([]);
});

it("rejects an unknown connection, an invalid type, and an event above the quota", async () => {
  await expect(setUp().send({ tenant: "umbrella" })).rejects.toMatchObject({ code: "not_found" });
  expect(await setUp().send({ type: "a\nb", data: {} })).toMatchObject({ reason: "invalid_field" });
  const full = setUp({ outcome: "over_quota", pending: 5, quota: 5 });
  expect(await full.send()).toMatchObject({ reason: "quota_exceeded" });
});
