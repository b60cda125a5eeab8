/** The panel of one node: its name, its parameters as a form, its settings, and a test of it alone. */
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import { useQuery } from "@tanstack/react-query";
import { FlaskConical, PinOff, Trash2, X } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { api, path } from "../api/client.ts";
import type { Flow, Page, RunItem, RunWithSteps } from "../api/types.ts";
import type { FlowNode, Graph } from "../canvas/graph.ts";
import { NodeIcon } from "../canvas/node-icon.tsx";
import { definitionOf } from "../canvas/node-kinds.ts";
import type { DraftRun } from "../canvas/use-run.ts";
import { formFieldsOf, triggerKindOf } from "../triggers/trigger-kind.ts";
import { TriggerSection } from "../triggers/trigger-section.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { Field, TextInput } from "../ui/field.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { fieldProblems, findingsOf } from "./field-problems.ts";
import { PanelProvider } from "./panel-context.ts";
import { ReferenceDialog } from "./reference-dialog.tsx";
import { referablesOf } from "./references.ts";
import { RenameDialog, renamesTool } from "./rename-dialog.tsx";
import { SchemaForm } from "./schema-form.tsx";
import { withField } from "./schema-shape.ts";
import { ToolSection } from "./tool-section.tsx";
import { useNodeTypes } from "./use-node-types.ts";

const TOOL_FIELDS = [
  "toolName",
  "toolDescription",
  "parameters",
  "isActive",
  "whenToUse",
  "whenNotToUse",
];

/** The run whose data the reference picker shows: the one on the canvas, or the last one. */
function useLastRun(flow: string, shown: RunWithSteps | undefined): RunWithSteps | undefined {
  const last = useQuery({
    queryKey: ["runs", "last-data", flow],
    queryFn: async () => {
      const { items } = await api.get<Page<RunItem>>("/api/runs", { flow, limit: 1 });
      return items[0] ? api.get<RunWithSteps>(path`/api/runs/${items[0].id}`) : null;
    },
    enabled: shown === undefined,
    staleTime: 30_000,
  });
  return shown ?? last.data ?? undefined;
}

export function NodePanel({
  flow,
  graph,
  node,
  draftRun,
  onParameters,
  onRename,
  onDelete,
  onClose,
  onLeave,
}: {
  flow: Flow;
  graph: Graph;
  node: FlowNode;
  draftRun: DraftRun;
  onParameters: (parameters: JsonObject) => void;
  onRename: (name: string) => void;
  onDelete: () => void;
  onClose: () => void;
  /** Back to the tile by keyboard. */
  onLeave: () => void;
}) {
  const [name, setName] = useState(node.name);
  // An undo, or another tab, can rename it too.
  useEffect(() => setName(node.name), [node.name]);
  const [isAsking, setAsking] = useState(false);
  const [insert, setInsert] = useState<(reference: string) => void>();
  const types = useNodeTypes();
  const definition = definitionOf(node);
  const isTrigger = definition?.kind === "trigger";
  const type = types.data?.items.find((each) => each.type === node.type);
  const run = useLastRun(flow.id, draftRun.run);
  const findings = useMemo(() => findingsOf(flow, node.id), [flow, node.id]);
  const context = useMemo(
    () => ({
      onReference: isTrigger
        ? undefined
        : (next: (reference: string) => void) => setInsert(() => next),
      problems: fieldProblems(flow, node),
    }),
    [isTrigger, flow, node],
  );
  const { settings, ...config } = node.parameters;
  const change = (next: JsonObject) =>
    onParameters(settings === undefined ? next : { ...next, settings });
  const languages = definition?.code ? { [definition.code.field]: definition.code.language } : {};
  /** Agents know a tool by its name, so a change of it is confirmed. */
  const rename = () => {
    if (name.trim() === "") setName(node.name);
    else if (name.trim() !== node.name && definition?.isTool && renamesTool(node, name))
      setAsking(true);
    else onRename(name);
  };
  const isPinned = node.id in draftRun.pins;
  return (
    <aside
      aria-label={`Node ${node.name}`}
      className="flex w-[400px] flex-none flex-col border-line border-l bg-plate"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.preventDefault();
        onLeave();
      }}
    >
      <header className="flex items-center gap-2 border-line border-b px-4 py-3">
        <NodeIcon type={node.type} />
        <span className="node-name">
          <b className="truncate">{node.name}</b>
          <span>{definition?.title ?? node.type}</span>
        </span>
        {!isTrigger && (
          <Button
            size="small"
            icon={FlaskConical}
            busy={draftRun.isStarting}
            onClick={() => void draftRun.test(node.id, run)}
          >
            Test this step
          </Button>
        )}
        <IconButton size="small" icon={Trash2} label="Delete the node" onClick={onDelete} />
        <IconButton size="small" icon={X} label="Close the panel" onClick={onClose} />
      </header>
      <div className="flex min-h-0 flex-1 flex-col gap-4 overflow-y-auto px-4 py-4">
        {definition && <p className="text-ink-2">{definition.description}</p>}
        {isPinned && (
          <p className="flex items-center gap-2 rounded-tile bg-sunk px-3 py-2 type-meta">
            <span className="flex-1">
              Its output is pinned: runs of the draft use it instead of executing the node.
            </span>
            <Button size="small" icon={PinOff} onClick={() => draftRun.unpin(node.id)}>
              Unpin
            </Button>
          </p>
        )}
        {findings
          .filter(({ path: at }) => at === undefined)
          .map(({ message }) => (
            <p key={message} className="wrap-anywhere type-meta text-amber">
              {message}
            </p>
          ))}
        <Field label="Name" hint={<code>{`{{ ${node.slug} }}`}</code>}>
          {(control) => (
            <TextInput
              {...control}
              value={name}
              maxLength={300}
              onChange={({ target }) => setName(target.value)}
              onBlur={rename}
              onKeyDown={({ key, currentTarget }) => {
                if (key === "Enter") currentTarget.blur();
              }}
            />
          )}
        </Field>
        <PanelProvider value={context}>
          {definition?.isTool && (
            <ToolSection
              node={node}
              name={name}
              app={flow.app}
              flow={flow.id}
              onChange={onParameters}
            />
          )}
          {triggerKindOf(node) && (
            <TriggerSection flow={flow} node={node} onChange={onParameters} />
          )}
          {types.isPending && <SkeletonRows />}
          {types.error && <ErrorState error={types.error} onRetry={() => void types.refetch()} />}
          {type && (
            <>
              <SchemaForm
                schema={type.config}
                value={config}
                skip={definition?.isTool ? TOOL_FIELDS : formFieldsOf(node)}
                languages={languages}
                onChange={change}
              />
              <details className="border-line border-t pt-3">
                <summary className="cursor-pointer type-label text-ink-2">
                  {isTrigger ? "Run" : "Retries, time limit, errors"}
                </summary>
                <div className="pt-3">
                  <SchemaForm
                    schema={type.settings}
                    at="settings"
                    value={isObject(settings) ? settings : {}}
                    onChange={(next) =>
                      onParameters(
                        withField(
                          node.parameters,
                          "settings",
                          Object.keys(next).length > 0 ? next : undefined,
                        ),
                      )
                    }
                  />
                </div>
              </details>
            </>
          )}
        </PanelProvider>
      </div>
      {isAsking && (
        <RenameDialog
          node={node}
          name={name}
          onRename={() => onRename(name)}
          onKeep={() => setName(node.name)}
          onClose={() => setAsking(false)}
        />
      )}
      {insert && (
        <ReferenceDialog
          referables={referablesOf(graph, node.id, run, draftRun.pins)}
          onPick={insert}
          onClose={() => setInsert(undefined)}
        />
      )}
    </aside>
  );
}
