import { START } from "../../../events/store/contract/sample.ts";
import type { NewTrigger, StoredFlow } from "../../../flows/model.ts";
import {
  eventTrigger,
  intents,
  makeFlow,
  publish,
} from "../../../flows/store/contract/flow-sample.ts";
import type { Store } from "../../../store.ts";
import type {
  Connection,
  ConnectionLease,
  LeasedConnection,
  Offers,
  TriggerSubscription,
} from "../../model.ts";

type NewConnection = Parameters<Store["createConnection"]>[0];

export const sampleConnection = (overrides: Partial<NewConnection> = {}): NewConnection => ({
  id: "weather-7kq2xv",
  tenant: "acme",
  name: "Weather",
  target: { url: "https://weather.example/mcp" },
  sealed: "sealed",
  credentials: { auth: "bearer" },
  ...overrides,
});

/** Returns the connection as it is stored after its creation. */
export const createdConnection = (overrides: Partial<NewConnection> = {}): Connection => ({
  ...sampleConnection(overrides),
  revision: 1,
  status: "unknown",
  error: null,
  checked_at: null,
  attempt: 0,
  tool_count: 0,
  trigger_count: 0,
  next_at: START,
  deleted: false,
  created_at: START,
  updated_at: START,
});

export const sampleOffers = (overrides: Partial<Offers> = {}): Offers => ({
  server: { name: "weather", version: "1.0.0" },
  perSubscription: false,
  tools: [{ name: "forecast", description: "The weather of tomorrow.", inputSchema: {} }],
  triggers: [
    { type: "storm", description: "", binding: "callback", inputSchema: {}, paramsSchema: {} },
    { type: "rain", description: "", binding: "callback", inputSchema: {}, paramsSchema: {} },
  ],
  ...overrides,
});

export const connectionLease = (overrides: Partial<ConnectionLease> = {}): ConnectionLease => ({
  by: "keeper",
  now: START,
  until: START + 60,
  limit: 10,
  ...overrides,
});

/** Leases the only connection that is due. Throws if several or none are due. */
export async function leaseOne(
  store: Store,
  overrides: Partial<ConnectionLease> = {},
): Promise<LeasedConnection> {
  const [leased, another] = await store.leaseConnections(connectionLease(overrides));
  if (!leased || another) throw new Error(`${leased ? "several" : "no"} connections were leased`);
  return leased;
}

/** Creates and publishes a flow whose triggers listen to the connection. */
export async function publishTriggers(
  store: Store,
  triggers: Partial<NewTrigger>[],
  owner: Parameters<typeof makeFlow>[2] = {},
): Promise<StoredFlow> {
  return republish(store, await makeFlow(store, intents(), owner), triggers);
}

/** Publishes the flow again, with other triggers. */
export const republish = (
  store: Store,
  flow: StoredFlow,
  triggers: Partial<NewTrigger>[],
  at = START,
): Promise<StoredFlow> =>
  publish(store, flow, {
    at,
    triggers: triggers.map((overrides) =>
      eventTrigger({ source: "weather-7kq2xv", type: "storm", ...overrides }),
    ),
  });

/** Leases the only due connection, and returns its subscriptions, also those that are to be removed. */
export async function subscriptionsOf(store: Store): Promise<TriggerSubscription[]> {
  const { connection, subscriptions } = await leaseOne(store, { by: "reader", now: START + 1e6 });
  const { id, revision } = connection;
  await store.finishConnection("reader", { id, revision, next_at: START }, [], START);
  return subscriptions;
}
