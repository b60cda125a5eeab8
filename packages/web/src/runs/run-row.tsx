/** One run in the list. */

import type { RunItem } from "@signalbox/contract";
import { memo } from "react";
import { Link } from "wouter";
import { Checkbox } from "../ui/checkbox.tsx";
import { Chip } from "../ui/chip.tsx";
import { cx } from "../ui/cx.ts";
import { clock, day, dayMark, duration } from "../ui/format.ts";
import { SignalHead } from "../ui/signal-head.tsx";
import { isDraft } from "./replay.ts";
import { runDuration } from "./run-chip.tsx";
import { describeCause } from "./run-filter.ts";
import { signalOfRun } from "./signal-of-run.ts";
import { useNow } from "./use-now.ts";

export const RunRow = memo(function RunRow({
  run,
  isCurrent,
  isSelected,
  isSelecting,
  onToggle,
}: {
  run: RunItem;
  isCurrent: boolean;
  isSelected: boolean;
  /** Whether any run is selected. All rows then show their checkboxes. */
  isSelecting: boolean;
  onToggle: (id: string) => void;
}) {
  const { aspect, label, icon } = signalOfRun(run.status);
  const took = runDuration(run, useNow(run.finished_at === null));
  const otherDay = dayMark(run.created_at);
  const name = run.flow_name ?? "a deleted flow";
  return (
    <div
      className={cx(
        "group relative h-full border-line border-b",
        isCurrent ? "bg-plate shadow-[inset_3px_0_0_var(--blue)]" : "hover:bg-hover",
      )}
    >
      <Link
        href={`/runs/${run.id}`}
        className="grid h-full grid-cols-[11px_66px_minmax(0,1fr)_90px_168px] items-center gap-x-[14px] px-5 focus-visible:outline-offset-[-2px]"
      >
        <span className={cx("flex", isSelecting ? "invisible" : "group-hover:invisible")}>
          <SignalHead aspect={aspect} label={label} />
        </span>
        <time
          dateTime={run.created_at}
          title={day(run.created_at)}
          className="type-code text-ink-2"
        >
          {clock(run.created_at)}
          {otherDay && <span className="block type-meta text-ink-3">{otherDay}</span>}
        </time>
        <span className="min-w-0">
          <span className="flex items-baseline gap-2">
            <b className="truncate type-strong">{name}</b>
            <span className="type-meta text-ink-3">
              {run.app} · {isDraft(run) ? "draft" : `v${run.version}`}
            </span>
          </span>
          <span className={cx("block truncate type-meta", run.error ? "text-red" : "text-ink-3")}>
            {run.error?.message ?? describeCause(run)}
          </span>
        </span>
        <code className="text-right text-ink-2">{took === undefined ? "" : duration(took)}</code>
        <span className="flex justify-end">
          <Chip tone={aspect} icon={icon} words>
            {label}
          </Chip>
        </span>
      </Link>
      <span
        className={cx(
          "-translate-y-1/2 absolute top-1/2 left-[17px] flex",
          isSelecting ? "" : "opacity-0 focus-within:opacity-100 group-hover:opacity-100",
        )}
      >
        <Checkbox
          checked={isSelected}
          onChange={() => onToggle(run.id)}
          label={`Select the run of ${name} at ${clock(run.created_at)}`}
          tabIndex={isSelecting ? 0 : -1}
        />
      </span>
    </div>
  );
});
