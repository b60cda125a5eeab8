/** The verbs of a store in another object, called by RPC. */
import { isDataError } from "../../store/backends/durable-object.ts";
import { StorageUnavailable } from "../../store/storage-unavailable.ts";
import type { Verbs } from "../../store/verbs/index.ts";

/** The method that every object has for the others. */
export interface StoreCalls {
  callStore(verb: string, args: unknown[], caller?: string): Promise<unknown>;
}

/** `caller`: the agent that wants the notices of the tenant that it reads. */
export const connectStore = (object: () => StoreCalls, caller?: string): Verbs =>
  new Proxy({} as Verbs, {
    get:
      (_, verb) =>
      async (...args: unknown[]): Promise<unknown> => {
        // workerd would pass a callback, but as a function that returns a promise.
        if (args.some((arg) => typeof arg === "function"))
          throw new Error(`${String(verb)} runs only in the object of its tenant.`);
        try {
          return await object().callStore(String(verb), args, caller);
        } catch (error) {
          // An error of the verb itself has the property `remote`.
          if (isDataError(error) || (error as { remote?: boolean }).remote) throw error;
          throw new StorageUnavailable(`An object did not respond: ${(error as Error).message}`);
        }
      },
  });
