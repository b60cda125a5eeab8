/** The panel of one node: its name, its parameters as a form, its settings, and a test of it alone. */
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import { isWithin, parsePath } from "@signalbox/rules/match/path.ts";
import { FlaskConical, Trash2, X } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import type { Flow } from "../api/types.ts";
import type { FlowNode, Graph } from "../canvas/graph.ts";
import { NodeIcon } from "../canvas/node-icon.tsx";
import { definitionOf } from "../canvas/node-kinds.ts";
import type { DraftRun } from "../canvas/use-run.ts";
import { pinOutput } from "../runs/pin-output.ts";
import { formFieldsOf, triggerKindOf } from "../triggers/trigger-kind.ts";
import { TriggerSection } from "../triggers/trigger-section.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { Field, TextInput } from "../ui/field.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { toastError } from "../ui/toast.tsx";
import { Disclosure } from "./disclosure.tsx";
import { fieldProblems, findingsOf } from "./field-problems.ts";
import { OWN_FORMS } from "./own-forms.tsx";
import { PanelProvider, type ReferenceRequest } from "./panel-context.ts";
import { PinSection } from "./pin-section.tsx";
import { ReferenceDialog } from "./reference-dialog.tsx";
import { SchemaForm } from "./schema-form.tsx";
import { withField } from "./schema-shape.ts";
import { ToolSection } from "./tool-section.tsx";
import { useNodeTypes } from "./use-node-types.ts";
import { usePastRuns } from "./use-past-runs.ts";

const TOOL_FIELDS = [
  "toolName",
  "toolDescription",
  "parameters",
  "isActive",
  "whenToUse",
  "whenNotToUse",
];

export function NodePanel({
  flow,
  graph,
  node,
  isPublished,
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
  /** Agents know its tool. */
  isPublished: boolean;
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
  const [request, setRequest] = useState<ReferenceRequest>();
  const types = useNodeTypes();
  const definition = definitionOf(node);
  const isTrigger = definition?.kind === "trigger";
  const type = types.data?.items.find((each) => each.type === node.type);
  const runs = usePastRuns(flow.id);
  const OwnForm = OWN_FORMS[node.type];
  const findings = useMemo(() => findingsOf(flow, node.id), [flow, node.id]);
  const context = useMemo(
    () => ({
      onReference: isTrigger ? undefined : setRequest,
      problems: fieldProblems(flow, node),
    }),
    [isTrigger, flow, node],
  );
  const { settings, ...config } = node.parameters;
  const change = (next: JsonObject) =>
    onParameters(settings === undefined ? next : { ...next, settings });
  const languages = definition?.code ? { [definition.code.field]: definition.code.language } : {};
  const rename = () => {
    // The old name stays until the new one is confirmed, if it must be.
    setName(node.name);
    if (name.trim() !== "" && name.trim() !== node.name) onRename(name.trim());
  };
  const startPin = async () => {
    const { run } = draftRun;
    const done = run?.steps.findLast(
      ({ node_id, status }) => node_id === node.id && status === "done",
    );
    try {
      draftRun.pin(node.id, run && done ? await pinOutput(run.id, done) : { output: {} });
    } catch (error) {
      toastError(error);
    }
  };
  const mayUseSecrets = (at: string) =>
    definition?.secretFields.some((field) => isWithin(keysOf(at), field)) ?? false;
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
            onClick={() => void draftRun.test(node.id, runs.data?.items[0])}
          >
            Test this step
          </Button>
        )}
        <IconButton size="small" icon={Trash2} label="Delete the node" onClick={onDelete} />
        <IconButton size="small" icon={X} label="Close the panel" onClick={onClose} />
      </header>
      <div className="flex min-h-0 flex-1 flex-col gap-4 overflow-y-auto px-4 py-4">
        {definition && <p className="text-ink-2">{definition.description}</p>}
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
              onKeyDown={(event) => {
                if (event.key !== "Enter") return;
                // The same key press must not close the dialog that may open now.
                event.preventDefault();
                rename();
              }}
            />
          )}
        </Field>
        <PanelProvider value={context}>
          {definition?.isTool && (
            <ToolSection
              flow={flow}
              graph={graph}
              node={node}
              name={name}
              isPublished={isPublished}
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
              {OwnForm ? (
                <OwnForm schema={type.config} value={config} onChange={change} />
              ) : (
                <SchemaForm
                  schema={type.config}
                  value={config}
                  skip={definition?.isTool ? TOOL_FIELDS : formFieldsOf(node)}
                  languages={languages}
                  onChange={change}
                />
              )}
              {!isTrigger && (
                <PinSection
                  key={node.id in draftRun.pins ? "pinned" : "free"}
                  node={node}
                  pin={draftRun.pins[node.id]}
                  onStart={() => void startPin()}
                  onPin={(pin) => draftRun.pin(node.id, pin)}
                  onUnpin={() => draftRun.unpin(node.id)}
                />
              )}
              <Disclosure
                label={isTrigger ? "Time limit of runs" : "Retries, time limit, errors"}
                at="settings"
              >
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
              </Disclosure>
            </>
          )}
        </PanelProvider>
      </div>
      {request && (
        <ReferenceDialog
          flow={flow.id}
          graph={graph}
          node={node}
          shown={draftRun.run}
          pins={draftRun.pins}
          request={request}
          mayUseSecrets={mayUseSecrets(request.at)}
          onClose={() => setRequest(undefined)}
        />
      )}
    </aside>
  );
}

const keysOf = (at: string): PropertyKey[] => [...(parsePath(at) ?? [])];
