/** What a poll gets and returns; appends the events that it has found. They are matched like events of callbacks. */

import { MAX_ID, MAX_TIMESTAMP, MAX_TYPE } from "@signalbox/contract/event-limits.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { toEvent } from "../events/callback/callback-event.ts";
import type { AppendRequest, AppendResult, NewEvent } from "../events/model.ts";
import { isTooDeep, MAX_DEPTH } from "../kernel/http/decode.ts";
import { utf8 } from "../kernel/lib/bytes.ts";
import { sha256Hex } from "../kernel/lib/hmac.ts";
import { textProblem } from "../kernel/lib/text-problem.ts";
import type { Connections } from "./connections.ts";
import type { Connection, Offers, TriggerSubscription } from "./model.ts";

export interface PolledEvent {
  /** The id that the server gave to the event. If a connection returns an id again, it is not stored again. */
  id: string;
  type: string;
  data: Json;
  timestamp?: string | undefined;
}

export interface AppendPolledOptions {
  append(request: AppendRequest): Promise<AppendResult>;
  newId: () => string;
  now: () => number;
}

export interface PollOptions extends AppendPolledOptions {
  connections: Pick<Connections, "callTool" | "request">;
}

export interface PolledConnection {
  connection: Connection;
  offers: Offers;
}

interface PollRun {
  signal: AbortSignal;
  /** Saves a position whose events are stored. */
  save(position: JsonObject): Promise<void>;
}

interface PollResult {
  position: JsonObject;
  /** The delay until the next poll. */
  nextMs: number;
  /** A problem that does not stop the poll. */
  notice: string | undefined;
}

/** Throws if the poll has failed. */
export type Poll = (
  options: PollOptions,
  polled: PolledConnection,
  subscription: TriggerSubscription,
  run: PollRun,
) => Promise<PollResult>;

const BATCH = 100;
const MAX_BYTES = 1024 * 1024;

/**
 * Skips events that cannot be stored, because they would block all later ones. Returns why the first
 * of them was skipped; undefined if all events were stored. Throws if the quota is exceeded or the
 * tenant is deleted.
 */
export async function appendPolled(
  { append, newId, now }: AppendPolledOptions,
  { tenant, connection, id: subscription }: TriggerSubscription,
  polled: readonly PolledEvent[],
): Promise<string | undefined> {
  let skipped: string | undefined;
  for (let start = 0; start < polled.length; start += BATCH) {
    const events: NewEvent[] = [];
    const data: Json[] = [];
    for (const event of polled.slice(start, start + BATCH)) {
      const object = isObject(event.data) ? event.data : { value: event.data };
      const text = JSON.stringify(object);
      const body = utf8(text);
      const problem = problemOf(event, text, body);
      if (problem !== undefined) {
        skipped ??= problem;
        continue;
      }
      const { type, id } = event;
      const timestamp = event.timestamp?.slice(0, MAX_TIMESTAMP);
      const callback = { type, data: object, body, id, timestamp };
      data.push(object);
      events.push(
        toEvent(
          callback,
          { connection, subscription },
          { id: newId(), external_id: await storableId(id), received_at: now() },
        ),
      );
    }
    if (events.length === 0) continue;
    const appended = await append({ tenant, events, data });
    if (appended.outcome === "deleted") throw new Error("The tenant was deleted.");
    if (appended.outcome === "over_quota")
      throw new Error(
        `${appended.pending} events are pending, and the quota is ${appended.quota}. Process some of them, or raise the quota.`,
      );
  }
  return skipped;
}

function problemOf({ type }: PolledEvent, text: string, body: Uint8Array): string | undefined {
  const problem = textProblem(type, MAX_TYPE);
  if (problem !== undefined) return `The type of an event ${problem}.`;
  if (body.byteLength > MAX_BYTES) return `An event exceeds the limit of ${MAX_BYTES} bytes.`;
  return isTooDeep(text) ? `An event is nested deeper than ${MAX_DEPTH} levels.` : undefined;
}

/** The hash of the id, if the id itself is too long or contains characters that cannot be stored. */
const storableId = async (id: string): Promise<string> =>
  textProblem(id, MAX_ID) === undefined ? id : sha256Hex(id);
