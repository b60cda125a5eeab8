/**
 * The contract suite: every backend calls it with a function that opens a new, empty store. Tests of
 * a single engine are in the test file of that backend.
 */
import { describe } from "vitest";
import { appendContract } from "./contract/append.ts";
import { batchContract } from "./contract/batch.ts";
import { breakersContract } from "./contract/breakers.ts";
import { callbackTokensContract } from "./contract/callback-tokens.ts";
import { claimContract } from "./contract/claim.ts";
import { connectionsContract } from "./contract/connections.ts";
import { countersContract } from "./contract/counters.ts";
import { flowsContract } from "./contract/flows.ts";
import { formerDatabasesContract } from "./contract/former-databases.ts";
import { grantsContract } from "./contract/grants.ts";
import { legacyFlowsContract } from "./contract/legacy-flows.ts";
import { listContract } from "./contract/list.ts";
import { markContract } from "./contract/mark.ts";
import { matchingContract } from "./contract/matching.ts";
import { noticesContract } from "./contract/notices.ts";
import { oauthContract } from "./contract/oauth.ts";
import { payloadContract } from "./contract/payload.ts";
import { peopleContract } from "./contract/people.ts";
import { quotaContract } from "./contract/quota.ts";
import { redeliveryContract } from "./contract/redelivery.ts";
import { registryContract } from "./contract/registry.ts";
import { retentionClockContract } from "./contract/retention-clock.ts";
import { runClaimsContract } from "./contract/run-claims.ts";
import { runCountsContract } from "./contract/run-counts.ts";
import { runEventsContract } from "./contract/run-events.ts";
import { runLanesContract } from "./contract/run-lanes.ts";
import { runModelContract } from "./contract/run-model.ts";
import { runProgressContract } from "./contract/run-progress.ts";
import { runQueueReadsContract } from "./contract/run-queue-reads.ts";
import { runUsageContract } from "./contract/run-usage.ts";
import { runsContract } from "./contract/runs.ts";
import { saveFlowsContract } from "./contract/save-flows.ts";
import { schedulesContract } from "./contract/schedules.ts";
import { searchContract } from "./contract/search.ts";
import { secretsContract } from "./contract/secrets.ts";
import { sourcesContract } from "./contract/sources.ts";
import { describeSuite, type OpenSubject, type Suite } from "./contract/subject.ts";
import { subscriptionsContract } from "./contract/subscriptions.ts";
import { sweepContract } from "./contract/sweep.ts";
import { tenantDataContract } from "./contract/tenant-data.ts";
import { toolNamesContract } from "./contract/tool-names.ts";
import { triggerSubscriptionsContract } from "./contract/trigger-subscriptions.ts";
import { triggersContract } from "./contract/triggers.ts";
import { workerClaimsContract } from "./contract/worker-claims.ts";

/** Each name is the subject of its test titles. */
const suites: Record<string, Suite> = {
  appendEvents: appendContract,
  "a batch of requests": batchContract,
  "the quota": quotaContract,
  getPayload: payloadContract,
  "the event log": listContract,
  searchEvents: searchContract,
  markProcessed: markContract,
  "the inbox": claimContract,
  "claims of workers": workerClaimsContract,
  sweep: sweepContract,
  "the clock of retention": retentionClockContract,
  counters: countersContract,
  notices: noticesContract,
  "the registry": registryContract,
  "the export and deletion of a tenant": tenantDataContract,
  "the authorization server": oauthContract,
  people: peopleContract,
  "the registry of endpoints": sourcesContract,
  "the subscription store": subscriptionsContract,
  "the flow store": flowsContract,
  saveFlows: saveFlowsContract,
  migrateLegacyFlows: legacyFlowsContract,
  migrate: formerDatabasesContract,
  "tool names": toolNamesContract,
  triggers: triggersContract,
  schedules: schedulesContract,
  secrets: secretsContract,
  connections: connectionsContract,
  "grants of connections": grantsContract,
  "redeliveries of GitHub's webhooks": redeliveryContract,
  "subscriptions to triggers": triggerSubscriptionsContract,
  "callback tokens": callbackTokensContract,
  runs: runsContract,
  countRuns: runCountsContract,
  "the bytes of ended runs": runUsageContract,
  "the queue and the waits": runQueueReadsContract,
  "the run queue": runClaimsContract,
  "the run store": runProgressContract,
  lanes: runLanesContract,
  "events with runs": runEventsContract,
  "circuit breakers": breakersContract,
  "events that are not matched yet": matchingContract,
  "random sequences of run operations": runModelContract,
};

export function storeContract(backend: string, open: OpenSubject): void {
  describe(`the store on ${backend}`, () => {
    for (const [name, suite] of Object.entries(suites)) describeSuite(name, open, suite);
  });
}
