/** `npm run bench -- ingest`: how fast webhooks come in, and what a client that lists does to that. */
import type { Benchmark } from "./benchmark.ts";
import { findCli } from "./hub-process.ts";
import { measureListing } from "./ingest-listing.ts";
import { measurePace } from "./ingest-pace.ts";
import { startLoad } from "./load-process.ts";

export const ingest: Benchmark = async (options) => {
  const cli = findCli(options.hub);
  const load = startLoad();
  const pace = await measurePace(options, cli, load);
  const listing = await measureListing(options, load);
  return {
    tables: [...pace.tables, ...listing.tables],
    goals: [...pace.goals, ...listing.goals],
    valid: pace.valid && listing.valid,
    data: { pace: pace.data, listing: listing.data },
  };
};
