/** `npm run bench -- ingest`: throughput and latency of webhooks, also while a loop lists events. */
import type { Benchmark } from "./benchmark.ts";
import { findCli } from "./hub-process.ts";
import { measureListing } from "./ingest-listing.ts";
import { measureThroughput } from "./ingest-throughput.ts";
import { startLoad } from "./load-process.ts";

export const ingest: Benchmark = async (options) => {
  const cli = findCli(options.hub);
  const load = startLoad();
  const throughput = await measureThroughput(options, cli, load);
  const listing = await measureListing(options, load);
  return {
    tables: [...throughput.tables, ...listing.tables],
    goals: [...throughput.goals, ...listing.goals],
    isValid: throughput.isValid && listing.isValid,
    data: { throughput: throughput.data, listing: listing.data },
  };
};
