/** Starts a run of the draft: from which trigger, and with what. */
import { splitParameters } from "@signalbox/rules/flows/split-parameters.ts";
import { useQuery } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client.ts";
import { toProblem } from "../api/problem.ts";
import type { EventItem, Page } from "../api/types.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field, SelectInput, TextArea } from "../ui/field.tsx";
import { ago } from "../ui/format.ts";
import { readObject } from "../ui/read-object.ts";
import type { FlowNode, Graph } from "./graph.ts";
import { definitionOf } from "./node-kinds.ts";
import { PastInput } from "./past-input.tsx";
import { sampleInput } from "./sample-input.ts";
import type { RunRequest } from "./use-run.ts";

const isTrigger = (node: FlowNode) => definitionOf(node)?.kind === "trigger";

export function RunDialog({
  flow,
  graph,
  last,
  preferred,
  onRun,
  onClose,
}: {
  flow: string;
  graph: Graph;
  last: RunRequest | undefined;
  preferred: string | undefined;
  onRun: (request: RunRequest) => void;
  onClose: () => void;
}) {
  const triggers = graph.nodes.filter(isTrigger);
  const first =
    triggers.find(({ id }) => id === preferred) ??
    triggers.find(({ id }) => id === last?.trigger) ??
    triggers[0];
  const [id, setId] = useState(first?.id ?? "");
  const trigger = triggers.find((node) => node.id === id);
  /** What the last run of this trigger had. */
  const lastOf = (node: FlowNode | undefined) =>
    node && last?.trigger === node.id ? last : undefined;
  const inputOf = (node: FlowNode | undefined) =>
    JSON.stringify(lastOf(node)?.input ?? (node ? sampleInput(node) : {}), null, 2);
  const [text, setText] = useState(() => inputOf(first));
  const [event, setEvent] = useState(lastOf(first)?.event ?? "");
  const selection = trigger && definitionOf(trigger)?.listensTo(splitParameters(trigger).config);
  const listens = selection !== undefined;
  const [source, type] = [selection?.source, selection?.type];
  const events = useQuery({
    queryKey: ["events", "canvas", source, type],
    queryFn: () => api.get<Page<EventItem>>("/api/events", { limit: 30, source, type }),
    enabled: listens,
  });
  const given = readObject(text);
  const input = "value" in given ? given.value : undefined;
  const usesEvent = listens && event !== "";
  return (
    <Dialog
      open
      onClose={onClose}
      title="Run the draft"
      description="What is published stays as it is. Steps that call other systems really call them, unless their output is pinned."
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            icon={Play}
            disabled={!trigger || (!usesEvent && !input)}
            onClick={() => {
              onClose();
              onRun(usesEvent ? { trigger: id, event } : { trigger: id, input: input ?? {} });
            }}
          >
            Run
          </Button>
        </>
      }
    >
      {triggers.length === 0 ? (
        <p className="text-amber">Add a trigger first: a run starts there.</p>
      ) : (
        <div className="flex flex-col gap-4">
          <Field label="From">
            {(control) => (
              <SelectInput
                {...control}
                value={id}
                onChange={({ target }) => {
                  const next = triggers.find((node) => node.id === target.value);
                  setId(target.value);
                  setText(inputOf(next));
                  setEvent(lastOf(next)?.event ?? "");
                }}
              >
                {triggers.map((node) => (
                  <option key={node.id} value={node.id}>
                    {node.name}
                  </option>
                ))}
              </SelectInput>
            )}
          </Field>
          <PastInput
            key={id}
            flow={flow}
            trigger={id}
            onPick={({ input, event }) => {
              setEvent(event ?? "");
              setText(JSON.stringify(input, null, 2));
            }}
          />
          {listens && (
            <Field
              label="Event"
              error={events.error ? toProblem(events.error).detail : undefined}
              hint={
                events.data?.items.length === 0
                  ? "No event of this source and type has arrived yet."
                  : "One of the newest events of this source and type, or an input of your own."
              }
            >
              {(control) => (
                <SelectInput
                  {...control}
                  value={event}
                  onChange={({ target }) => setEvent(target.value)}
                >
                  <option value="">An input of my own</option>
                  {event !== "" && !events.data?.items.some((item) => item.id === event) && (
                    <option value={event}>The event of the past run</option>
                  )}
                  {events.data?.items.map((item) => (
                    <option key={item.id} value={item.id}>
                      {item.source} · {item.type}, {ago(item.received_at)}
                    </option>
                  ))}
                </SelectInput>
              )}
            </Field>
          )}
          {!usesEvent && (
            <Field
              label="Input"
              error={"error" in given ? given.error : undefined}
              hint="A JSON object: {{ trigger }} in the flow."
            >
              {(control) => (
                <TextArea
                  {...control}
                  code
                  rows={8}
                  value={text}
                  onChange={({ target }) => setText(target.value)}
                />
              )}
            </Field>
          )}
        </div>
      )}
    </Dialog>
  );
}
