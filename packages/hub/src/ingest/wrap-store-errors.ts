import { RequestError } from "../lib/request-error.ts";

/**
 * Marks an error of the database, to distinguish it from a bug: the sender gets `storage_unavailable`
 * instead of `internal`.
 */
export class StoreFailed extends Error {
  readonly code = "store_failed";
}

/**
 * Wraps an error of the database in `StoreFailed`. A `RequestError` is rethrown unchanged: the caller
 * can correct it.
 */
export async function wrapStoreErrors<Result>(result: Promise<Result>): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof RequestError) throw error;
    throw new StoreFailed("The store failed.", { cause: error });
  }
}
