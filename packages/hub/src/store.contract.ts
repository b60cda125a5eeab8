/**
 * The contract suite: every backend calls it with a function that opens a new, empty store. Tests of
 * a single engine are in the test file of that backend.
 */
import { describe } from "vitest";
import { callbackTokensContract } from "./connections/store/contract/callback-tokens.ts";
import { connectionsContract } from "./connections/store/contract/connections.ts";
import { grantsContract } from "./connections/store/contract/grants.ts";
import { triggerSubscriptionsContract } from "./connections/store/contract/trigger-subscriptions.ts";
import { sourcesContract } from "./events/endpoints/store.contract.ts";
import { subscriptionsContract } from "./events/mcp-events/store.contract.ts";
import { retentionClockContract } from "./events/retention/store.contract.ts";
import { appendContract } from "./events/store/contract/append.ts";
import { batchContract } from "./events/store/contract/batch.ts";
import { claimContract } from "./events/store/contract/claim.ts";
import { countersContract } from "./events/store/contract/counters.ts";
import { listContract } from "./events/store/contract/list.ts";
import { markContract } from "./events/store/contract/mark.ts";
import { noticesContract } from "./events/store/contract/notices.ts";
import { payloadContract } from "./events/store/contract/payload.ts";
import { quotaContract } from "./events/store/contract/quota.ts";
import { searchContract } from "./events/store/contract/search.ts";
import { workerClaimsContract } from "./events/store/contract/worker-claims.ts";
import { breakersContract } from "./flows/matching/store/contract/breakers.ts";
import { matchingContract } from "./flows/matching/store/contract/matching.ts";
import { runClaimsContract } from "./flows/runs/store/contract/run-claims.ts";
import { runCountsContract } from "./flows/runs/store/contract/run-counts.ts";
import { runEventsContract } from "./flows/runs/store/contract/run-events.ts";
import { runLanesContract } from "./flows/runs/store/contract/run-lanes.ts";
import { runModelContract } from "./flows/runs/store/contract/run-model.ts";
import { runProgressContract } from "./flows/runs/store/contract/run-progress.ts";
import { runQueueReadsContract } from "./flows/runs/store/contract/run-queue-reads.ts";
import { runUsageContract } from "./flows/runs/store/contract/run-usage.ts";
import { runsContract } from "./flows/runs/store/contract/runs.ts";
import { secretsContract } from "./flows/secrets/store.contract.ts";
import { flowsContract } from "./flows/store/contract/flows.ts";
import { legacyFlowsContract } from "./flows/store/contract/legacy-flows.ts";
import { sweepContract } from "./flows/store/contract/retention.ts";
import { saveFlowsContract } from "./flows/store/contract/save-flows.ts";
import { schedulesContract } from "./flows/store/contract/schedules.ts";
import { toolNamesContract } from "./flows/store/contract/tool-names.ts";
import { triggersContract } from "./flows/store/contract/triggers.ts";
import { formerDatabasesContract } from "./kernel/store/contract/former-databases.ts";
import { describeSuite, type OpenSubject, type Suite } from "./kernel/store/contract/subject.ts";
import { oauthContract } from "./oauth/store.contract.ts";
import { peopleContract } from "./people/store.contract.ts";
import { redeliveryContract } from "./redelivery/store.contract.ts";
import { registryContract } from "./tenants/store.contract.ts";
import { tenantDataContract } from "./tenants/tenant-data.contract.ts";

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
