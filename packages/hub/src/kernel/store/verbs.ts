/**
 * The table of all verbs. A backend turns it into methods of a `Store`, and runs each verb that writes
 * in one transaction.
 */

import {
  confirmCallbackToken,
  findCallbackToken,
  rejectCallbackToken,
  stageCallbackToken,
} from "../../connections/store/callback-tokens.ts";
import {
  dropFormerServers,
  finishConnection,
  leaseConnections,
  nextConnectionDue,
  releaseConnections,
  renewConnections,
  saveSubscriptions,
} from "../../connections/store/connection-leases.ts";
import {
  createConnection,
  deleteConnection,
  getConnection,
  getOffers,
  listConnections,
  touchConnection,
  updateConnection,
} from "../../connections/store/connections.ts";
import {
  beginAuthorization,
  getGrant,
  leaseGrant,
  saveGrant,
  takeAuthorization,
} from "../../connections/store/grants.ts";
import {
  listSubscriptionStates,
  listTriggerSubscriptions,
  renewSubscriptions,
  rotateCallbackToken,
} from "../../connections/store/trigger-subscriptions.ts";
import {
  countSubscriptions,
  findSubscription,
  isVerified,
  leaseSubscriptions,
  putSubscription,
  putVerification,
  recordProgress,
  releaseSubscriptions,
  removeSubscription,
} from "../../events/deliveries/store.ts";
import {
  addSourceSecret,
  deleteSource,
  expireSourceSecret,
  findSource,
  listSources,
  putSource,
} from "../../events/endpoints/store.ts";
import { acceptClock, getClock, observeClock } from "../../events/retention/clock-store.ts";
import { sweep, sweepTenants } from "../../events/retention/sweep.ts";
import { appendEvents } from "../../events/store/append-events.ts";
import {
  claimEvent,
  claimEvents,
  markClaimedProcessed,
  markProcessed,
  releaseEvents,
  reopenEvents,
} from "../../events/store/claim-events.ts";
import {
  countPending,
  findExternalIds,
  getEvent,
  getLogId,
  getPayload,
  listEvents,
  listEventTypes,
  listRecentTypes,
  pendingStatus,
  slicePayload,
} from "../../events/store/read-events.ts";
import { countReceived, searchEvents } from "../../events/store/search-events.ts";
import { listTrips } from "../../flows/matching/store/breakers.ts";
import {
  claimMatching,
  countMatching,
  finishMatching,
  listDeferred,
  moveMatching,
  nextMatchingDue,
} from "../../flows/matching/store/matching.ts";
import {
  claimRuns,
  loadOutput,
  nextDue,
  releaseRuns,
  renewRuns,
} from "../../flows/runs/store/claim-runs.ts";
import { cancelRun, enableStepNotices, retryRun } from "../../flows/runs/store/control-runs.ts";
import { prepareRun, queueRuns, startInLane, startRun } from "../../flows/runs/store/queue-runs.ts";
import {
  countRuns,
  countRunsByPeriod,
  countSteps,
  findRun,
  getRun,
  lastRuns,
  listRunSummaries,
  listRuns,
  listRunTimes,
  listSteps,
  listVerdicts,
  measureValue,
  previewRun,
  readValue,
  sweepRuns,
} from "../../flows/runs/store/read-runs.ts";
import { saveProgress } from "../../flows/runs/store/run-progress.ts";
import { measureQueues, readQueue, saveRunWaits } from "../../flows/runs/store/run-queue-reads.ts";
import {
  deleteSecret,
  getSecrets,
  listSealed,
  listSecretNames,
  putSecret,
  replaceSealed,
  sampleSealed,
} from "../../flows/secrets/store.ts";
import { createApp, deleteApp, getApp, listApps, updateApp } from "../../flows/store/apps.ts";
import {
  createFlow,
  deleteFlow,
  editFlow,
  findToolOwner,
  getFlow,
  getVersion,
  listDraftStates,
  listFlows,
  listVersions,
  publishFlow,
  rollBackFlow,
  saveDraftVersion,
  saveFlows,
  sweepFlows,
} from "../../flows/store/flows.ts";
import { migrateLegacyFlows } from "../../flows/store/legacy-flows.ts";
import { fireSchedules, listSchedules, nextScheduleDue } from "../../flows/store/schedules.ts";
import {
  countVerdicts,
  findTool,
  findTriggers,
  getTrigger,
  listEventTriggers,
  listTools,
  listTriggerStates,
} from "../../flows/store/triggers.ts";
import { getOAuthClient, putOAuthClient, registerOAuthClient } from "../../oauth/clients-store.ts";
import {
  createOAuthGrant,
  decideOAuthGrant,
  findGrantByFamily,
  findPendingGrant,
  getOAuthGrant,
  listOAuthGrants,
  redeemOAuthGrant,
  revokeOAuthGrant,
  rotateOAuthGrant,
  sweepOAuth,
} from "../../oauth/store.ts";
import { endPerson, getPerson, leasePerson, putPerson, sweepPeople } from "../../people/store.ts";
import {
  changeRedelivery,
  countRedeliveries,
  dueRedeliveries,
  finishRedeliverySweep,
  getRedeliverySweep,
  leaseRedeliverySweep,
  listRedeliveries,
  recordAttempts,
  requestRedeliverySweep,
  retryRedelivery,
} from "../../redelivery/store.ts";
import {
  findInstallation,
  getTenant,
  listInstallations,
  listTenants,
  putInstallation,
  putTenant,
  renameTenant,
  sumBytes,
} from "../../tenants/registry.ts";
import {
  continueDeletion,
  exportRows,
  listDeletions,
  startDeletion,
} from "../../tenants/tenant-data.ts";
import {
  countChildren,
  findToken,
  getToken,
  listTokens,
  putToken,
  replaceTokens,
  revokeToken,
  sweepSessions,
  touchTokens,
} from "../../tokens/store.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { ConnectionStore } from "./connection-store.ts";
import type { FlowStore } from "./flow-store.ts";
import type { ConnectionGrantStore } from "./grant-store.ts";
import type { MatchingStore } from "./matching-store.ts";
import type { OAuthStore } from "./oauth-store.ts";
import type { PeopleStore } from "./people-store.ts";
import type { RedeliveryStore } from "./redelivery-store.ts";
import type { RunStore } from "./run-store.ts";
import type { ScheduleStore } from "./schedule-store.ts";
import type { SecretStore } from "./secret-store.ts";
import { type Dialect, execute, type Reads, type Verb } from "./sql.ts";
import { isStorageUnavailable } from "./storage-unavailable.ts";
import type { EventStore, HealthStore, SubscriptionStore, TenantStore } from "./store.ts";
import { createStoreCache } from "./store-cache.ts";
import type { TenantDataStore } from "./tenant-data-store.ts";

const checkWritable = (at: number) =>
  execute(
    "INSERT INTO health (id, checked_at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET checked_at = excluded.checked_at",
    [at],
  );

export type Verbs = EventStore &
  MatchingStore &
  TenantStore &
  PeopleStore &
  TenantDataStore &
  SubscriptionStore &
  FlowStore &
  RunStore &
  ScheduleStore &
  SecretStore &
  ConnectionStore &
  OAuthStore &
  ConnectionGrantStore &
  RedeliveryStore &
  HealthStore;

/** The verbs, typed by the interfaces that they implement. */
export type VerbTable = {
  [Name in keyof Verbs]:
    | {
        writes: boolean;
        run: (...args: Parameters<Verbs[Name]>) => Verb<Awaited<ReturnType<Verbs[Name]>>>;
      }
    | WriteThenRead<Parameters<Verbs[Name]>, Awaited<ReturnType<Verbs[Name]>>>
    | ReadThenDecode<Parameters<Verbs[Name]>, Awaited<ReturnType<Verbs[Name]>>>;
};

/** A write that returns reads: they run after the commit, and return the result of the method. */
interface WriteThenRead<Args extends unknown[], Result> {
  writes: true;
  thenReads: true;
  run: (...args: Args) => Verb<Reads<Result>>;
}

/** A read that returns a function, which decodes the result after the connection was released. */
interface ReadThenDecode<Args extends unknown[], Result> {
  writes: false;
  thenDecodes: true;
  run: (...args: Args) => Verb<() => MaybePromise<Result>>;
}

// A read needs no transaction: it is one statement, or tolerates commits between its statements.
const reads = <Run>(run: Run) => ({ writes: false, run });
const writes = <Run>(run: Run) => ({ writes: true, run });
const writesThenReads = <Run>(run: Run) => ({ writes: true, thenReads: true, run }) as const;

const readsThenDecodes = <Run>(run: Run) => ({ writes: false, thenDecodes: true, run }) as const;

export const verbTable = (dialect: Dialect, cache = createStoreCache()): VerbTable => ({
  appendEvents: writes((batch, quota) => appendEvents(dialect, batch, quota)),
  claimMatching: writes((claim) => claimMatching(dialect, claim)),
  finishMatching: writes((finished) => finishMatching(dialect, finished)),
  moveMatching: writes((claims, due) => moveMatching(dialect, claims, due)),
  listDeferred: reads(listDeferred),
  nextMatchingDue: reads(nextMatchingDue),
  countMatching: reads(countMatching),
  pendingStatus: reads(pendingStatus),
  countPending: reads(countPending),
  listEvents: reads(listEvents),
  listEventTypes: reads(listEventTypes),
  listRecentTypes: reads(listRecentTypes),
  countReceived: reads(countReceived),
  searchEvents: reads((search) => searchEvents(dialect, search)),
  getEvent: reads(getEvent),
  findExternalIds: reads((tenant, endpoints, ids) =>
    findExternalIds(dialect, tenant, endpoints, ids),
  ),
  getLogId: reads(() => getLogId(dialect)),
  slicePayload: reads((...slice) => slicePayload(dialect, ...slice)),
  getPayload: readsThenDecodes((tenant, seq) => getPayload(dialect, cache, tenant, seq)),
  markProcessed: writes((tenant, ids, at, note) => markProcessed(dialect, tenant, ids, at, note)),
  reopenEvents: writes((tenant, ids) => reopenEvents(dialect, tenant, ids)),
  claimEvents: writes((claim) => claimEvents(dialect, claim)),
  claimEvent: writes(claimEvent),
  markClaimedProcessed: writes((tenant, id, by, at, note) =>
    markClaimedProcessed(dialect, tenant, id, by, at, note),
  ),
  releaseEvents: writes((tenant, ids, by, options) =>
    releaseEvents(dialect, tenant, ids, by, options),
  ),
  sweep: writes((retention) => sweep(dialect, retention)),
  sweepTenants: writes((after, time, limit) => sweepTenants(dialect, after, time, limit)),
  putTenant: writes(putTenant),
  getTenant: reads(getTenant),
  listTenants: reads(listTenants),
  sumBytes: reads(sumBytes),
  putInstallation: writes(putInstallation),
  findInstallation: reads(findInstallation),
  listInstallations: reads(listInstallations),
  renameTenant: writes(renameTenant),
  exportRows: reads(exportRows),
  startDeletion: writes((tenant, at) => startDeletion(dialect, tenant, at)),
  continueDeletion: writes((tenant, limit) => continueDeletion(dialect, tenant, limit)),
  listDeletions: reads(listDeletions),
  putToken: writes(putToken),
  replaceTokens: writes(replaceTokens),
  findToken: reads(findToken),
  getToken: reads(getToken),
  listTokens: reads(listTokens),
  revokeToken: writes(revokeToken),
  countChildren: reads(countChildren),
  touchTokens: writes((ids, at) => touchTokens(dialect, ids, at)),
  sweepSessions: writes(sweepSessions),
  putOAuthClient: writes(putOAuthClient),
  registerOAuthClient: writes((client, limit) => registerOAuthClient(dialect, client, limit)),
  getOAuthClient: reads(getOAuthClient),
  createOAuthGrant: writes(createOAuthGrant),
  getOAuthGrant: reads(getOAuthGrant),
  findPendingGrant: reads(findPendingGrant),
  decideOAuthGrant: writes(decideOAuthGrant),
  redeemOAuthGrant: writes((redemption) => redeemOAuthGrant(dialect, redemption)),
  findGrantByFamily: reads(findGrantByFamily),
  rotateOAuthGrant: writes((rotation) => rotateOAuthGrant(dialect, rotation)),
  revokeOAuthGrant: writes(revokeOAuthGrant),
  listOAuthGrants: reads(listOAuthGrants),
  sweepOAuth: writes(sweepOAuth),
  putPerson: writes(putPerson),
  getPerson: reads(getPerson),
  leasePerson: writes(leasePerson),
  endPerson: writes(endPerson),
  sweepPeople: writes(sweepPeople),
  putSource: writes(putSource),
  findSource: reads(findSource),
  listSources: reads(listSources),
  deleteSource: writes(deleteSource),
  addSourceSecret: writes(addSourceSecret),
  expireSourceSecret: writes(expireSourceSecret),
  putSubscription: writes((subscription, options) =>
    putSubscription(dialect, subscription, options),
  ),
  findSubscription: reads(findSubscription),
  countSubscriptions: reads(countSubscriptions),
  removeSubscription: writes(removeSubscription),
  leaseSubscriptions: writes((lease) => leaseSubscriptions(dialect, lease)),
  releaseSubscriptions: writes(releaseSubscriptions),
  recordProgress: writes(recordProgress),
  isVerified: reads(isVerified),
  putVerification: writes(putVerification),
  createApp: writes(createApp),
  getApp: reads(getApp),
  listApps: reads(listApps),
  updateApp: writes(updateApp),
  deleteApp: writes((tenant, slug, at) => deleteApp(dialect, tenant, slug, at)),
  createFlow: writes((flow, edit) => createFlow(dialect, flow, edit)),
  editFlow: writes((key, at, edit) => editFlow(dialect, key, at, edit)),
  saveFlows: writes((app, plan) => saveFlows(dialect, app, plan)),
  migrateLegacyFlows: writes((convert) => migrateLegacyFlows(dialect, convert)),
  getFlow: reads(getFlow),
  listFlows: reads(listFlows),
  listDraftStates: reads((tenant, flows) => listDraftStates(dialect, tenant, flows)),
  findToolOwner: reads(findToolOwner),
  deleteFlow: writes((key, at) => deleteFlow(dialect, key, at)),
  sweepFlows: writes((before, limit, since) => sweepFlows(dialect, before, limit, since)),
  publishFlow: writes((key, prepare) => publishFlow(dialect, key, prepare)),
  rollBackFlow: writes((key, version, at, edit, prepare) =>
    rollBackFlow(dialect, key, version, at, edit, prepare),
  ),
  saveDraftVersion: writes((key, draft) => saveDraftVersion(dialect, key, draft)),
  listVersions: reads(listVersions),
  getVersion: reads(getVersion),
  listTriggerStates: reads(listTriggerStates),
  listTools: reads(listTools),
  findTool: reads(findTool),
  getTrigger: reads(getTrigger),
  findTriggers: reads(findTriggers),
  listEventTriggers: reads(listEventTriggers),
  countVerdicts: reads(countVerdicts),
  listTrips: reads((tenant, flows, since) => listTrips(dialect, tenant, flows, since)),
  queueRuns: writes((runs) => queueRuns(dialect, runs)),
  startRun: writes((run, lease) => startRun(dialect, cache, run, lease)),
  prepareRun: reads((run, lease) => prepareRun(cache, run, lease)),
  startInLane: writes((run, lease) => startInLane(dialect, cache, run, lease)),
  claimRuns: writesThenReads((lease, limit, shares) =>
    claimRuns(dialect, cache, lease, limit, shares),
  ),
  renewRuns: writes((lease, runs) => renewRuns(dialect, lease, runs)),
  saveProgress: writes((batch) => saveProgress(dialect, batch)),
  nextDue: reads(nextDue),
  releaseRuns: writes((worker, now) => releaseRuns(dialect, worker, now)),
  getRun: reads(getRun),
  previewRun: reads(previewRun),
  loadOutput: reads(loadOutput),
  measureValue: reads(measureValue),
  readValue: reads(readValue),
  findRun: reads(findRun),
  listRuns: reads(listRuns),
  listRunSummaries: reads(listRunSummaries),
  lastRuns: reads((tenant, flows) => lastRuns(dialect, tenant, flows)),
  countRunsByPeriod: reads(countRunsByPeriod),
  listRunTimes: reads(listRunTimes),
  countRuns: reads(countRuns),
  readQueue: reads((tenant, now, max) => readQueue(dialect, tenant, now, max)),
  measureQueues: reads(measureQueues),
  saveRunWaits: writes(saveRunWaits),
  listSteps: reads(listSteps),
  countSteps: reads(countSteps),
  cancelRun: writes((tenant, id, at) => cancelRun(dialect, tenant, id, at)),
  retryRun: writes((tenant, id, at) => retryRun(dialect, tenant, id, at)),
  enableStepNotices: writes(enableStepNotices),
  listVerdicts: reads(listVerdicts),
  sweepRuns: writes((before, limit, since) => sweepRuns(dialect, before, limit, since)),
  fireSchedules: writes((now, limit, plan) => fireSchedules(dialect, now, limit, plan)),
  nextScheduleDue: reads(nextScheduleDue),
  listSchedules: reads((tenant, flows) => listSchedules(dialect, tenant, flows)),
  putSecret: writes(putSecret),
  listSecretNames: reads(listSecretNames),
  getSecrets: reads((tenant, names) => getSecrets(dialect, tenant, names)),
  deleteSecret: writes(deleteSecret),
  sampleSealed: reads(sampleSealed),
  listSealed: reads(listSealed),
  replaceSealed: writes(replaceSealed),
  createConnection: writes((connection, at) => createConnection(dialect, connection, at)),
  updateConnection: writes((tenant, id, change, at) =>
    updateConnection(dialect, tenant, id, change, at),
  ),
  deleteConnection: writes((tenant, id, at) => deleteConnection(dialect, tenant, id, at)),
  getConnection: reads(getConnection),
  listConnections: reads(listConnections),
  getOffers: reads(getOffers),
  touchConnection: writes(touchConnection),
  leaseConnections: writes((lease) => leaseConnections(dialect, lease)),
  renewConnections: writes((lease, ids) => renewConnections(dialect, lease, ids)),
  finishConnection: writes((by, result, subscriptions, now) =>
    finishConnection(dialect, by, result, subscriptions, now),
  ),
  dropFormerServers: writes((by, connection, revision) =>
    dropFormerServers(dialect, by, connection, revision),
  ),
  saveSubscriptions: writes((by, connection, subscriptions, now) =>
    saveSubscriptions(dialect, by, connection, subscriptions, now),
  ),
  nextConnectionDue: reads(nextConnectionDue),
  releaseConnections: writes((by) => releaseConnections(dialect, by)),
  listTriggerSubscriptions: reads(listTriggerSubscriptions),
  listSubscriptionStates: reads((tenant, flows) => listSubscriptionStates(dialect, tenant, flows)),
  renewSubscriptions: writes(renewSubscriptions),
  rotateCallbackToken: writes((tenant, connection, id, options) =>
    rotateCallbackToken(dialect, tenant, connection, id, options),
  ),
  getGrant: reads(getGrant),
  beginAuthorization: writes((tenant, connection, pending) =>
    beginAuthorization(dialect, tenant, connection, pending),
  ),
  takeAuthorization: writes((tenant, connection, expected) =>
    takeAuthorization(dialect, tenant, connection, expected),
  ),
  leaseGrant: writes(leaseGrant),
  saveGrant: writes((tenant, connection, grant, at) =>
    saveGrant(dialect, tenant, connection, grant, at),
  ),
  stageCallbackToken: writes((token) => stageCallbackToken(dialect, token)),
  confirmCallbackToken: writes((token) => confirmCallbackToken(dialect, token)),
  rejectCallbackToken: writes((token) => rejectCallbackToken(dialect, token)),
  findCallbackToken: reads(findCallbackToken),
  requestRedeliverySweep: writes(requestRedeliverySweep),
  leaseRedeliverySweep: writes(leaseRedeliverySweep),
  recordAttempts: writes((lease, attempts, progress) =>
    recordAttempts(dialect, lease, attempts, progress),
  ),
  dueRedeliveries: reads(dueRedeliveries),
  changeRedelivery: writes(changeRedelivery),
  retryRedelivery: writes(retryRedelivery),
  finishRedeliverySweep: writes(finishRedeliverySweep),
  getRedeliverySweep: reads(getRedeliverySweep),
  listRedeliveries: reads(listRedeliveries),
  countRedeliveries: reads(countRedeliveries),
  checkWritable: writes(checkWritable),
  observeClock: writes((reading) => observeClock(dialect, reading)),
  acceptClock: writes((wall) => acceptClock(dialect, wall)),
  getClock: reads(() => getClock()),
});

/** Turns the table into methods that return promises; `run` executes one verb. */
export function bindVerbs(
  table: VerbTable,
  run: <Result>(verb: () => Verb<Result>, writes: boolean) => Promise<Result>,
): Verbs {
  const bound = Object.entries(table).map(([name, entry]) => {
    const verb = entry.run as (...args: never[]) => Verb<unknown>;
    const call = (...args: never[]) => run(() => verb(...args), entry.writes);
    if ("thenDecodes" in entry)
      return [name, async (...args: never[]) => ((await call(...args)) as () => unknown)()];
    if (!("thenReads" in entry)) return [name, call];
    return [
      name,
      async (...args: never[]) =>
        runReads((await call(...args)) as Reads<unknown>, (read) => run(read, false)),
    ];
  });
  return Object.fromEntries(bound) as Verbs;
}

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
