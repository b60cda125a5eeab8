import type { EventSummary, StoredEvent } from "@signalbox/contract/events.ts";
import {
  asString,
  assertNoMoreArguments,
  type Command,
  CommandFailed,
  numberOf,
  print,
  UsageError,
} from "./command.ts";
import { createEventRows, describeEvent } from "./event-rows.ts";
import { followHub } from "./follow-hub.ts";
import { connectToHub, type HubClient, HubRequestFailed } from "./hub-client.ts";
import { program } from "./program.ts";
import { sameHubFlags } from "./same-hub-flags.ts";
import type { ClientSettings } from "./settings.ts";
import { dim } from "./style.ts";
import type { OpenSession } from "./with-hub.ts";

const MAX_LISTED = 100;

export const createEvents = (openSession: OpenSession): Command => ({
  name: "events",
  usage: "[ID] [--follow] [options]",
  summary: "list events, show one with its payload, or follow new ones",
  details:
    "ID is the id of an event, or its number (SEQ). `--follow` shows the newest events, then each new one, until Ctrl+C. " +
    "If the hub restarts, the command reconnects and misses no event. " +
    "For a hub on another machine, set SIGNALBOX_URL and SIGNALBOX_TOKEN.",
  options: {
    follow: { type: "boolean", short: "f", help: "show new events as they arrive" },
    limit: {
      type: "string",
      value: "N",
      help: `the number of events to list, from 1 to ${MAX_LISTED}, or 0 with --follow (20)`,
    },
    after: {
      type: "string",
      value: "SEQ",
      help: "with --follow: show all events after this one instead of the newest; 0 shows all",
    },
    type: { type: "string", value: "TYPE", help: "only this type, such as issues" },
    repo: { type: "string", value: "REPO", help: "only this repository, such as octo/town" },
    source: { type: "string", value: "SOURCE", help: "only this source, such as github" },
    pending: { type: "boolean", help: "list only pending events" },
    tenant: {
      type: "string",
      value: "ID",
      help: "the tenant of the events (with one tenant: local)",
    },
    json: { type: "boolean", help: "print JSON lines" },
  },
  settings: ["url", "token", "data", "host", "port"],
  async run({ positionals, flags }) {
    const [id, ...rest] = positionals;
    assertNoMoreArguments(rest);
    const json = flags.json === true;
    const isFollowing = flags.follow === true;
    if (id !== undefined && isFollowing) throw new UsageError("Give an ID or --follow, not both.");
    const minListed = isFollowing ? 0 : 1;
    const limit = numberOf(
      flags,
      "limit",
      (value) => Number.isInteger(value) && value >= minListed && value <= MAX_LISTED,
      `a whole number from ${minListed} to ${MAX_LISTED}`,
    );
    const after = numberOf(
      flags,
      "after",
      (value) => Number.isInteger(value) && value >= 0,
      "the SEQ of an event, or 0",
    );
    if (after !== undefined && !isFollowing) throw new UsageError("--after needs --follow.");
    const filter = {
      type: asString(flags.type),
      repo: asString(flags.repo),
      source: asString(flags.source),
    };
    const { settings } = openSession(flags);
    const connect = () => connectToHub(settings, { tenant: asString(flags.tenant) });
    if (id !== undefined) {
      const event = await findEvent(connect(), id);
      return print(json ? JSON.stringify(event) : describeEvent(event));
    }
    const query: ListQuery = {
      ...filter,
      limit: limit ?? 20,
      pending: flags.pending === true ? "1" : undefined,
    };
    const output = createOutput(json);
    if (isFollowing) return follow(connect, { filter, query, after }, output);
    const items = await list(connect(), query);
    for (const event of items.toReversed()) output.event(event);
    if (items.length === 0) output.note(noEventsMessage(settings));
  },
});

const noEventsMessage = (settings: ClientSettings) =>
  `No events. \`${program} send github issues --action opened${sameHubFlags(settings)}\` sends a sample.`;

interface Filter {
  type: string | undefined;
  repo: string | undefined;
  source: string | undefined;
}
interface ListQuery extends Filter {
  limit: number;
  pending: "1" | undefined;
}

/** Returns the newest events, newest first. */
async function list(hub: HubClient, { limit, ...query }: ListQuery): Promise<EventSummary[]> {
  const events: EventSummary[] = [];
  let cursor: string | undefined;
  while (events.length < limit) {
    const page = await hub.get("/api/events", {
      query: { limit: limit - events.length, cursor, ...query },
    });
    events.push(...page.items);
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  return events;
}

async function findEvent(hub: HubClient, idOrSeq: string): Promise<StoredEvent> {
  const notFound = () => new CommandFailed(`There is no event with the ID or SEQ ${idOrSeq}.`);
  const read = (id: string) =>
    hub.get("/api/events/:event", { params: { event: id } }).catch((error) => {
      throw error instanceof HubRequestFailed && isUnknownId(error) ? notFound() : error;
    });
  if (!/^\d{1,15}$/.test(idOrSeq)) return read(idOrSeq);
  const seq = Number(idOrSeq);
  // In a list of one tenant, the cursor is the `seq` of the last event before the page.
  const { items } = await hub.get("/api/events", {
    query: { order: "oldest", cursor: String(Math.max(0, seq - 1)), limit: 1 },
  });
  const [event] = items;
  if (event?.seq !== seq) throw notFound();
  return read(event.id);
}

/** True if no event has the id, or if the id is not a UUID. */
const isUnknownId = ({ code, problem }: HubRequestFailed): boolean =>
  code === "not_found" || (code === "invalid" && problem.errors?.[0]?.path === "event_id");

interface FollowRequest {
  filter: Filter;
  /** The events to list first, unless `after` is set. */
  query: ListQuery;
  after: number | undefined;
}

async function follow(
  connect: () => HubClient,
  { filter, query, after }: FollowRequest,
  output: Output,
): Promise<void> {
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  let isFirstMessage = true;
  const listedIds = new Set<string>();
  for await (const message of followHub({
    connect,
    query: filter,
    after: after === undefined ? undefined : String(after),
    signal: stopped.signal,
    onLost: (reason) => output.note(`The connection was lost. Reconnecting. (${reason})`),
    onBack: () => output.note("Connected again."),
  })) {
    if (message.kind === "truncated") output.note(message.detail);
    // The events are listed after the stream is open, so that no event is missed in between.
    else if (message.kind === "connected" && isFirstMessage && after === undefined)
      for (const event of (await list(connect(), query)).toReversed()) {
        listedIds.add(event.id);
        output.event(event);
      }
    else if (message.kind === "event" && !listedIds.has(message.event.event_id))
      output.event(message.event.summary);
    isFirstMessage = false;
  }
}

interface Output {
  event(event: EventSummary): void;
  /** Prints a message on stderr, because it is not part of the data. */
  note(text: string): void;
}

function createOutput(json: boolean): Output {
  const rows = createEventRows(process.stdout.isTTY ? process.stdout.columns : undefined);
  let needsHeader = !json;
  return {
    event(event) {
      if (needsHeader) print(rows.header());
      needsHeader = false;
      print(json ? JSON.stringify(event) : rows.row(event));
    },
    note: (text) => void process.stderr.write(`${dim(text)}\n`),
  };
}
