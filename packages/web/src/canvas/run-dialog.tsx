/** Starts a run of the draft: asks for the trigger and its input. */

import { splitParameters } from "@signalbox/rules/flows/split-parameters.ts";
import { useQuery } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client.ts";
import { toProblem } from "../api/problem.ts";
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
  lastRequest,
  preferredTrigger,
  onRun,
  onClose,
}: {
  flow: string;
  graph: Graph;
  lastRequest: RunRequest | undefined;
  /** The id of the node that is chosen initially, if it is a trigger. */
  preferredTrigger: string | undefined;
  onRun: (request: RunRequest) => void;
  onClose: () => void;
}) {
  const triggers = graph.nodes.filter(isTrigger);
  const firstTrigger =
    triggers.find(({ id }) => id === preferredTrigger) ??
    triggers.find(({ id }) => id === lastRequest?.trigger) ??
    triggers[0];
  const [id, setId] = useState(firstTrigger?.id ?? "");
  const trigger = triggers.find((node) => node.id === id);
  /** Returns the last request if it used this trigger. */
  const lastRequestOf = (node: FlowNode | undefined) =>
    node && lastRequest?.trigger === node.id ? lastRequest : undefined;
  const inputOf = (node: FlowNode | undefined) =>
    JSON.stringify(lastRequestOf(node)?.input ?? (node ? sampleInput(node) : {}), null, 2);
  const [text, setText] = useState(() => inputOf(firstTrigger));
  const [event, setEvent] = useState(lastRequestOf(firstTrigger)?.event ?? "");
  const selection = trigger && definitionOf(trigger)?.listensTo(splitParameters(trigger).config);
  const isEventTrigger = selection !== undefined;
  const [source, type] = [selection?.source, selection?.type];
  const events = useQuery({
    queryKey: ["events", "canvas", source, type],
    queryFn: () => api.get("/api/events", { query: { limit: 30, source, type } }),
    enabled: isEventTrigger,
  });
  const parsed = readObject(text);
  const input = "value" in parsed ? parsed.value : undefined;
  const usesEvent = isEventTrigger && event !== "";
  return (
    <Dialog
      open
      onClose={onClose}
      title="Run the draft"
      description="The published version does not change. The steps really call other systems, unless their output is pinned."
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
        <p className="text-amber">Add a trigger first: a run starts at a trigger.</p>
      ) : (
        <div className="flex flex-col gap-4">
          <Field label="Trigger">
            {(control) => (
              <SelectInput
                {...control}
                value={id}
                onChange={({ target }) => {
                  const next = triggers.find((node) => node.id === target.value);
                  setId(target.value);
                  setText(inputOf(next));
                  setEvent(lastRequestOf(next)?.event ?? "");
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
          {isEventTrigger && (
            <Field
              label="Event"
              error={events.error ? toProblem(events.error).detail : undefined}
              hint={
                events.data?.items.length === 0
                  ? "No event of this source and type has arrived yet."
                  : "Choose one of the newest events of this source and type, or enter an input below."
              }
            >
              {(control) => (
                <SelectInput
                  {...control}
                  value={event}
                  onChange={({ target }) => setEvent(target.value)}
                >
                  <option value="">None: enter an input</option>
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
              error={"error" in parsed ? parsed.error : undefined}
              hint="A JSON object. The flow refers to it as {{ trigger }}."
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
