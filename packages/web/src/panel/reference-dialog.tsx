/** Picks a reference from the real data of a past run. */
import { useState } from "react";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { JsonTree } from "../ui/json-tree/json-tree.tsx";
import { type Referable, writeReference } from "./references.ts";

export function ReferenceDialog({
  referables,
  onPick,
  onClose,
}: {
  referables: readonly Referable[];
  onPick: (reference: string) => void;
  onClose: () => void;
}) {
  const [chosen, setChosen] = useState(
    referables.findLast(({ value }) => value !== undefined)?.root ?? "trigger",
  );
  const shown = referables.find(({ root }) => root === chosen);
  const pick = (path: string) => {
    onClose();
    onPick(writeReference(chosen, path));
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Insert a reference"
      description="Choose a value of the last run."
      className="w-[680px]"
    >
      <div className="grid min-h-[320px] grid-cols-[200px_minmax(0,1fr)] gap-4">
        <ul className="flex flex-col gap-1">
          {referables.map(({ root, name }) => (
            <li key={root}>
              <button
                type="button"
                className="item w-full flex-col items-start gap-0 text-left"
                data-selected={root === chosen}
                aria-pressed={root === chosen}
                onClick={() => setChosen(root)}
              >
                <span className="w-full truncate">{name}</span>
                <code className="w-full truncate text-ink-3">{root}</code>
              </button>
            </li>
          ))}
        </ul>
        <div className="flex min-h-0 min-w-0 flex-col gap-2">
          <div>
            <Button size="small" onClick={() => pick("")}>
              Insert the whole value
            </Button>
          </div>
          {shown?.value === undefined ? (
            <p className="text-ink-2">
              No run has reached it yet. Run the draft once, and its data appears here.
            </p>
          ) : (
            <JsonTree
              value={shown.value}
              label={`Data of ${shown.name}`}
              searchable
              maxRows={18}
              onPick={pick}
            />
          )}
        </div>
      </div>
    </Dialog>
  );
}
