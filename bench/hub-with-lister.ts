import { createLog } from "../packages/hub/src/hosts/node/log.ts";
import { openStore } from "../packages/hub/src/hosts/node/open-store.ts";
import { startHub } from "../packages/hub/src/hosts/node/start-hub.ts";
import { LOCAL_TENANT } from "../packages/hub/src/kernel/access/scopes.ts";
import { readSettings } from "../packages/hub/src/settings.ts";
import { seed } from "./seed.ts";

export type ListerCommand = { shouldList: boolean };
/**
 * Sent when the server listens, and in response to every command. `lists` counts the lists since the
 * last command.
 */
export type ListerState = { port: number; lists: number };

const settings = readSettings({ flags: {}, env: process.env, file: {} });
const store = await openStore(settings);
await seed(store, Number(process.env.BENCH_BACKLOG));
await store.close();

const log = await createLog({ level: settings.logLevel, format: settings.logFormat });
const hub = await startHub({ settings, log, version: "bench" });

let isListing = false;
let lists = 0;

/** One list per iteration of the event loop: the maximum rate of a single HTTP client. */
async function listOnce(): Promise<void> {
  if (!isListing) return;
  await hub.store.listEvents({ tenant: LOCAL_TENANT, pending: true, limit: 20 });
  lists += 1;
  setImmediate(listOnce);
}

const port = Number(new URL(hub.url).port);
const sendState = () => process.send?.({ port, lists } satisfies ListerState);

process.on("message", (command: ListerCommand) => {
  isListing = command.shouldList;
  sendState();
  lists = 0;
  if (isListing) setImmediate(listOnce);
});
process.on("disconnect", () => process.exit());
process.on("SIGTERM", () => {
  isListing = false;
  void hub.stop().then(() => process.exit());
});
sendState();
