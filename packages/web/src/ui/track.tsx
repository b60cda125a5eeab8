/** Shows the steps of a run, or of a guided path, as stations on a track. */
import type { ReactNode } from "react";
import { cx } from "./cx.ts";

export interface Station {
  key: string;
  name: string;
  note?: ReactNode;
  state: "done" | "now" | "next" | "failed" | "held" | "skipped";
}

export function Track({ stations, label }: { stations: readonly Station[]; label: string }) {
  return (
    <ol className="line" aria-label={label}>
      {stations.map(({ key, name, note, state }) => (
        <li
          key={key}
          className={cx("st", state === "skipped" ? "next" : state)}
          title={`${name}: ${STATE_NAMES[state]}`}
        >
          <b className="truncate">{name}</b>
          <span className="block truncate">{note}</span>
          <span className="sr-only">{STATE_NAMES[state]}</span>
        </li>
      ))}
    </ol>
  );
}

const STATE_NAMES: Record<Station["state"], string> = {
  done: "done",
  now: "under way",
  next: "not started",
  failed: "failed",
  held: "held",
  skipped: "skipped",
};
