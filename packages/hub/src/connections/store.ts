/** The verbs of connections. */
export * from "./store/callback-tokens.ts";
export * from "./store/connection-leases.ts";
export * from "./store/connections.ts";
export * from "./store/grants.ts";
export * from "./store/trigger-subscriptions.ts";
export * from "./tables.ts";
