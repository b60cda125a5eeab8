import type { EventView, SummaryView } from "../../inbox/event-view.ts";
import { loadSettings } from "../node/load-settings.ts";
import type { Settings } from "../settings.ts";
import {
  assertNoMoreArguments,
  type Command,
  CommandFailed,
  numberOf,
  print,
  text,
  UsageError,
} from "./command.ts";
import { createEventRows, describeEvent } from "./event-rows.ts";
import { followHub } from "./follow-hub.ts";
import { connectToHub, type HubClient, HubRequestFailed } from "./hub-client.ts";
import { program } from "./program.ts";
import { sameHubFlags } from "./same-hub-flags.ts";
import { dim } from "./style.ts";

const MAX_LISTED = 100;

export const events: Command = {
  name: "events",
  usage: "[ID] [--follow] [options]",
  summary: "list events, show one with its payload, or follow new ones",
  details:
    "ID is the id of an event, or its number (SEQ). `--follow` shows the newest events, then each new one, until Ctrl+C. " +
    "It survives a restart of the hub: it reconnects, and misses no event. " +
    "For a hub on another machine, set SIGNALBOX_URL and SIGNALBOX_TOKEN.",
  options: {
    follow: { type: "boolean", short: "f", help: "show new events as they arrive" },
    limit: {
      type: "string",
      value: "N",
      help: `how many events to list, 1 to ${MAX_LISTED} (20); with --follow also 0`,
    },
    after: {
      type: "string",
      value: "SEQ",
      help: "with --follow: start after this event instead; 0 is the beginning",
    },
    type: { type: "string", value: "TYPE", help: "only this type, such as issues" },
    repo: { type: "string", value: "REPO", help: "only this repository, such as octo/town" },
    source: { type: "string", value: "SOURCE", help: "only this source, such as github" },
    pending: { type: "boolean", help: "list pending events only" },
    tenant: { type: "string", value: "ID", help: "the tenant of the events (single: local)" },
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
    const filter = { type: text(flags.type), repo: text(flags.repo), source: text(flags.source) };
    const settings = loadSettings(flags);
    const connect = () => connectToHub(settings, { tenant: text(flags.tenant) });
    if (id !== undefined) {
      const event = await find(connect(), id);
      return print(json ? JSON.stringify(event) : describeEvent(event));
    }
    const listing: Listing = {
      ...filter,
      limit: limit ?? 20,
      pending: flags.pending === true ? 1 : undefined,
    };
    const output = createOutput(json);
    if (isFollowing) return follow(connect, { filter, listing, after }, output);
    const items = await list(connect(), listing);
    for (const event of items.toReversed()) output.event(event);
    if (items.length === 0) output.note(noEvents(settings));
  },
};

const noEvents = (settings: Settings) =>
  `No events. \`${program} send github issues --action opened${sameHubFlags(settings)}\` sends a sample.`;

interface Filter {
  type: string | undefined;
  repo: string | undefined;
  source: string | undefined;
}
interface Listing extends Filter {
  limit: number;
  pending: 1 | undefined;
}

/** The newest first. */
async function list(hub: HubClient, { limit, ...query }: Listing): Promise<SummaryView[]> {
  const found: SummaryView[] = [];
  let cursor: string | undefined;
  while (found.length < limit) {
    const page = await hub.request<{ items: SummaryView[]; next_cursor: string | null }>(
      "GET",
      "/api/events",
      { query: { limit: limit - found.length, cursor, ...query } },
    );
    found.push(...page.items);
    if (page.next_cursor === null) break;
    cursor = page.next_cursor;
  }
  return found;
}

async function find(hub: HubClient, given: string): Promise<EventView> {
  const missing = () => new CommandFailed(`There is no event with the ID or SEQ ${given}.`);
  const read = (id: string) =>
    hub.request<EventView>("GET", `/api/events/${encodeURIComponent(id)}`).catch((error) => {
      throw error instanceof HubRequestFailed && isUnknownId(error) ? missing() : error;
    });
  if (!/^\d{1,15}$/.test(given)) return read(given);
  const seq = Number(given);
  // The cursor of one tenant is a `seq`.
  const query = { order: "oldest", cursor: Math.max(0, seq - 1), limit: 1 };
  const page = await hub.request<{ items: SummaryView[] }>("GET", "/api/events", { query });
  const [found] = page.items;
  if (found?.seq !== seq) throw missing();
  return read(found.id);
}

/** No event has this id, or it is no UUID. */
const isUnknownId = ({ code, problem }: HubRequestFailed): boolean =>
  code === "not_found" || (code === "invalid" && problem.errors?.[0]?.path === "event_id");

interface Following {
  filter: Filter;
  listing: Listing;
  after: number | undefined;
}

async function follow(
  connect: () => HubClient,
  { filter, listing, after }: Following,
  output: Output,
): Promise<void> {
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  process.once("SIGINT", stop).once("SIGTERM", stop);
  let isFirst = true;
  const listed = new Set<string>();
  for await (const message of followHub({
    connect,
    query: filter,
    after: after === undefined ? undefined : String(after),
    signal: stopped.signal,
    onLost: (reason) => output.note(`The connection was lost. Reconnecting. (${reason})`),
    onBack: () => output.note("Connected again."),
  })) {
    if (message.kind === "truncated") output.note(message.detail);
    // Listed after the stream is open, so that no event falls in between.
    else if (message.kind === "connected" && isFirst && after === undefined)
      for (const event of (await list(connect(), listing)).toReversed()) {
        listed.add(event.id);
        output.event(event);
      }
    else if (message.kind === "event" && !listed.has(message.event.event_id))
      output.event(message.event.summary);
    isFirst = false;
  }
}

interface Output {
  event(event: SummaryView): void;
  /** Not part of the data, so it goes to stderr. */
  note(text: string): void;
}

function createOutput(json: boolean): Output {
  const rows = createEventRows(process.stdout.isTTY ? process.stdout.columns : undefined);
  let hasHeader = json;
  return {
    event(event) {
      if (!hasHeader) print(rows.header());
      hasHeader = true;
      print(json ? JSON.stringify(event) : rows.row(event));
    },
    note: (text) => void process.stderr.write(`${dim(text)}\n`),
  };
}
