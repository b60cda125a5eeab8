/** The actions on the selected events. */
import { Check, RotateCcw, Undo2, X } from "lucide-react";
import { Button, IconButton } from "../ui/button.tsx";
import { plural } from "../ui/format.ts";

export function SelectionBar({
  count,
  total,
  onSelectAll,
  onMark,
  onReplay,
  onClear,
}: {
  count: number;
  /** The number of loaded events. */
  total: number;
  onSelectAll: () => void;
  onMark: (processed: boolean) => void;
  onReplay: () => void;
  onClear: () => void;
}) {
  return (
    <div
      role="toolbar"
      aria-label="Selected events"
      className="flex flex-none items-center gap-2 border-line border-t bg-plate px-5 py-2"
    >
      <b className="mr-2 font-semibold" role="status">
        {plural(count, "event")} selected
      </b>
      <Button size="small" icon={Check} onClick={() => onMark(true)}>
        Mark processed
      </Button>
      <Button size="small" icon={Undo2} onClick={() => onMark(false)}>
        Mark waiting
      </Button>
      <Button size="small" icon={RotateCcw} onClick={onReplay}>
        Replay
      </Button>
      <span className="flex-1" />
      {count < total && (
        <Button size="small" look="ghost" onClick={onSelectAll}>
          Select all {total}
        </Button>
      )}
      <IconButton size="small" icon={X} label="Clear the selection" onClick={onClear} />
    </div>
  );
}
