/** A flow in the list: its triggers, its waiting runs, its last run, and its problems. */

import type { FlowItem, Queue } from "@signalbox/contract";
import {
  CalendarClock,
  Copy,
  Download,
  EllipsisVertical,
  Radio,
  Trash2,
  Wrench,
} from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { signalOfRun } from "../runs/signal-of-run.ts";
import { IconButton } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { ago, countOrMore } from "../ui/format.ts";
import { Menu } from "../ui/menu.tsx";
import { SignalHead } from "../ui/signal-head.tsx";
import { toastError, toasts } from "../ui/toast.tsx";
import { AttentionMark } from "./attention-mark.tsx";
import { DeleteFlowDialog, downloadFlow } from "./delete-flow-dialog.tsx";
import { attentionOf, draftStateOf, signalOfFlow } from "./flow-list.ts";

const MAX_CHIPS = 4;

export function FlowCard({
  flow,
  waiting,
  nameOf,
}: {
  flow: FlowItem;
  /** The queued and held runs of the flow; undefined if there are none. */
  waiting: Queue["flows"][number] | undefined;
  /** Returns the display name of a source of events. */
  nameOf: (source: string) => string;
}) {
  const [isDeleting, setDeleting] = useState(false);
  const attention = attentionOf(flow);
  const draft = draftStateOf(flow);
  const { aspect, label } = signalOfFlow(flow);
  const tools = flow.exposed_tools;
  return (
    <li className="tile relative flex min-w-0 flex-col gap-3 p-4 shadow-tile hover:border-field">
      <div className="flex items-start gap-3">
        <SignalHead aspect={aspect} label={label} />
        <div className="min-w-0 flex-1">
          <Link
            href={`/flows/${flow.id}`}
            className="block truncate type-strong after:absolute after:inset-0"
          >
            {flow.name}
          </Link>
          <p className="line-clamp-2 min-h-4 type-meta text-ink-3">{flow.description}</p>
        </div>
        {attention && <AttentionMark attention={attention} className="relative z-10" />}
        <FlowMenu flow={flow} onDelete={() => setDeleting(true)} />
      </div>
      <div className="flex min-h-5 flex-wrap gap-[6px]">
        {tools.slice(0, MAX_CHIPS).map(({ node_id, name, description }) => (
          <Chip key={node_id} icon={Wrench} title={description} className="max-w-full">
            {name}
          </Chip>
        ))}
        {tools.length > MAX_CHIPS && <Chip>+{tools.length - MAX_CHIPS}</Chip>}
        {flow.listens_to.slice(0, MAX_CHIPS).map(({ node_id, source, type }) => (
          <Chip key={node_id} icon={Radio} title="an event trigger" className="max-w-full">
            {[nameOf(source), type].filter(Boolean).join(" · ") || "any event"}
          </Chip>
        ))}
        {flow.schedules.map(({ node_id, cron }) => (
          <Chip key={node_id} icon={CalendarClock} title="a schedule">
            {cron}
          </Chip>
        ))}
        {waiting && waiting.queued > 0 && (
          <Chip words icon={signalOfRun("queued").icon}>
            {countOrMore(waiting.queued, waiting.queued_more)} queued
          </Chip>
        )}
        {waiting && waiting.held > 0 && (
          <Chip words tone="amber" icon={signalOfRun("held").icon}>
            {countOrMore(waiting.held, waiting.held_more)} held
          </Chip>
        )}
      </div>
      <div className="mt-auto flex items-center justify-between gap-3 border-line border-t pt-2 type-meta text-ink-3">
        {draft.tone ? (
          <Chip words tone={draft.tone}>
            {draft.text}
          </Chip>
        ) : (
          <span>{draft.text}</span>
        )}
        <span title={`changed ${ago(flow.updated_at)}`}>
          {flow.last_run ? `ran ${ago(flow.last_run.created_at)}` : "has never run"}
        </span>
      </div>
      {isDeleting && <DeleteFlowDialog flow={flow} onClose={() => setDeleting(false)} />}
    </li>
  );
}

function FlowMenu({ flow, onDelete }: { flow: FlowItem; onDelete: () => void }) {
  const [, navigate] = useLocation();
  const duplicate = async () => {
    try {
      const { nodes, edges, description } = await api.get("/api/flows/:flow", {
        params: { flow: flow.id },
      });
      const copy = await api.post("/api/apps/:app/flows", {
        params: { app: flow.app },
        body: {
          name: `${flow.name} (copy)`,
          description,
          // Without a tool name, the hub assigns one that is unique in the app.
          nodes: nodes.map(({ parameters: { toolName: _, ...parameters }, ...node }) => ({
            ...node,
            parameters,
          })),
          edges,
        },
      });
      void queryClient.invalidateQueries({ queryKey: ["flows"] });
      toasts.add({ aspect: "green", title: `“${copy.name}” was created as a draft` });
    } catch (error) {
      toastError(error);
    }
  };
  return (
    <Menu
      label={`Actions of ${flow.name}`}
      align="end"
      trigger={
        <IconButton
          size="small"
          icon={EllipsisVertical}
          label={`Actions of ${flow.name}`}
          className="relative z-10 -mt-1 -mr-2"
        />
      }
      items={[
        { label: "Open", onSelect: () => navigate(`/flows/${flow.id}`) },
        { label: "Duplicate", icon: Copy, onSelect: () => void duplicate() },
        { label: "Download as JSON", icon: Download, onSelect: () => void downloadFlow(flow) },
        "-",
        { label: "Delete…", icon: Trash2, danger: true, onSelect: onDelete },
      ]}
    />
  );
}
