/** Stores a backlog of pending events, as the hub does, in large batches. */
import { randomUUID } from "node:crypto";
import type { AppendRequest, NewEvent } from "../packages/hub/src/events/model.ts";
import { LOCAL_TENANT } from "../packages/hub/src/kernel/access/scopes.ts";
import { createIds } from "../packages/hub/src/kernel/lib/ids.ts";
import type { Store } from "../packages/hub/src/store.ts";
import { makePayloads } from "./payloads.ts";

export const TENANT = LOCAL_TENANT;
/** One event in fifty has this type, so that a missing index would show. */
export const RARE_TYPE = "release";

const COMMON_TYPES = ["issues", "pull_request", "push", "check_run", "issue_comment"];
const BATCH = 1_000;

/** Payloads of about 1 KB, so that a million fit on a disk. */
const payloads = makePayloads().map((body) => {
  const { action, issue } = JSON.parse(body.toString()) as {
    action: string;
    issue: { user: object };
  };
  return Buffer.from(JSON.stringify({ action, user: issue.user }));
});

/** Returns the ids of the stored events, oldest first. */
export async function seed(store: Store, count: number): Promise<string[]> {
  const newId = createIds();
  const ids: string[] = [];
  while (ids.length < count) {
    const batch: AppendRequest[] = [];
    for (let at = ids.length; at < Math.min(count, ids.length + BATCH); at += 1)
      batch.push({ tenant: TENANT, events: [makeEvent(newId(), at)] });
    for (const appended of await store.appendEvents(batch, null)) {
      const id = appended.outcome === "stored" ? appended.events[0]?.id : undefined;
      if (id === undefined) throw new Error(`seeding: ${JSON.stringify(appended)}`);
      ids.push(id);
    }
    // SQLite calls are synchronous; yield to the event loop so that Ctrl+C works.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return ids;
}

const makeEvent = (id: string, number: number): NewEvent => ({
  id,
  source: "github",
  source_id: "github",
  external_id: randomUUID(),
  type: number % 50 === 0 ? RARE_TYPE : (COMMON_TYPES[number % COMMON_TYPES.length] as string),
  received_at: Date.now(),
  action: "opened",
  repo: `acme/repo-${number % 100}`,
  sender: `sender-${number % 1_000}`,
  number,
  title: `Example event ${number}`,
  url: `https://github.com/acme/repo-${number % 100}/issues/${number}`,
  check_result: null,
  content_type: "application/json",
  headers: { "x-github-event": "issues", "x-github-delivery": id },
  body: payloads[number % payloads.length] as Buffer,
});
