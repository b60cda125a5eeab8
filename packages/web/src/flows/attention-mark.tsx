/** The warning of a flow, on its card and in the header of its editor. */
import { AlertTriangle } from "lucide-react";
import { cx } from "../ui/cx.ts";
import { Tooltip } from "../ui/tooltip.tsx";
import type { Attention } from "./flow-list.ts";

export const AttentionMark = ({
  attention: { label, tooltip },
  className,
}: {
  attention: Attention;
  className?: string;
}) => (
  <Tooltip text={tooltip}>
    <button
      type="button"
      className={cx(
        "inline-flex flex-none items-center gap-1 rounded-chip type-meta text-amber",
        className,
      )}
      aria-label={`${label}: ${tooltip}`}
    >
      <AlertTriangle className="icon" aria-hidden />
      {label}
    </button>
  </Tooltip>
);
