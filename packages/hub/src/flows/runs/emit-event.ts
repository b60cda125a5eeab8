import { Permanent } from "@signalbox/rules/flows/errors.ts";
import { LargeJson, type MixedObject, writeJson } from "@signalbox/rules/large-json.ts";
import { sanitizeSummary } from "../../events/admit/sanitize-summary.ts";
import type { AppendRequest, AppendResult } from "../../events/model.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import {
  CHAIN_HEADER,
  chainFrom,
  DEPTH_HEADER,
  OWN_SOURCE,
  RUN_HEADER,
} from "../matching/event-input.ts";
import type { NodeServices } from "./execution.ts";

export interface EmitOptions {
  /** Matches events against triggers, and stores them with the runs that they start. */
  append: (request: AppendRequest) => Promise<AppendResult>;
  newId: () => string;
  now: () => number;
}

/** Clients could read the payload of a larger event only in parts. */
const MAX_EVENT_BYTES = 8 * 1024 * 1024;

/** Stores an event that a run emits. The idempotency key of the step prevents duplicates. */
export const createEmit =
  ({ append, newId, now }: EmitOptions): NodeServices["emit"] =>
  async (run, { type, data, id }, { key }) => {
    const eventId = newId();
    const members: MixedObject = data instanceof LargeJson ? {} : data;
    const textMember = (name: string) => {
      const { [name]: member } = members;
      return typeof member === "string" ? member : null;
    };
    const body = utf8(writeJson(data));
    if (body.byteLength > MAX_EVENT_BYTES)
      throw new Permanent(
        `The event has ${body.byteLength} bytes of JSON, but may have at most ${MAX_EVENT_BYTES}. Emit less, or a reference to the data.`,
        { code: "event_too_large" },
      );
    const appended = await append({
      tenant: run.tenant,
      skipQuota: false,
      events: [
        {
          id: eventId,
          source: OWN_SOURCE,
          source_id: run.flow_id,
          external_id: id === undefined ? key : `${key}:${id}`,
          type,
          received_at: now(),
          ...sanitizeSummary({ title: textMember("title"), url: textMember("url") }),
          content_type: "application/json",
          headers: {
            [DEPTH_HEADER]: String(run.depth),
            [RUN_HEADER]: run.id,
            [CHAIN_HEADER]: JSON.stringify(chainFrom(run)),
          },
          body,
        },
      ],
    });
    if (appended.outcome === "deleted") throw new Permanent("The tenant was deleted.");
    if (appended.outcome === "over_quota")
      throw new Error(
        `${appended.pending} events are pending, and the quota is ${appended.quota}. Process some of them, or raise the quota.`,
      );
    return { id: appended.events[0]?.id ?? eventId };
  };
