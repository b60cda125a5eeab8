/** The verbs of events, of the endpoints that receive them, and of retention. */
export * from "./endpoints/store.ts";
export * from "./retention/store.ts";
export * from "./store/claim-events.ts";
export * from "./store/read-events.ts";
export * from "./store/search-events.ts";
export * from "./tables.ts";
