/** The tab “Why”: the triggers, in pages, with the reasons of their verdicts, and the deciding fields in the payload. */

import type { EventView, ExplainedTrigger } from "@signalbox/contract";
import { parsePath } from "@signalbox/rules/match/path.ts";
import { useMemo } from "react";
import { Link } from "wouter";
import { Chip } from "../ui/chip.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { plural } from "../ui/format.ts";
import { JsonTree } from "../ui/json-tree/json-tree.tsx";
import { LoadMore } from "../ui/load-more.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { SignalHead } from "../ui/signal-head.tsx";
import { Reasons } from "./reasons.tsx";
import type { ExplanationQuery } from "./use-explanation.ts";
import {
  countOf,
  type DecidingFields,
  findDecidingFields,
  linesOf,
  sortTriggers,
  stateOf,
} from "./verdict.ts";

export const Why = ({
  verdicts,
  event,
}: {
  verdicts: ExplanationQuery;
  event: EventView | undefined;
}) => (
  <Loaded query={verdicts} height={48}>
    {({ items, total }) => (
      <div className="pb-6">
        <Verdicts triggers={items} event={event} />
        {items.length < total && (
          <p className="mt-4 text-ink-2">
            {items.length} of {countOf(total)} triggers are shown.
          </p>
        )}
        <LoadMore list={verdicts} noun="triggers" />
      </div>
    )}
  </Loaded>
);

function Verdicts({
  triggers,
  event,
}: {
  triggers: readonly ExplainedTrigger[];
  event: EventView | undefined;
}) {
  const { near, far } = useMemo(() => sortTriggers(triggers), [triggers]);
  const deciding = useMemo(() => findDecidingFields(near), [near]);
  if (triggers.length === 0)
    return (
      <EmptyState title="No published flow listens to events">
        Publish a flow with an Event trigger for this source and type, or make a flow from this
        event.
      </EmptyState>
    );
  return (
    <>
      {near.map((trigger) => (
        <Verdict key={`${trigger.flow_id} ${trigger.node_id}`} trigger={trigger} />
      ))}
      {near.length === 0 && (
        <p className="mb-3 text-ink-2">No trigger listens to events of this source and type.</p>
      )}
      {deciding && event && <DecidingPayload deciding={deciding} event={event} />}
      {far.length > 0 && (
        <details className="mt-4">
          <summary className="mb-[10px] cursor-pointer text-ink-2">
            {plural(far.length, "trigger listens", "triggers listen")} to other events
          </summary>
          {far.map((trigger) => (
            <Verdict key={`${trigger.flow_id} ${trigger.node_id}`} trigger={trigger} />
          ))}
        </details>
      )}
    </>
  );
}

function Verdict({ trigger }: { trigger: ExplainedTrigger }) {
  const lines = linesOf(trigger);
  const state = stateOf(trigger);
  return (
    <section className="mb-[10px] overflow-hidden rounded-tile border border-line">
      <h3 className="flex items-center gap-[10px] border-line bg-sunk px-3 py-2 type-strong not-last:border-b">
        <SignalHead
          aspect={trigger.matched ? "green" : "none"}
          label={
            trigger.decided === "pending"
              ? "not compared yet"
              : trigger.matched
                ? "matched"
                : "did not match"
          }
        />
        <Link
          href={`/flows/${trigger.flow_id}?node=${encodeURIComponent(trigger.node_id)}`}
          className="min-w-0 truncate hover:underline"
        >
          {trigger.trigger}
        </Link>
        <span className="flex-1" />
        {state.tone ? (
          <Chip words tone={state.tone}>
            {trigger.run_id ? (
              <Link href={`/runs/${trigger.run_id}`}>{state.text}</Link>
            ) : (
              state.text
            )}
          </Chip>
        ) : (
          <span className="flex-none font-[450] type-meta text-ink-3">{state.text}</span>
        )}
      </h3>
      {(lines.length > 0 || trigger.decided === "now") && (
        <div className="px-3 py-2">
          <Reasons lines={lines} />
          {trigger.decided === "now" && (
            <p className="type-meta text-ink-3">
              This is the verdict of the trigger as it is now. It may have changed since the event
              arrived.
            </p>
          )}
        </div>
      )}
    </section>
  );
}

function DecidingPayload({ deciding, event }: { deciding: DecidingFields; event: EventView }) {
  const paths = useMemo(
    () => deciding.paths.map((path) => parsePath(path)).filter((path) => path !== undefined),
    [deciding],
  );
  return (
    <>
      <h3 className="mt-4 mb-2 flex items-center justify-between">
        <span className="type-strong">Payload</span>
        <span className="type-meta text-ink-3">fields that “{deciding.flowName}” compared</span>
      </h3>
      <JsonTree value={event.payload} label="payload" marked={paths} maxRows={24} />
    </>
  );
}
