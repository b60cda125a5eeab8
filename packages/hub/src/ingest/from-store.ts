/**
 * An error that is the database's, told from an error of our own: the first passes by itself and
 * is answered by "send it again", the second is a bug and is logged as one.
 */
export class StoreFailed extends Error {
  readonly code = "store_failed";
}

/** What the store answers; its failure, if it fails. */
export async function fromStore<Result>(answer: Promise<Result>): Promise<Result> {
  try {
    return await answer;
  } catch (error) {
    throw new StoreFailed("The store did not answer.", { cause: error });
  }
}
