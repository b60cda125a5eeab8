/**
 * The built Worker, which also records the calls between the Worker and its Durable Objects.
 * `/test/calls` returns the calls since the previous request to `/test/calls`.
 * `/test/clock?advance=MS` advances the monotonic clock, which otherwise stands still, so that no cached
 * value expires on a busy machine.
 */
import "./manual-clock.mjs";
import hub, * as classes from "./index.js";

let calls = [];

/** Wraps the stub of an object, and records each call as "CALLER > OBJECT.METHOD". */
const recordCalls = (caller, name, stub) =>
  new Proxy(stub, {
    get:
      (_, method) =>
      (...args) => {
        // `callStore` is generic: its first argument names the operation of the store.
        const operation = method === "callStore" ? args[0] : method;
        calls.push(`${caller} > ${name}.${operation}`);
        return stub[method](...args);
      },
  });

const OBJECT_NAMES = {
  TENANT_REGISTRY: "registry",
  WEBHOOK_STORE: "store",
  WEBHOOK_MCP_AGENT: "agent",
};

const recordingEnv = (caller, env) => {
  const namespaces = Object.entries(OBJECT_NAMES).map(([binding, name]) => [
    binding,
    { getByName: (id) => recordCalls(caller, name, env[binding].getByName(id)) },
  ]);
  return { ...env, ...Object.fromEntries(namespaces) };
};

/** Keeps an object in memory during the test: workerd does not evict an object with a pending timer. */
const keepInMemory = () => void setInterval(() => {}, 60_000);

export class TenantRegistry extends classes.TenantRegistry {
  constructor(state, env) {
    super(state, recordingEnv("registry", env));
    keepInMemory();
  }
}

export class WebhookStore extends classes.WebhookStore {
  constructor(state, env) {
    super(state, recordingEnv("store", env));
    keepInMemory();
  }
}

export class WebhookMcpAgent extends classes.WebhookMcpAgent {
  constructor(state, env) {
    super(state, recordingEnv("agent", env));
    keepInMemory();
  }
}

export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/test/clock") {
      globalThis.advanceClock(Number(searchParams.get("advance")));
      return new Response();
    }
    if (pathname !== "/test/calls") return hub.fetch(request, recordingEnv("worker", env));
    const recorded = calls;
    calls = [];
    return Response.json(recorded);
  },
};
