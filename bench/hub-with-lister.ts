/**
 * The hub, and in the same process a client that lists pending events without a pause: there is one
 * event loop, so that is where a listing would get in the way of a webhook. Forked by
 * ingest-listing.ts, and told over IPC when to list.
 */
import { startHub } from "../packages/hub/src/hosts/node/hub.ts";
import { createLog } from "../packages/hub/src/hosts/node/log.ts";
import { openStore } from "../packages/hub/src/hosts/node/open-store.ts";
import { readSettings } from "../packages/hub/src/hosts/settings.ts";
import { LOCAL_TENANT } from "../packages/hub/src/tenants/tenancy.ts";
import { seed } from "./seed.ts";

export type ListerOrder = { list: boolean };
/** Sent once when it listens, and in answer to every order. */
export type ListerNews = { port: number; lists: number };

const settings = readSettings({ flags: {}, env: process.env, file: {} });
const store = await openStore(settings);
await seed(store, Number(process.env.BENCH_BACKLOG));
await store.close();

const log = await createLog({ level: settings.logLevel, format: settings.logFormat });
const hub = await startHub({ settings, log, version: "bench" });

let listing = false;
let lists = 0;

/** One list in each turn of the event loop: as often as one client over HTTP could ask at the most. */
async function listOnce(): Promise<void> {
  if (!listing) return;
  await hub.store.listEvents({ tenant: LOCAL_TENANT, pending: true, limit: 20 });
  lists += 1;
  setImmediate(listOnce);
}

const port = Number(new URL(hub.url).port);
const tell = () => process.send?.({ port, lists } satisfies ListerNews);

process.on("message", (order: ListerOrder) => {
  listing = order.list;
  tell();
  lists = 0;
  if (listing) setImmediate(listOnce);
});
process.on("disconnect", () => process.exit());
process.on("SIGTERM", () => {
  listing = false;
  void hub.stop().then(() => process.exit());
});
tell();
