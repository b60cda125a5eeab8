/** Shows the data of a past run, and inserts a reference to the value that the user chooses. */

import type { RunItem, RunWithSteps } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import type { FlowNode, Graph } from "../canvas/graph.ts";
import type { Pins } from "../canvas/pins.ts";
import { isPreview } from "../runs/preview.ts";
import { useWholeValue } from "../runs/use-value.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { SelectInput } from "../ui/field.tsx";
import { ago } from "../ui/format.ts";
import { JsonTree } from "../ui/json-tree/json-tree.tsx";
import type { Keys } from "../ui/json-tree/path.ts";
import { SkeletonRows } from "../ui/skeleton.tsx";
import type { ReferenceRequest } from "./panel-context.ts";
import { type Referable, referablesOf, writeReference } from "./references.ts";
import { usePastRun, usePastRuns } from "./use-past-runs.ts";

const SECRETS = "secrets";

export function ReferenceDialog({
  flow,
  graph,
  node,
  canvasRun,
  pins,
  request,
  mayUseSecrets,
  onClose,
}: {
  flow: string;
  graph: Graph;
  node: FlowNode;
  /** The run that the canvas shows. */
  canvasRun: RunWithSteps | undefined;
  pins: Pins;
  request: ReferenceRequest;
  mayUseSecrets: boolean;
  onClose: () => void;
}) {
  const runs = usePastRuns(flow);
  const [pickedRun, setPickedRun] = useState<string>();
  const runId = pickedRun ?? canvasRun?.id ?? runs.data?.items[0]?.id;
  const isOnCanvas = canvasRun !== undefined && canvasRun.id === runId;
  const pastRun = usePastRun(isOnCanvas ? undefined : runId);
  const run = isOnCanvas ? canvasRun : pastRun.data;
  const referables = referablesOf(graph, node.id, run, pins);
  const [pickedRoot, setPickedRoot] = useState<string>();
  const root =
    pickedRoot ?? referables.findLast(({ value }) => value !== undefined)?.root ?? "trigger";
  const pick = (keys: Keys) => {
    onClose();
    request.insert(writeReference(root, keys, request.language));
  };
  const error = runs.error ?? pastRun.error;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Insert a reference"
      description="Choose a value from the data of a run."
      className="w-[720px]"
    >
      <div className="grid min-h-[320px] grid-cols-[210px_minmax(0,1fr)] gap-4">
        <div className="flex min-h-0 flex-col gap-3">
          <SelectInput
            aria-label="Run"
            value={runId ?? ""}
            onChange={({ target }) => setPickedRun(target.value)}
          >
            {runId === undefined && <option value="">No run yet</option>}
            {runOptions(canvasRun, runs.data?.items ?? []).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </SelectInput>
          <ul className="flex min-h-0 flex-col gap-1 overflow-y-auto">
            {referables.map((each) => (
              <RootButton
                key={each.root}
                root={each.root}
                name={each.name}
                isChosen={each.root === root}
                onChoose={setPickedRoot}
              />
            ))}
            {mayUseSecrets && (
              <RootButton
                root={SECRETS}
                name="Secrets"
                isChosen={root === SECRETS}
                onChoose={setPickedRoot}
              />
            )}
          </ul>
        </div>
        <div className="flex min-h-0 min-w-0 flex-col gap-2">
          {root === SECRETS ? (
            <SecretNames onPick={(name) => pick([name])} />
          ) : error ? (
            <ErrorState error={error} />
          ) : runs.isPending || pastRun.isLoading ? (
            <SkeletonRows rows={4} height={24} />
          ) : (
            <ReferableData
              run={runId ?? ""}
              referable={referables.find((each) => each.root === root)}
              onPick={pick}
            />
          )}
        </div>
      </div>
    </Dialog>
  );
}

/** The run on the canvas is the first option. */
function runOptions(
  canvasRun: RunWithSteps | undefined,
  items: readonly RunItem[],
): [id: string, text: string][] {
  const past = items
    .filter(({ id }) => id !== canvasRun?.id)
    .map(({ id, status, created_at }): [string, string] => [id, `${ago(created_at)}, ${status}`]);
  return canvasRun ? [[canvasRun.id, "The run on the canvas"], ...past] : past;
}

function RootButton({
  root,
  name,
  isChosen,
  onChoose,
}: {
  root: string;
  name: string;
  isChosen: boolean;
  onChoose: (root: string) => void;
}) {
  return (
    <li>
      <button
        type="button"
        className="item w-full flex-col items-start gap-0 text-left"
        data-selected={isChosen}
        aria-pressed={isChosen}
        onClick={() => onChoose(root)}
      >
        <span className="w-full truncate">{name}</span>
        <code className="w-full truncate text-ink-3">{root}</code>
      </button>
    </li>
  );
}

function ReferableData({
  run,
  referable,
  onPick,
}: {
  run: string;
  referable: Referable | undefined;
  onPick: (keys: Keys) => void;
}) {
  const { value, nth = 0, name = "", root } = referable ?? {};
  // A run contains only previews of large values. The whole value is loaded separately.
  const isLarge = isPreview(value);
  const whole = useWholeValue({ run, nth, field: nth === 0 ? "input" : "output" }, isLarge);
  const data = isLarge ? whole.data : value;
  return (
    <>
      <div>
        <Button size="small" onClick={() => onPick([])}>
          Insert the whole value
        </Button>
      </div>
      {value === undefined ? (
        <p className="text-ink-2">
          {run === ""
            ? "The flow has no runs yet. Run the draft once to see its data here."
            : "This run has not reached this node. Run the draft once, or choose another run."}
        </p>
      ) : whole.error ? (
        <ErrorState error={whole.error} onRetry={() => void whole.refetch()} />
      ) : data === undefined ? (
        <SkeletonRows rows={4} height={24} />
      ) : (
        <JsonTree
          key={root}
          value={data}
          label={`Data of ${name}`}
          searchable
          maxRows={18}
          onPick={(_, keys) => onPick(keys)}
        />
      )}
    </>
  );
}

function SecretNames({ onPick }: { onPick: (name: string) => void }) {
  const { data, error, isPending } = useQuery({
    queryKey: ["secrets"],
    queryFn: () => api.get("/api/secrets"),
  });
  if (error) return <ErrorState error={error} />;
  if (isPending) return <SkeletonRows rows={3} height={24} />;
  if (data.items.length === 0)
    return <p className="text-ink-2">There are no secrets yet. Add one in the settings.</p>;
  return (
    <ul className="flex flex-col gap-1">
      {data.items.map(({ name }) => (
        <li key={name}>
          <button type="button" className="item w-full text-left" onClick={() => onPick(name)}>
            <code>{name}</code>
          </button>
        </li>
      ))}
    </ul>
  );
}
