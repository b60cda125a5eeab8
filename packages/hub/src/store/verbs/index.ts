/**
 * Every verb by its name, and whether it writes. A backend turns this table into a `Store` by
 * running each entry in a transaction of its own.
 */

import { type Dialect, query, type Verb } from "../sql.ts";
import type { EventStore, Registry } from "../store.ts";
import { appendEvents } from "./append-events.ts";
import { getEvent, getPayload, listEvents, pendingStatus } from "./read-events.ts";
import {
  findInstallation,
  getTenant,
  listTenants,
  putInstallation,
  putTenant,
} from "./registry.ts";
import { searchEvents } from "./search-events.ts";
import {
  addSourceSecret,
  deleteSource,
  expireSourceSecret,
  findSource,
  listSources,
  putSource,
} from "./sources.ts";
import { sweep } from "./sweep.ts";
import { findToken, listTokens, putToken, replaceTokens, revokeToken } from "./tokens.ts";
import { claimEvents, markProcessed, releaseEvents } from "./work-events.ts";

function* checkWritable(at: number): Verb<void> {
  yield* query(
    "INSERT INTO health (id, checked_at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET checked_at = excluded.checked_at",
    [at],
  );
}

type Verbs = EventStore & Registry & { checkWritable(at: number): Promise<void> };

/** The verbs as generators, typed by the interface that they make up. */
export type VerbTable = {
  [Name in keyof Verbs]: {
    writes: boolean;
    run: (...args: Parameters<Verbs[Name]>) => Verb<Awaited<ReturnType<Verbs[Name]>>>;
  };
};

// A read is one statement, or does not mind what others commit between its statements.
const reads = <Run>(run: Run) => ({ writes: false, run });
const writes = <Run>(run: Run) => ({ writes: true, run });

export const verbTable = (dialect: Dialect): VerbTable => ({
  appendEvents: writes((batch, quota) => appendEvents(dialect, batch, quota)),
  pendingStatus: reads(pendingStatus),
  listEvents: reads(listEvents),
  searchEvents: reads((search) => searchEvents(dialect, search)),
  getEvent: reads(getEvent),
  getPayload: reads((tenant, seq) => getPayload(dialect, tenant, seq)),
  markProcessed: writes((tenant, ids, at, note) => markProcessed(dialect, tenant, ids, at, note)),
  claimEvents: writes((claim) => claimEvents(dialect, claim)),
  releaseEvents: writes((tenant, ids, by) => releaseEvents(dialect, tenant, ids, by)),
  sweep: writes((retention) => sweep(dialect, retention)),
  putTenant: writes(putTenant),
  getTenant: reads(getTenant),
  listTenants: reads(listTenants),
  putInstallation: writes(putInstallation),
  findInstallation: reads(findInstallation),
  putToken: writes(putToken),
  replaceTokens: writes(replaceTokens),
  findToken: reads(findToken),
  listTokens: reads(listTokens),
  revokeToken: writes(revokeToken),
  putSource: writes(putSource),
  findSource: reads(findSource),
  listSources: reads(listSources),
  deleteSource: writes(deleteSource),
  addSourceSecret: writes(addSourceSecret),
  expireSourceSecret: writes(expireSourceSecret),
  checkWritable: writes(checkWritable),
});

/** Makes the promise-returning methods out of the table, given a way to run one verb. */
export function bindVerbs(
  table: VerbTable,
  run: <Result>(verb: () => Verb<Result>, writes: boolean) => Promise<Result>,
): Verbs {
  const bound = Object.entries(table).map(([name, { writes, run: verb }]) => [
    name,
    (...args: never[]) => run(() => (verb as (...args: never[]) => Verb<unknown>)(...args), writes),
  ]);
  return Object.fromEntries(bound) as Verbs;
}
