import { RequestError } from "./request-error.ts";

/** An error of the store. The sender of a webhook gets `storage_unavailable` instead of `internal`. */
export class StoreFailed extends Error {
  readonly code = "store_failed";
}

/**
 * Wraps the error of a call to the store in `StoreFailed`, to distinguish it from a bug elsewhere. A
 * `RequestError` is rethrown unchanged: it means that the request is wrong.
 */
export async function wrapStoreErrors<Result>(result: Promise<Result>): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof RequestError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreFailed(`The store failed: ${reason}`, { cause: error });
  }
}
