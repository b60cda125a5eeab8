/** Asks before a new name of a trigger renames its tool. */
import { toolNameOf } from "@signalbox/rules/flows/tool-fields.ts";
import { toolName } from "@signalbox/rules/flows/tool-name.ts";
import type { FlowNode } from "../canvas/graph.ts";
import { definitionOf } from "../canvas/node-kinds.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";

/** Agents know a tool by its name, so a change of it is confirmed. */
export const renamesTool = (node: FlowNode, name: string): boolean => {
  const before = definitionOf(node)?.isTool ? toolNameOf(node) : undefined;
  return before !== undefined && before !== toolName(name);
};

export function RenameDialog({
  node,
  name,
  onRename,
  onClose,
}: {
  node: FlowNode;
  name: string;
  onRename: () => void;
  onClose: () => void;
}) {
  return (
    <Dialog
      open
      onClose={onClose}
      title="Rename the tool?"
      description={
        <>
          <code>{toolNameOf(node)}</code> becomes <code>{toolName(name)}</code> when you publish.
          The old name works for a while longer, and references to this node follow.
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
