import type {
  Connection,
  ConnectionLease,
  LeasedConnection,
  Offers,
  TriggerSubscription,
} from "../connection-store.ts";
import type { NewTrigger, StoredFlow } from "../flow-store.ts";
import type { Store } from "../store.ts";
import { eventTrigger, intents, makeFlow, publish } from "./flow-sample.ts";
import { START } from "./sample.ts";

type NewConnection = Parameters<Store["createConnection"]>[0];

export const sampleConnection = (given: Partial<NewConnection> = {}): NewConnection => ({
  id: "weather-7kq2xv",
  tenant: "acme",
  name: "Weather",
  target: { url: "https://weather.example/mcp" },
  sealed: "sealed",
  credentials: { auth: "bearer" },
  ...given,
});

/** The connection as it is stored at first. */
export const createdConnection = (given: Partial<NewConnection> = {}): Connection => ({
  ...sampleConnection(given),
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

export const sampleOffers = (given: Partial<Offers> = {}): Offers => ({
  server: { name: "weather", version: "1.0.0" },
  perSubscription: false,
  tools: [{ name: "forecast", description: "The weather of tomorrow.", inputSchema: {} }],
  triggers: [
    { type: "storm", description: "", binding: "callback", inputSchema: {}, paramsSchema: {} },
    { type: "rain", description: "", binding: "callback", inputSchema: {}, paramsSchema: {} },
  ],
  ...given,
});

export const connectionLease = (given: Partial<ConnectionLease> = {}): ConnectionLease => ({
  by: "keeper",
  now: START,
  until: START + 60,
  limit: 10,
  ...given,
});

/** Leases the only connection that is due. */
export async function leaseOne(
  store: Store,
  given: Partial<ConnectionLease> = {},
): Promise<LeasedConnection> {
  const [one, another] = await store.leaseConnections(connectionLease(given));
  if (!one || another) throw new Error(`${one ? "several" : "no"} connections were leased`);
  return one;
}

/** Creates and publishes a flow whose triggers listen to the connection. */
export async function publishTriggers(
  store: Store,
  triggers: Partial<NewTrigger>[],
  owner: Parameters<typeof makeFlow>[2] = {},
): Promise<StoredFlow> {
  return republish(store, await makeFlow(store, intents(), owner), triggers);
}

export const republish = (
  store: Store,
  flow: StoredFlow,
  triggers: Partial<NewTrigger>[],
  at = START,
): Promise<StoredFlow> =>
  publish(store, flow, {
    at,
    triggers: triggers.map((given) =>
      eventTrigger({ source: "weather-7kq2xv", type: "storm", ...given }),
    ),
  });

/** The subscriptions of the only due connection, also those wanted `removed`. Ends the lease. */
export async function subscriptionsOf(store: Store): Promise<TriggerSubscription[]> {
  const { connection, subscriptions } = await leaseOne(store, { by: "reader", now: START + 1e6 });
  const { id, revision } = connection;
  await store.finishConnection("reader", { id, revision, next_at: START }, [], START);
  return subscriptions;
}
