/** The Event and Schedule triggers of a flow, as cards that can be edited in place. */

import type { Flow } from "@signalbox/contract";
import { Pencil, Plus, X } from "lucide-react";
import { useMemo, useState } from "react";
import type { FlowNode, Graph } from "../canvas/graph.ts";
import { fieldProblemsOf } from "../panel/field-problems.ts";
import { PanelProvider } from "../panel/panel-context.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import type { Senders } from "./senders.ts";
import { TriggerCard, titleOf } from "./trigger-card.tsx";
import { TriggerForm } from "./trigger-form.tsx";
import { triggerKindOf } from "./trigger-kind.ts";
import { useSenders } from "./use-senders.ts";
import { type PublishedTrigger, useTriggerStates } from "./use-trigger-states.ts";

export function TriggersPanel({
  flow,
  graph,
  onParameters,
  onAdd,
  onClose,
}: {
  flow: Flow;
  graph: Graph;
  onParameters: (node: string, parameters: FlowNode["parameters"]) => void;
  onAdd: () => void;
  onClose: () => void;
}) {
  const nodes = graph.nodes.filter((node) => triggerKindOf(node) !== undefined);
  const { senders } = useSenders();
  const { published, error, isPending, refetch } = useTriggerStates(flow);
  const [openNode, setOpenNode] = useState<string>();
  return (
    <aside
      aria-label="Triggers"
      className="flex w-[400px] flex-none flex-col border-line border-l bg-plate"
    >
      <header className="flex items-center gap-2 border-line border-b px-4 py-3">
        <h2 className="flex-1 type-h2">Triggers</h2>
        <IconButton size="small" icon={X} label="Close the panel" onClick={onClose} />
      </header>
      <div className="flex min-h-0 flex-1 flex-col gap-3 overflow-y-auto px-4 py-4">
        {isPending ? (
          <SkeletonRows rows={3} />
        ) : error ? (
          <ErrorState error={error} onRetry={() => void refetch()} />
        ) : nodes.length === 0 ? (
          <EmptyState
            title="No Event or Schedule starts this flow"
            actions={
              <Button icon={Plus} onClick={onAdd}>
                Add a node
              </Button>
            }
          >
            Add an Event or a Schedule to start the flow automatically. Agents start it with its
            tools.
          </EmptyState>
        ) : (
          nodes.map((node) => (
            <EditableCard
              key={node.id}
              flow={flow}
              node={node}
              published={published.get(node.id)}
              senders={senders}
              isOpen={openNode === node.id}
              onOpen={(isOpen) => setOpenNode(isOpen ? node.id : undefined)}
              onChange={(parameters) => onParameters(node.id, parameters)}
            />
          ))
        )}
      </div>
    </aside>
  );
}

function EditableCard({
  flow,
  node,
  published,
  senders,
  isOpen,
  onOpen,
  onChange,
}: {
  flow: Flow;
  node: FlowNode;
  published: PublishedTrigger | undefined;
  senders: Senders;
  isOpen: boolean;
  onOpen: (isOpen: boolean) => void;
  onChange: (parameters: FlowNode["parameters"]) => void;
}) {
  const context = useMemo(
    () => ({ onReference: undefined, problems: fieldProblemsOf(flow, node) }),
    [flow, node],
  );
  return (
    <TriggerCard
      node={node}
      published={published}
      senders={senders}
      onChange={onChange}
      actions={
        <IconButton
          size="small"
          icon={isOpen ? X : Pencil}
          label={isOpen ? "Close the form" : `Edit ${titleOf(node, senders)}`}
          aria-expanded={isOpen}
          onClick={() => onOpen(!isOpen)}
        />
      }
    >
      {isOpen && (
        <PanelProvider value={context}>
          <div className="border-line border-t pt-3">
            <TriggerForm flow={flow.id} node={node} onChange={onChange} />
          </div>
        </PanelProvider>
      )}
    </TriggerCard>
  );
}
