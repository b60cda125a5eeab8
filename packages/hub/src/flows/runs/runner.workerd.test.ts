import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { StoreObject } from "../../kernel/backends/durable-object.test-worker.ts";
import { openDurableObject } from "../../kernel/backends/durable-object.ts";
import { storeDefinition } from "../../store.ts";
import { runnerContract } from "./contract.ts";

// The runner executes inside the Durable Object, as in production.
runnerContract("a Durable Object", (body) =>
  runInDurableObject(env.STORE.get(env.STORE.newUniqueId()), (_: StoreObject, { storage }) =>
    body(openDurableObject(storeDefinition, storage)),
  ),
);
