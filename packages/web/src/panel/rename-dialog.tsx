/** Asks before a new name of a trigger renames its tool. */
import { toolNameOf } from "@signalbox/rules/flows/tool-fields.ts";
import { toolName } from "@signalbox/rules/flows/tool-name.ts";
import type { FlowNode } from "../canvas/graph.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";

export const renamesTool = (node: FlowNode, name: string): boolean => {
  const before = toolNameOf(node);
  return before !== undefined && before !== toolName(name);
};

export function RenameDialog({
  node,
  name,
  onRename,
  onKeep,
  onClose,
}: {
  node: FlowNode;
  name: string;
  onRename: () => void;
  onKeep: () => void;
  onClose: () => void;
}) {
  const keep = () => {
    onKeep();
    onClose();
  };
  return (
    <Dialog
      open
      onClose={keep}
      title="Rename the tool?"
      description={
        <>
          <code>{toolNameOf(node)}</code> becomes <code>{toolName(name)}</code> when you publish.
          The old name works for a while longer, and references to this node follow.
        </>
      }
      actions={
        <>
          <Button onClick={keep}>Keep the name</Button>
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
