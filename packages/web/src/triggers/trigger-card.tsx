/** The card of a trigger: what it listens to, its state at the server, and when it last fired. */
import { isObject } from "@signalbox/rules/json.ts";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { conditionText } from "../canvas/gist.ts";
import type { FlowNode } from "../canvas/graph.ts";
import { withField } from "../panel/schema-shape.ts";
import { Chip } from "../ui/chip.tsx";
import { ago } from "../ui/format.ts";
import { SignalHead } from "../ui/signal-head.tsx";
import { Switch } from "../ui/switch.tsx";
import { formatTime } from "./fire-times.ts";
import { connectionOf, nameOfSender, type Senders } from "./senders.ts";
import { textOf } from "./text-of.ts";
import { triggerKindOf } from "./trigger-kind.ts";
import { describePendingChange, signalOfTrigger } from "./trigger-state.ts";
import type { PublishedTrigger } from "./use-trigger-states.ts";

/** Returns `issue.opened · GitHub`, or `0 9 * * 1-5 · Europe/Berlin`. */
export function titleOf({ type, parameters }: FlowNode, senders: Senders): string {
  const parts =
    triggerKindOf({ type }) === "schedule"
      ? [textOf(parameters.cron) || "no time yet", textOf(parameters.timeZone) || "UTC"]
      : [
          textOf(parameters.type) || "any event",
          nameOfSender(textOf(parameters.source), senders) || "no source yet",
        ];
  return parts.join(" · ");
}

export function TriggerCard({
  node,
  published,
  senders,
  actions,
  children,
  onChange,
}: {
  node: FlowNode;
  /** Undefined if the trigger is not published. */
  published: PublishedTrigger | undefined;
  senders: Senders;
  actions?: ReactNode;
  children?: ReactNode;
  onChange: (parameters: FlowNode["parameters"]) => void;
}) {
  const { parameters } = node;
  const state = published?.state;
  const { aspect, label } = signalOfTrigger(state);
  const pending = describePendingChange(parameters, state, published?.parameters);
  const connection = connectionOf(textOf(parameters.source), senders);
  const conditions = Object.entries(isObject(parameters.params) ? parameters.params : {});
  const filter = textOf(parameters.filter);
  const title = titleOf(node, senders);
  return (
    <section aria-label={`Trigger ${title}`} className="tile flex min-w-0 flex-col gap-2 p-3">
      <div className="flex items-start gap-[10px]">
        <SignalHead aspect={aspect} label={label} />
        <div className="min-w-0 flex-1">
          <h3 className="wrap-anywhere type-strong">{title}</h3>
          <p className="type-meta text-ink-3">
            {label}
            {" · "}
            {state?.last_fired_at ? `last fired ${ago(state.last_fired_at)}` : "has not fired yet"}
            {state?.active && state.next_fire_at && (
              <>
                {" · next "}
                {formatTime(Date.parse(state.next_fire_at), textOf(parameters.timeZone) || "UTC")}
              </>
            )}
          </p>
        </div>
        <div className="flex items-center gap-2">
          {actions}
          <Switch
            label={`Active: ${title}`}
            checked={parameters.isActive !== false}
            onChange={(isActive) => onChange(withField(parameters, "isActive", isActive))}
          />
        </div>
      </div>
      {(conditions.length > 0 || filter !== "") && (
        <div className="flex flex-wrap gap-[6px]">
          {conditions.map(([path, value]) => (
            <Chip key={path} className="max-w-full">
              {conditionText(path, value)}
            </Chip>
          ))}
          {filter !== "" && <Chip className="max-w-full">{filter}</Chip>}
        </div>
      )}
      {state?.error && (
        <div role="alert" className="rounded-tile bg-red-tint px-3 py-2 type-meta text-red">
          <p className="wrap-anywhere">{state.error}</p>
          <p>
            The hub retries automatically.{" "}
            {connection && (
              <Link href={`/connections/${connection.id}`} className="underline">
                Check the connection
              </Link>
            )}
          </p>
        </div>
      )}
      {pending && <p className="type-meta text-amber">{pending}</p>}
      {children}
    </section>
  );
}
