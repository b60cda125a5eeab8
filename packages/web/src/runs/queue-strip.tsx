/** Shows which runs wait, and for what: above the list of runs, and on the page of one run. */
import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { useIsAdmin } from "../app/session.ts";
import { plural } from "../ui/format.ts";
import {
  describeRunWait,
  describeTarget,
  flowNameOf,
  summarizeQueue,
  waitingFlows,
} from "./queue-words.ts";
import { isEnded, type RunData } from "./run-data.ts";
import { useNow } from "./use-now.ts";
import { useQueue } from "./use-queue.ts";

/** A line, while runs wait. It expands to a table by app and flow. */
export function QueueStrip() {
  const queue = useQueue();
  const [isOpen, setOpen] = useState(false);
  const now = useNow(queue !== undefined);
  const lines = queue ? summarizeQueue(queue, now) : [];
  if (!queue || lines.length === 0) return null;
  return (
    <section aria-label="Waiting runs" className="flex-none border-line border-b bg-sunk">
      <button
        type="button"
        aria-expanded={isOpen}
        className="flex w-full items-start gap-2 px-5 py-2 text-left type-meta text-ink-2 hover:text-ink"
        onClick={() => setOpen(!isOpen)}
      >
        <ChevronRight
          aria-hidden
          className={`icon mt-px flex-none transition-transform ${isOpen ? "rotate-90" : ""}`}
        />
        <span className="min-w-0 break-words">{lines.join(" · ")}</span>
      </button>
      {isOpen && <WaitingFlows rows={waitingFlows(queue, now)} />}
    </section>
  );
}

function WaitingFlows({ rows }: { rows: ReturnType<typeof waitingFlows> }) {
  const isAdmin = useIsAdmin();
  return (
    <div className="max-h-[40vh] overflow-auto px-5 pb-3">
      <table className="w-full min-w-[560px] type-meta">
        <thead>
          <tr className="text-left text-ink-3">
            {["Flow", "Wait for", "Queued", "Oldest", "Held", "App"].map((name) => (
              <th key={name} scope="col" className="py-1 pr-4 font-medium">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.flow_id} className="border-line border-t align-top">
              <td className="py-1 pr-4">
                {isAdmin && row.flow_name !== null ? (
                  <Link href={`/flows/${row.flow_id}`} className="hover:underline">
                    {row.flow_name}
                  </Link>
                ) : (
                  flowNameOf(row)
                )}
              </td>
              <td className="py-1 pr-4">
                {row.waits.map((wait) => (
                  <div key={`${wait.kind} ${wait.target}`}>
                    {plural(wait.runs, "run")}: {describeTarget(wait)}
                  </div>
                ))}
              </td>
              <td className="py-1 pr-4">{row.queued}</td>
              <td className="whitespace-nowrap py-1 pr-4">{row.oldest}</td>
              <td className="py-1 pr-4">{row.held}</td>
              <td className="py-1">{row.app}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What a run waits for; nothing if it does not wait, or if the hub does not know. */
export function WaitNote({ data: { run, steps } }: { data: RunData }) {
  const queue = useQueue(!isEnded(run));
  const now = useNow(!isEnded(run));
  const text = queue && !isEnded(run) ? describeRunWait(run, steps, queue, now) : undefined;
  if (text === undefined) return null;
  return (
    <p className="flex-none break-words border-line border-b bg-sunk px-5 py-2 type-meta text-ink-2">
      {text}
    </p>
  );
}
