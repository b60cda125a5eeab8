/** Asks before a new name of a trigger renames its tool. */
import { toolNameOf } from "@signalbox/rules/flows/tool-fields.ts";
import { toolName } from "@signalbox/rules/flows/tool-name.ts";
import type { Flow } from "../api/types.ts";
import type { FlowNode, Graph } from "../canvas/graph.ts";
import { definitionOf } from "../canvas/node-kinds.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { useFreeToolName } from "./free-tool-name.ts";

/** Agents know a tool by its name, so a change of it is confirmed. */
export const renamesTool = (node: FlowNode, name: string): boolean => {
  const before = definitionOf(node)?.isTool ? toolNameOf(node) : undefined;
  return before !== undefined && before !== toolName(name);
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
          <code>{toolNameOf(node)}</code> becomes <code>{assigned}</code> when you publish. The old
          name works for a while longer, and references to this node follow.
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
