/** A failover of PostgreSQL to an asynchronous standby, which has not received the newest events. */
import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { ADMIN, startApi } from "../support/api-client.ts";
import { deliver } from "../support/deliver.ts";
import { connectSdk2 } from "../support/events-client.ts";
import { createDatabase, type PostgresServer, startPostgres } from "../support/postgres.ts";
import { openSse } from "../support/sse.ts";
import { WAIT } from "../support/timeouts.ts";

const headers = { authorization: `Bearer ${ADMIN}` };

it("tells followers that the log has lost events, and sends them the new ones", async () => {
  const server = await startPostgres();
  onTestFinished(() => server.stop());
  const { saveStandby, failOver } = await controlServer(server);
  const { hub } = await startApi("SQLite", { DATABASE_URL: await createDatabase(server.url) });
  const send = async (count: number) => {
    const ids: string[] = [];
    for (let sent = 0; sent < count; sent += 1)
      await vi.waitFor(async () => {
        const response = await deliver(hub.url);
        expect(response.status).toBe(202);
        ids.push(((await response.json()) as { id: string }).id);
      }, WAIT);
    return ids;
  };
  const stream = await openSse(`${hub.url}/events?after=0`, headers);
  onTestFinished(() => stream.close());
  const client = await connectSdk2(hub, ADMIN);
  const followed = { name: "github.issues", cursor: "0" };
  const streamed = client.request("events/stream", followed);
  const first = await send(3);
  await saveStandby();
  const lost = await send(3);
  const receivedIds = () => stream.messages.flatMap(({ data }) => data.event_id ?? []);
  await vi.waitFor(() => expect(receivedIds()).toEqual([...first, ...lost]), WAIT);
  const oldLog = String(stream.messages[0]?.data.log);

  await failOver();
  const afterwards = await send(2);
  await vi.waitFor(() => expect(receivedIds()).toEqual([...first, ...lost, ...afterwards]), WAIT);
  expect(stream.seqs()).toEqual([1, 2, 3, 4, 5, 6, 4, 5]);
  expect(stream.messages.filter(({ event }) => event === "truncated")).toMatchObject([
    { data: { reason: "ahead", tenant: "local" } },
  ]);

  await streamed;
  const { params: terminated } = client.notifications.at(-1) ?? {};
  const poll = (cursor: unknown) => client.request("events/poll", { ...followed, cursor });
  const polled = await poll(terminated?.cursor);
  expect(polled).toMatchObject({ truncated: true });
  expect(polled.events).toHaveLength(2);
  expect(await poll(polled.cursor)).toMatchObject({ truncated: false, events: [] });

  // The log is as long as before, so only its id shows that a cursor is from before the failover.
  const more = await send(2);
  await vi.waitFor(() => expect(stream.seqs().slice(-2)).toEqual([6, 7]), WAIT);
  const database = (log: string) => log.split("@")[1];
  const resumed = await openSse(`${hub.url}/events?after=6@${database(oldLog)}`, headers);
  onTestFinished(() => resumed.close());
  await vi.waitFor(() => expect(resumed.messages).toHaveLength(3), WAIT);
  expect(database(String(resumed.messages[0]?.data.log))).not.toBe(database(oldLog));
  expect(resumed.messages[1]).toMatchObject({ event: "truncated", data: { reason: "ahead" } });
  expect(resumed.messages[2]?.data.event_id).toBe(more[1]);
});

/** Stops and starts the server of a test, in its own folder. */
async function controlServer({ url }: PostgresServer) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(
    "SELECT setting AS bin, current_setting('data_directory') AS data FROM pg_config WHERE name = 'BINDIR'",
  );
  await client.end();
  const { bin, data } = rows[0] as { bin: string; data: string };
  const standby = `${data}-standby`;
  const { uid, gid } = statSync(data);
  /** Runs a program as the user of the server. */
  const run = (program: string, ...args: string[]) =>
    promisify(execFile)(program, args, { uid, gid, cwd: join(data, "..") });
  const control = (...args: string[]) =>
    run(join(bin, "pg_ctl"), `--pgdata=${data}`, "--wait", ...args);
  const start = () => control("start", `--options=-p ${new URL(url).port}`, "--log=log");
  return {
    /** Saves the state of a standby that will receive nothing more. */
    async saveStandby() {
      await control("stop", "--mode=fast");
      await run("cp", "-a", data, standby);
      await start();
    },
    /** Replaces the server by the standby, and promotes it. */
    async failOver() {
      await control("stop", "--mode=immediate");
      await run("rm", "-r", data);
      await run("mv", standby, data);
      await run("touch", join(data, "standby.signal"));
      await start();
      await control("promote");
    },
  };
}
