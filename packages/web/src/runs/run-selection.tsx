/** The toolbar with the actions for the selected runs. */
import { Ban, RotateCcw, RotateCw, X } from "lucide-react";
import { Button, IconButton } from "../ui/button.tsx";
import { plural } from "../ui/format.ts";

export function RunSelection({
  count,
  total,
  progress,
  onRetry,
  onReplay,
  onCancel,
  onSelectAll,
  onClear,
}: {
  count: number;
  /** The number of loaded runs. */
  total: number;
  /** The text of the action that is running; undefined if there is none. */
  progress: string | undefined;
  onRetry: () => void;
  onReplay: () => void;
  onCancel: () => void;
  onSelectAll: () => void;
  onClear: () => void;
}) {
  const isBusy = progress !== undefined;
  return (
    <div
      role="toolbar"
      aria-label="Selected runs"
      className="flex flex-none items-center gap-2 border-line border-t bg-plate px-5 py-2"
    >
      <b className="mr-2 font-semibold" role="status">
        {progress ?? `${plural(count, "run")} selected`}
      </b>
      <Button
        size="small"
        icon={RotateCw}
        disabled={isBusy}
        title="Continues these runs at the steps that failed"
        onClick={onRetry}
      >
        Retry
      </Button>
      <Button
        size="small"
        icon={RotateCcw}
        disabled={isBusy}
        title="Starts new runs with the same inputs"
        onClick={onReplay}
      >
        Replay
      </Button>
      <Button size="small" icon={Ban} disabled={isBusy} onClick={onCancel}>
        Cancel
      </Button>
      <span className="flex-1" />
      {count < total && (
        <Button size="small" look="ghost" disabled={isBusy} onClick={onSelectAll}>
          Select all {total}
        </Button>
      )}
      <IconButton
        size="small"
        icon={X}
        label="Clear the selection"
        disabled={isBusy}
        onClick={onClear}
      />
    </div>
  );
}
