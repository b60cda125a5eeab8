import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { StoreObject } from "../store/backends/durable-object.test-worker.ts";
import { openDurableObject } from "../store/backends/durable-object.ts";
import { runnerContract } from "./contract.ts";

// All of it inside of the object, as it would be there.
runnerContract("a Durable Object", (body) =>
  runInDurableObject(env.STORE.get(env.STORE.newUniqueId()), (_: StoreObject, { storage }) =>
    body(openDurableObject(storage)),
  ),
);
