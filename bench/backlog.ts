/** Databases with different numbers of pending events, open at the same time. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { openPostgres } from "../packages/hub/src/kernel/backends/postgres.ts";
import { openSqlite } from "../packages/hub/src/kernel/backends/sqlite.ts";
import { createStoreCache, type StoreCache } from "../packages/hub/src/kernel/store/store-cache.ts";
import type { Store } from "../packages/hub/src/store.ts";
import { storeDefinition } from "../packages/hub/src/store.ts";
import { createDatabase, startPostgres } from "../test/support/postgres.ts";
import type { Backend } from "./benchmark.ts";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { seed } from "./seed.ts";
import { figure } from "./table.ts";

export interface Backlog {
  store: Store;
  /** The caches of the store, such as that of decompressed packs. */
  cache: StoreCache;
  size: number;
  /** Ids of the pending events, oldest first. */
  ids: string[];
  claimed: string[];
  /** Removes and returns a random id of `ids`. */
  takeId(): string;
  /** Size on disk. */
  bytes: number;
  /** Duration of the seeding. */
  seconds: number;
}

export interface Backlogs {
  backlogs: Backlog[];
  close(): Promise<void>;
}

interface Database {
  store: Store;
  cache: StoreCache;
  /** Runs the maintenance that the database would do later, and returns the size on disk. */
  runMaintenance(): Promise<number>;
}

export async function openBacklogs(
  backend: Backend,
  sizes: readonly number[],
  reportProgress: (text: string) => void,
): Promise<Backlogs> {
  const engine = backend === "sqlite" ? sqliteEngine() : await postgresEngine();
  const backlogs: Backlog[] = [];
  const close = async () => {
    for (const { store } of backlogs) await store.close();
    await engine.stop();
  };
  try {
    for (const size of sizes) {
      reportProgress(`reads: ${backend}: seeding ${figure(size)} pending events`);
      const { runMaintenance, ...database } = await engine.open();
      const { store } = database;
      const fresh = { size, ids: [], claimed: [], takeId, bytes: 0, seconds: 0 };
      const backlog: Backlog = { ...database, ...fresh };
      backlogs.push(backlog);
      const start = performance.now();
      backlog.ids = await seed(store, size);
      backlog.seconds = (performance.now() - start) / 1000;
      backlog.bytes = await runMaintenance();
    }
    return { backlogs, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function takeId(this: Backlog): string {
  const [id] = this.ids.splice(Math.floor(Math.random() * this.ids.length), 1);
  return id as string;
}

interface Engine {
  open(): Promise<Database>;
  stop(): Promise<void>;
}

function sqliteEngine(): Engine {
  const folders: string[] = [];
  return {
    async open() {
      const folder = makeFolder();
      folders.push(folder);
      const cache = createStoreCache();
      return {
        store: openSqlite(storeDefinition, join(folder, "signalbox.db"), { cache }),
        cache,
        runMaintenance: async () =>
          readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0),
      };
    },
    async stop() {
      folders.forEach(removeFolder);
    },
  };
}

async function postgresEngine(): Promise<Engine> {
  const server = await startPostgres();
  return {
    async open() {
      const url = await createDatabase(server.url);
      const cache = createStoreCache();
      const store = await openPostgres(storeDefinition, url, { cache });
      return { store, cache, runMaintenance: () => vacuumPostgres(url) };
    },
    stop: () => server.stop(),
  };
}

/** Does what autovacuum would do within minutes, so that the planner has current statistics. */
async function vacuumPostgres(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("VACUUM ANALYZE");
    const { rows } = await client.query<{ bytes: string }>(
      "SELECT pg_database_size(current_database()) AS bytes",
    );
    return Number(rows[0]?.bytes);
  } finally {
    await client.end();
  }
}
