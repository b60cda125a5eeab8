/** Asks the user to confirm a new name of a trigger that renames its tool. */

import type { Flow } from "@signalbox/contract";
import { toolNameOf } from "@signalbox/rules/flows/tool-fields.ts";
import { toolName } from "@signalbox/rules/flows/tool-name.ts";
import type { FlowNode, Graph } from "../canvas/graph.ts";
import { definitionOf } from "../canvas/node-kinds.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { useFreeToolName } from "./free-tool-name.ts";

/** Whether the new name of the node changes the name of its tool, by which agents call it. */
export const renamesTool = (node: FlowNode, name: string): boolean => {
  const current = definitionOf(node)?.isTool ? toolNameOf(node) : undefined;
  return current !== undefined && current !== toolName(name);
};

export function RenameDialog({
  flow,
  graph,
  node,
  name,
  onRename,
  onClose,
}: {
  flow: Pick<Flow, "id" | "app">;
  graph: Pick<Graph, "nodes">;
  node: FlowNode;
  name: string;
  onRename: () => void;
  onClose: () => void;
}) {
  const { assigned } = useFreeToolName(flow, graph, node.id, name);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Rename the tool?"
      description={
        <>
          <code>{toolNameOf(node)}</code> becomes <code>{assigned}</code> when you publish. Agents
          can use the old name for another week, and references to this node are updated.
        </>
      }
      actions={
        <>
          <Button onClick={onClose}>Keep the name</Button>
          <Button
            look="primary"
            onClick={() => {
              onRename();
              onClose();
            }}
          >
            Rename
          </Button>
        </>
      }
    />
  );
}
