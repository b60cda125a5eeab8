/**
 * The built Worker, with a record of the calls between it and its objects. `GET /test/calls` returns the
 * calls since the last request; `POST /test/clock?advance=MS` advances the clock of the caches, which
 * stands still otherwise, so that no cached value expires on a busy machine.
 */
import "./manual-clock.mjs";
import hub, * as classes from "./index.js";

let calls = [];

/** The methods of a stub are recorded as "CALLER > CLASS.METHOD". */
const countCalls = (caller, name, stub) =>
  new Proxy(stub, {
    get:
      (_, method) =>
      (...args) => {
        const verb = method === "callStore" ? args[0] : method;
        calls.push(`${caller} > ${name}.${verb}`);
        return stub[method](...args);
      },
  });

const NAMES = {
  TENANT_REGISTRY: "registry",
  WEBHOOK_STORE: "store",
  WEBHOOK_MCP_AGENT: "agent",
};

const countingEnv = (caller, env) => {
  const namespaces = Object.entries(NAMES).map(([binding, name]) => [
    binding,
    { getByName: (id) => countCalls(caller, name, env[binding].getByName(id)) },
  ]);
  return { ...env, ...Object.fromEntries(namespaces) };
};

/** An object with a timer is not evicted, however long the test takes. */
const keepInMemory = () => void setInterval(() => {}, 60_000);

export class TenantRegistry extends classes.TenantRegistry {
  constructor(state, env) {
    super(state, countingEnv("registry", env));
    keepInMemory();
  }
}

export class WebhookStore extends classes.WebhookStore {
  constructor(state, env) {
    super(state, countingEnv("store", env));
    keepInMemory();
  }
}

export class WebhookMcpAgent extends classes.WebhookMcpAgent {
  constructor(state, env) {
    super(state, countingEnv("agent", env));
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
    if (pathname !== "/test/calls") return hub.fetch(request, countingEnv("worker", env));
    const recorded = calls;
    calls = [];
    return Response.json(recorded);
  },
};
