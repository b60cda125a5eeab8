/** Calls the verbs of a store in another object by RPC. */
import { isDataError } from "../../kernel/backends/durable-object.ts";
import { StorageUnavailable } from "../../kernel/store/availability.ts";
import type { Verbs } from "../../store.ts";

/** Every object has this RPC method, which runs a verb on its store. */
export interface StoreCalls {
  callStore(verb: string, args: unknown[], caller?: string): Promise<unknown>;
}

/** `caller` is the name of a `WebhookMcpAgent` object. The called store notifies that object of its commits. */
export const connectStore = (object: () => StoreCalls, caller?: string): Verbs =>
  new Proxy({} as Verbs, {
    get:
      (_, verb) =>
      async (...args: unknown[]): Promise<unknown> => {
        // Over RPC, a callback returns a promise, which the verbs do not await.
        if (args.some((arg) => typeof arg === "function"))
          throw new Error(`${String(verb)} runs only in the object of its tenant.`);
        try {
          return await object().callStore(String(verb), args, caller);
        } catch (error) {
          // An error of the verb itself has the property `remote`.
          if (isDataError(error) || (error as { remote?: boolean }).remote) throw error;
          throw new StorageUnavailable(
            `A Durable Object did not respond: ${(error as Error).message}`,
          );
        }
      },
  });
