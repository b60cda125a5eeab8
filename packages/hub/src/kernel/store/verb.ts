/**
 * Declares the methods of the store. Each is a generator (sql.ts), declared once: with its place, and whether
 * it writes. The type of the store is inferred from these declarations; see store.ts in the root folder.
 */
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { isStorageUnavailable } from "./availability.ts";
import type { Table } from "./schema.ts";
import type { Dialect, Reads, Verb } from "./sql.ts";
import type { StoreCache } from "./store-cache.ts";

/**
 * Where a verb runs when every tenant has its own object. `registry`: in the registry, which all tenants
 * share. `tenant`: in the store of the tenant that the first argument names. `own`: in the calling object,
 * on its own tables. `combined`: in one or several objects, as hosts/cloudflare/compose-store.ts implements it.
 */
export type Place = "registry" | "tenant" | "own" | "combined";

/** The `this` of every verb. */
export interface VerbContext {
  dialect: Dialect;
  /** All tables of the database. */
  tables: readonly Table[];
  cache: StoreCache;
}

/** The result of a verb that lists rows. */
export interface Page<Item, Cursor = number> {
  items: Item[];
  /** The cursor of the next page; null on the last page. Any page may have fewer items than `limit`. */
  next: Cursor | null;
}

/** How a backend runs verbs. */
export interface VerbRunner {
  /** Runs one verb; in one transaction if it writes. */
  run<Result>(verb: () => Verb<Result>, writes: boolean): Promise<Result>;
  /** Resolves when the former writes survive a crash. Undefined if `run` waits for that. */
  sync?(): Promise<void>;
}

type Run<Args extends unknown[], Result> = (this: VerbContext, ...args: Args) => Verb<Result>;

interface Declaration<P extends Place, Args extends unknown[], Result> {
  readonly place: P;
  /** Returns the method of a store. */
  toMethod(context: VerbContext, runner: VerbRunner): (...args: Args) => Promise<Result>;
}

type AnyDeclaration = Declaration<Place, never, unknown>;

type Declared<P extends Place, Args extends unknown[], Ran, Result> = Run<Args, Ran> &
  Declaration<P, Args, Result>;

const declare = <P extends Place, Args extends unknown[], Ran, Result>(
  place: P,
  run: Run<Args, Ran>,
  call: (runner: VerbRunner, verb: () => Verb<Ran>) => Promise<Result>,
): Declared<P, Args, Ran, Result> =>
  Object.assign(run, {
    place,
    toMethod:
      (context: VerbContext, runner: VerbRunner) =>
      (...args: Args) =>
        call(runner, () => run.apply(context, args)),
  });

/** A read needs no transaction: it is one statement, or tolerates commits between its statements. */
export const read = <P extends Place, Args extends unknown[], Result>(
  place: P,
  run: Run<Args, Result>,
) => declare(place, run, (runner, verb) => runner.run(verb, false));

/** One transaction. When the promise of the method resolves, the change survives a crash. */
export const write = <P extends Place, Args extends unknown[], Result>(
  place: P,
  run: Run<Args, Result>,
) => declare(place, run, (runner, verb) => runner.run(verb, true));

/** A read that returns a function, which decodes the result after the connection was released. */
export const readThenDecode = <P extends Place, Args extends unknown[], Result>(
  place: P,
  run: Run<Args, () => MaybePromise<Result>>,
) => declare(place, run, async (runner, verb) => (await runner.run(verb, false))());

/** A write that returns reads: they run after the commit, and return the result of the method. */
export const writeThenRead = <P extends Place, Args extends unknown[], Result>(
  place: P,
  run: Run<Args, Reads<Result>>,
) =>
  declare(place, run, async (runner, verb) => {
    const reads = await runner.run(verb, true);
    await runner.sync?.();
    return runReads(reads, (next) => runner.run(next, false));
  });

/** The methods of the verbs among the exports of some modules. */
export type StoreOf<Exports> = {
  [Name in keyof Exports as Exports[Name] extends AnyDeclaration
    ? Name
    : never]: Exports[Name] extends Declaration<Place, infer Args, infer Result>
    ? (...args: Args) => Promise<Result>
    : never;
};

/** The names of the verbs with this place. */
export type VerbsIn<Exports, P extends Place> = {
  [Name in keyof Exports]: Exports[Name] extends Declaration<P, never, unknown> ? Name : never;
}[keyof Exports];

const isDeclaration = (value: unknown): value is AnyDeclaration =>
  typeof value === "function" && "toMethod" in value;

/** Returns the verbs among the exports of some modules. */
export const verbsOf = (exports: object): [name: string, verb: AnyDeclaration][] =>
  Object.entries(exports).filter((entry): entry is [string, AnyDeclaration] =>
    isDeclaration(entry[1]),
  );

export const bindVerbs = <Exports extends object>(
  exports: Exports,
  context: VerbContext,
  runner: VerbRunner,
): StoreOf<Exports> =>
  Object.fromEntries(
    verbsOf(exports).map(([name, verb]) => [name, verb.toMethod(context, runner)]),
  ) as StoreOf<Exports>;

/**
 * After this time, a sequence of reads yields to the event loop. On SQLite a read is synchronous, and
 * awaiting its result does not yield.
 */
const MAX_BLOCKING_MS = 10;

async function runReads<Result>(
  reads: Reads<Result>,
  run: (read: () => Verb<void>) => Promise<void>,
): Promise<Result> {
  let since = performance.now();
  for (;;) {
    const { done, value } = reads.next();
    if (done) return value;
    await retryRead(() => run(value));
    if (performance.now() - since < MAX_BLOCKING_MS) continue;
    await new Promise((resolve) => setTimeout(resolve, 0));
    since = performance.now();
  }
}

const MAX_RETRIES = 10;
const RETRY_MS = 500;

/**
 * Repeats a read that follows a committed write. Without it, claimed runs would continue only after their
 * leases have expired.
 */
async function retryRead<Result>(read: () => Promise<Result>, failures = 0): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    if (!isStorageUnavailable(error) || failures === MAX_RETRIES) throw error;
  }
  await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  return retryRead(read, failures + 1);
}
