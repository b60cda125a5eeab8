/** The panel of one node: its name, a form for its parameters, its settings, and a test of this step. */

import type { Flow } from "@signalbox/contract";
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import { isWithin, parsePath } from "@signalbox/rules/match/path.ts";
import { FlaskConical, Trash2, X } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import type { FlowNode, Graph } from "../canvas/graph.ts";
import { NodeIcon } from "../canvas/node-icon.tsx";
import { definitionOf } from "../canvas/node-kinds.ts";
import type { DraftRun } from "../canvas/use-run.ts";
import { loadPin } from "../runs/load-pin.ts";
import { newestDoneStep } from "../runs/run-pins.ts";
import { formFieldsOf, triggerKindOf } from "../triggers/trigger-kind.ts";
import { TriggerSection } from "../triggers/trigger-section.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { Field, TextInput } from "../ui/field.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { toastError } from "../ui/toast.tsx";
import { CUSTOM_FORMS } from "./custom-forms.tsx";
import { Disclosure } from "./disclosure.tsx";
import { fieldProblemsOf, findingsOf } from "./field-problems.ts";
import { PanelProvider, type ReferenceRequest } from "./panel-context.ts";
import { PinSection } from "./pin-section.tsx";
import { ReferenceDialog } from "./reference-dialog.tsx";
import { SchemaForm } from "./schema-form.tsx";
import { withField } from "./schema-shape.ts";
import { ToolSection } from "./tool-section.tsx";
import { useNodeTypes } from "./use-node-types.ts";
import { usePastRuns } from "./use-past-runs.ts";

/** The parameters that `ToolSection` shows. */
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
  /** Whether the published version has the node, so that agents know its tool. */
  isPublished: boolean;
  draftRun: DraftRun;
  onParameters: (parameters: JsonObject) => void;
  onRename: (name: string) => void;
  onDelete: () => void;
  onClose: () => void;
  /** Moves the focus to the node's tile. */
  onLeave: () => void;
}) {
  const [name, setName] = useState(node.name);
  // An undo, or another tab, can rename the node too.
  useEffect(() => setName(node.name), [node.name]);
  const [referenceRequest, setReferenceRequest] = useState<ReferenceRequest>();
  const types = useNodeTypes();
  const definition = definitionOf(node);
  const isTrigger = definition?.kind === "trigger";
  const type = types.data?.items.find((each) => each.type === node.type);
  const runs = usePastRuns(flow.id);
  const CustomForm = CUSTOM_FORMS[node.type];
  const findings = useMemo(() => findingsOf(flow, node.id), [flow, node.id]);
  const context = useMemo(
    () => ({
      onReference: isTrigger ? undefined : setReferenceRequest,
      problems: fieldProblemsOf(flow, node),
    }),
    [isTrigger, flow, node],
  );
  const { settings, ...config } = node.parameters;
  const change = (next: JsonObject) =>
    onParameters(settings === undefined ? next : { ...next, settings });
  const languages = definition?.code ? { [definition.code.field]: definition.code.language } : {};
  const rename = () => {
    // The field shows the old name again, because `onRename` may ask the user to confirm first.
    setName(node.name);
    if (name.trim() !== "" && name.trim() !== node.name) onRename(name.trim());
  };
  const startPin = async () => {
    const { run } = draftRun;
    const lastStep = run && newestDoneStep(run.steps, node.id);
    try {
      draftRun.pin(node.id, lastStep ? await loadPin(run.id, lastStep) : { output: {} });
    } catch (error) {
      toastError(error);
    }
  };
  const mayUseSecrets = (path: string) =>
    definition?.secretFields.some((field) => isWithin(keysOf(path), field)) ?? false;
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
          .filter(({ path }) => path === undefined)
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
              {CustomForm ? (
                <CustomForm schema={type.config} value={config} onChange={change} />
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
                  node={node}
                  pin={draftRun.pins[node.id]}
                  onStart={() => void startPin()}
                  onPin={(pin) => draftRun.pin(node.id, pin)}
                  onUnpin={() => draftRun.unpin(node.id)}
                />
              )}
              <Disclosure
                label={isTrigger ? "Time limit of runs" : "Retries, time limit, errors"}
                path="settings"
              >
                <SchemaForm
                  schema={type.settings}
                  path="settings"
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
      {referenceRequest && (
        <ReferenceDialog
          flow={flow.id}
          graph={graph}
          node={node}
          canvasRun={draftRun.run}
          pins={draftRun.pins}
          request={referenceRequest}
          mayUseSecrets={mayUseSecrets(referenceRequest.path)}
          onClose={() => setReferenceRequest(undefined)}
        />
      )}
    </aside>
  );
}

const keysOf = (path: string): PropertyKey[] => [...(parsePath(path) ?? [])];
