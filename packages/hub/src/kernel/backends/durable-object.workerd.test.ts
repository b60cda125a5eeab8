import { runInDurableObject } from "cloudflare:test";
import { type DurableObjectStub, env } from "cloudflare:workers";
import { storeContract } from "../../store.contract.ts";
import type { Store } from "../../store.ts";
import type { StoreObject } from "./durable-object.test-worker.ts";
import { isDataError } from "./durable-object.ts";

/**
 * Calls every verb by RPC, which tests that arguments and results can be cloned. A verb with a callback
 * is called inside the object.
 */
const connect = (object: () => DurableObjectStub<StoreObject>): Store =>
  new Proxy({ backend: "durable-object", isDataError } as Store, {
    get: (own, name) =>
      Reflect.get(own, name) ??
      // Without `then`, an `await` does not take the store for a promise.
      (name === "then"
        ? undefined
        : async (...args: unknown[]) => {
            const reply = args.some(isCallback)
              ? await runInDurableObject(object(), (inside) => inside.call(String(name), args))
              : await object().call(String(name), args);
            if ("error" in reply) throw new Error(reply.error);
            return reply.result;
          }),
  });

const isCallback = (arg: unknown): boolean =>
  typeof arg === "function" ||
  (typeof arg === "object" &&
    arg !== null &&
    Object.values(arg).some((field) => typeof field === "function"));

storeContract("a Durable Object", async () => {
  const id = env.STORE.newUniqueId();
  const object = () => env.STORE.get(id);
  const reopen = async () => {
    await object()
      .crash()
      .catch(() => {});
    return connect(object);
  };
  return {
    store: connect(object),
    notices: async () => await object().notices(),
    reopen,
    async reopenOn(statements) {
      await runInDurableObject(object(), async (_, { storage }) => {
        await storage.deleteAll();
        storage.sql.exec(statements);
      });
      return reopen();
    },
    sql: (query) =>
      runInDurableObject(object(), (_, { storage }) => storage.sql.exec(query).toArray()),
    async close() {},
  };
});
