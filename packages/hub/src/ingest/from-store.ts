/**
 * Marks an error of the database, to distinguish it from a bug: the client may retry after the first,
 * the second is logged as an internal error.
 */
export class StoreFailed extends Error {
  readonly code = "store_failed";
}

/** Rethrows a rejection of the store as `StoreFailed`. */
export async function fromStore<Result>(answer: Promise<Result>): Promise<Result> {
  try {
    return await answer;
  } catch (error) {
    throw new StoreFailed("The store did not answer.", { cause: error });
  }
}
