/**
 * What every backend promises. Each one calls this with a way to open a fresh, empty store; a test
 * that only one engine can meet stands in that backend's own file.
 */
import { describe } from "vitest";
import { appendContract } from "./contract/append.ts";
import { batchContract } from "./contract/batch.ts";
import { claimContract } from "./contract/claim.ts";
import { countersContract } from "./contract/counters.ts";
import { listContract } from "./contract/list.ts";
import { markContract } from "./contract/mark.ts";
import { noticesContract } from "./contract/notices.ts";
import { payloadContract } from "./contract/payload.ts";
import { quotaContract } from "./contract/quota.ts";
import { registryContract } from "./contract/registry.ts";
import { searchContract } from "./contract/search.ts";
import { sourcesContract } from "./contract/sources.ts";
import { describeTheme, type OpenSubject, type Theme } from "./contract/subject.ts";
import { sweepContract } from "./contract/sweep.ts";

const themes: Record<string, Theme> = {
  append: appendContract,
  "a batch": batchContract,
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
};

export function storeContract(backend: string, open: OpenSubject): void {
  describe(`the store on ${backend}`, () => {
    for (const [name, theme] of Object.entries(themes)) describeTheme(name, open, theme);
  });
}
