/** The tools that explain and replay events. */

import { explainedSchema } from "@signalbox/contract/events.ts";
import { z } from "zod";
import { outcomeOf } from "../../events/inbox/event-view.ts";
import type { Inbox } from "../../events/inbox/inbox.ts";
import { fitItems, max_bytes, nextPageNote } from "../../kernel/mcp/result-budget.ts";
import { defineTool, type Tool } from "../../kernel/mcp/tool.ts";
import type { Explainer } from "./explain.ts";

const MAX_EXPLAINED = 100;
const eventId = z.string().describe("The event's id, a UUID");

export interface ExplainToolsOptions {
  inbox: Pick<Inbox, "find">;
  explainer: Pick<Explainer, "explain" | "replay">;
}

export const explainTools = ({ inbox, explainer }: ExplainToolsOptions): readonly Tool[] => [
  defineTool({
    name: "explain_event",
    title: "Explain an event",
    description: "Explains the outcome of an event: which triggers were evaluated, whether they matched, and why. The triggers that matched come first, then the nearest misses.",
    scope: "inbox:read",
    readOnly: true,
    input: z.object({
      event_id: eventId,
      flow: z.string().min(1).optional().describe("The id of a flow; without it, the triggers of all flows"),
      cursor: z.string().max(1_000).optional(),
      max_bytes,
    }),
    output: z.object({
      event_id: z.string(),
      outcome: z.string().nullable(),
      triggers: z.array(explainedSchema),
      explanation: z.string(),
      next_cursor: z.string().nullable(),
    }),
    async run({ event_id, flow, cursor, max_bytes }, { access }) {
      const event = await inbox.find(access.tenants, event_id, "event_id");
      const { id, tenant } = event;
      const page = await explainer.explain(tenant, id, { flow, cursor, limit: MAX_EXPLAINED });
      const { items, cursors, total, started } = page;
      const considered = items.map(({ reasons, flow_name, node_name, ...trigger }) => trigger);
      const explanation =
        total === 0
          ? "The event was stored. There are no event triggers to evaluate."
          : `The event was stored. ${started} of ${total > 1_000 ? "more than 1000" : total} event triggers started a run.`;
      return fitItems(considered, max_bytes, (triggers) => {
        const next_cursor =
          triggers.length < items.length ? (cursors[triggers.length - 1] ?? null) : page.next_cursor;
        const result = { event_id: id, outcome: outcomeOf(event), triggers, explanation, next_cursor };
        return { text: result, structured: result, note: nextPageNote(next_cursor) };
      });
    },
  }),
  defineTool({
    name: "replay_event",
    title: "Replay an event",
    description: "Evaluates the triggers again for a stored event: all triggers, or those of one flow.",
    scope: "flows:call",
    openWorld: true,
    input: z.object({ event_id: eventId, flow: z.string().min(1).optional().describe("The id of a flow; without it, all flows"), max_bytes }),
    output: z.object({
      event_id: z.string(),
      runs: z.array(z.object({ run_id: z.string(), flow_id: z.string() })),
      considered: z.number(),
      omitted_runs: z.number().optional().describe("The number of started runs that did not fit"),
    }),
    async run({ event_id, flow, max_bytes }, { access }) {
      const { id, tenant } = await inbox.find(access.tenants, event_id, "event_id");
      const { runs: started, considered } = await explainer.replay(tenant, id, { flow });
      return fitItems(started, max_bytes, (runs) => {
        const omitted_runs = started.length - runs.length;
        const result = { event_id: id, runs, considered, ...(omitted_runs > 0 && { omitted_runs }) };
        return { text: result, structured: result };
      });
    },
  }),
]; // biome-ignore format: descriptions read better unbroken
