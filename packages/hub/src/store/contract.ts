/**
 * The contract suite: every backend calls it with a function that opens a new, empty store. Tests of
 * a single engine are in the test file of that backend.
 */
import { describe } from "vitest";
import { appendContract } from "./contract/append.ts";
import { batchContract } from "./contract/batch.ts";
import { breakersContract } from "./contract/breakers.ts";
import { claimContract } from "./contract/claim.ts";
import { countersContract } from "./contract/counters.ts";
import { flowsContract } from "./contract/flows.ts";
import { legacyFlowsContract } from "./contract/legacy-flows.ts";
import { listContract } from "./contract/list.ts";
import { markContract } from "./contract/mark.ts";
import { noticesContract } from "./contract/notices.ts";
import { payloadContract } from "./contract/payload.ts";
import { quotaContract } from "./contract/quota.ts";
import { registryContract } from "./contract/registry.ts";
import { runClaimsContract } from "./contract/run-claims.ts";
import { runCountsContract } from "./contract/run-counts.ts";
import { runEventsContract } from "./contract/run-events.ts";
import { runLanesContract } from "./contract/run-lanes.ts";
import { runModelContract } from "./contract/run-model.ts";
import { runProgressContract } from "./contract/run-progress.ts";
import { runsContract } from "./contract/runs.ts";
import { saveFlowsContract } from "./contract/save-flows.ts";
import { searchContract } from "./contract/search.ts";
import { secretsContract } from "./contract/secrets.ts";
import { sourcesContract } from "./contract/sources.ts";
import { describeTheme, type OpenSubject, type Theme } from "./contract/subject.ts";
import { subscriptionsContract } from "./contract/subscriptions.ts";
import { sweepContract } from "./contract/sweep.ts";
import { toolNamesContract } from "./contract/tool-names.ts";
import { triggersContract } from "./contract/triggers.ts";

const themes: Record<string, Theme> = {
  append: appendContract,
  batch: batchContract,
  quota: quotaContract,
  payloads: payloadContract,
  "status and lists": listContract,
  search: searchContract,
  "mark processed": markContract,
  "claim and release": claimContract,
  sweep: sweepContract,
  counters: countersContract,
  notices: noticesContract,
  "tenants, installations and tokens": registryContract,
  sources: sourcesContract,
  subscriptions: subscriptionsContract,
  "apps and flows": flowsContract,
  "saving several flows": saveFlowsContract,
  "flows of a legacy system": legacyFlowsContract,
  "tool names": toolNamesContract,
  triggers: triggersContract,
  secrets: secretsContract,
  runs: runsContract,
  "run counts": runCountsContract,
  claims: runClaimsContract,
  progress: runProgressContract,
  lanes: runLanesContract,
  "events and their runs": runEventsContract,
  "circuit breakers": breakersContract,
  "random sequences of run operations": runModelContract,
};

export function storeContract(backend: string, open: OpenSubject): void {
  describe(`the store on ${backend}`, () => {
    for (const [name, theme] of Object.entries(themes)) describeTheme(name, open, theme);
  });
}
