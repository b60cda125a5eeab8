/**
 * Polls a server that implements MCP Events: `events/poll` returns the events after a cursor. The
 * cursor is saved after its events are stored. After a crash, some events are therefore read again; they
 * are detected as duplicates by their ids.
 */
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { METHODS, polledOccurrence, pollResult } from "../events/mcp-events/protocol.ts";
import { ConnectionError } from "./connection-error.ts";
import type { Offers, TriggerSubscription } from "./model.ts";
import { appendPolled, type Poll, type PolledEvent } from "./polled-events.ts";

const PAGE_SIZE = 100;
/** The maximum number of pages per type and poll. The next poll continues. */
const MAX_PAGES = 20;
const TIMEOUT_MS = 30_000;
/** How long the subscription shows a gap in its events. */
const GAP_SHOWN_MS = 24 * 60 * 60_000;
const NEXT_MS = { min: 5_000, normal: 30_000, max: 60 * 60_000 };

interface Position {
  /** The cursor of each event type. */
  cursors: Record<string, string>;
  /** When events were last missing, because the server no longer had them or rejected its cursor. */
  gapAt?: string;
}

export const pollEvents: Poll = async (options, { connection, offers }, subscription, run) => {
  const { connections, now } = options;
  const position = readPosition(subscription.position);
  let notice: string | undefined;
  let nextMs = NEXT_MS.max;

  for (const type of typesOf(offers, subscription)) {
    let hasMore = true;
    let pageMs: number = NEXT_MS.normal;
    for (let page = 0; hasMore && page < MAX_PAGES; page += 1) {
      const cursor = position.cursors[type] ?? null;
      const params = {
        name: type,
        arguments: argumentsOf(offers, type, subscription.params),
        cursor,
        maxEvents: PAGE_SIZE,
      };
      let result: Json;
      try {
        result = await connections.request(connection, METHODS.poll, params, {
          signal: run.signal,
          timeoutMs: TIMEOUT_MS,
        });
      } catch (error) {
        if (cursor === null || !isCursorError(error)) throw error;
        delete position.cursors[type];
        position.gapAt = new Date(now()).toISOString();
        continue;
      }
      const parsed = parseResult(result);
      const { events, skipped } = readEvents(parsed.events);
      notice ??= (await appendPolled(options, subscription, events)) ?? skipped;
      if (parsed.truncated) position.gapAt = new Date(now()).toISOString();
      if (parsed.cursor) position.cursors[type] = parsed.cursor;
      // If the cursor does not change, the next page would be the same.
      hasMore = parsed.hasMore === true && position.cursors[type] !== cursor;
      pageMs = parsed.nextPollMs ?? NEXT_MS.normal;
      await run.save({ ...position });
    }
    nextMs = Math.min(nextMs, hasMore ? 0 : clampDelay(pageMs));
  }
  return { position: { ...position }, nextMs, notice: notice ?? gapNotice(position, now()) };
};

const clampDelay = (ms: number): number =>
  Number.isFinite(ms) ? Math.min(NEXT_MS.max, Math.max(NEXT_MS.min, ms)) : NEXT_MS.normal;

const gapNotice = ({ gapAt }: Position, now: number): string | undefined =>
  gapAt && now - Date.parse(gapAt) < GAP_SHOWN_MS
    ? `The server no longer had some events at ${gapAt}, so they are missing.`
    : undefined;

function readPosition(position: JsonObject | null): Position {
  const cursors: Record<string, string> = {};
  if (isObject(position?.cursors))
    for (const [type, cursor] of Object.entries(position.cursors))
      if (typeof cursor === "string") cursors[type] = cursor;
  const gapAt = position?.gapAt;
  return { cursors, ...(typeof gapAt === "string" && { gapAt }) };
}

const eventTriggers = (offers: Offers) =>
  offers.triggers.filter(({ binding }) => binding === "events");

/** A subscription to the type "" polls every event type that the server offers. */
const typesOf = (offers: Offers, { type }: TriggerSubscription): string[] =>
  type === "" ? eventTriggers(offers).map((trigger) => trigger.type) : [type];

/** The params that the type declares, if they are scalars. The hub matches all params itself. */
function argumentsOf(offers: Offers, type: string, params: JsonObject): JsonObject {
  const schema = eventTriggers(offers).find((trigger) => trigger.type === type)?.inputSchema;
  const properties = (schema as JsonObject | undefined)?.properties;
  if (!isObject(properties)) return {};
  const declared: JsonObject = {};
  for (const [name, value] of Object.entries(params)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const scalar = isObject(property) ? convert(value, property.type) : undefined;
    if (scalar !== undefined) declared[name] = scalar;
  }
  return declared;
}

function convert(value: Json, type: Json | undefined): Json | undefined {
  if (value === null || typeof value === "object") return undefined;
  if (typeof value === "string" && value.trim() === "") return undefined;
  const text = String(value);
  if (type === "string") return text;
  if (type === "number" || type === "integer")
    return Number.isFinite(Number(text)) ? Number(text) : undefined;
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : undefined;
  return value;
}

/** Whether the server no longer accepts its own cursor, for example because it has lost its data. */
const isCursorError = (error: unknown): boolean =>
  error instanceof ConnectionError && error.code === "rejected" && CURSOR_ERROR.test(error.message);

/**
 * The draft defines no error code for an invalid cursor, so the message is matched. The pattern is
 * narrow, because messages of other errors may mention the cursor.
 */
const CURSOR_ERROR =
  /\b(invalid|unknown|expired|stale|malformed)\b[^.]{0,20}\bcursor\b|\bcursor\b[^.]{0,40}\b(not|invalid|unknown|expired|stale|malformed|too old)\b/i;

function parseResult(result: Json) {
  const { data, error } = pollResult.safeParse(result);
  if (data) return data;
  const [issue] = error.issues;
  throw new ConnectionError(
    "invalid_response",
    `The response to ${METHODS.poll} is invalid: ${issue?.path.join(".") || "it"}: ${issue?.message}`,
  );
}

function readEvents(items: readonly unknown[]): { events: PolledEvent[]; skipped?: string } {
  const events: PolledEvent[] = [];
  let skipped = 0;
  for (const item of items) {
    const { data: occurrence } = polledOccurrence.safeParse(item);
    if (!occurrence) {
      skipped += 1;
      continue;
    }
    const { eventId, name, timestamp, data } = occurrence;
    events.push({ id: eventId, type: name, data: data ?? {}, timestamp: timestamp ?? undefined });
  }
  return {
    events,
    ...(skipped > 0 && {
      skipped: `The server sent ${skipped} events without eventId, name or valid data. They were skipped.`,
    }),
  };
}
