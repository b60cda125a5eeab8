/** The log of a step: the output of `console.log` in code, and the progress messages of tools. */
import type { Step } from "../canvas/run-states.ts";

export function LogView({ log }: { log: Step["log"] }) {
  if (log.length === 0)
    return (
      <p className="py-3 text-ink-3">
        Nothing was logged. <code>console.log</code> in code and the progress of tools appear here.
      </p>
    );
  return (
    <ol className="pt-2 pb-4 type-code">
      {log.map(({ level, text }, index) => (
        <li
          // biome-ignore lint/suspicious/noArrayIndexKey: lines are only appended
          key={index}
          className="grid grid-cols-[44px_minmax(0,1fr)] gap-2"
        >
          <span className="text-ink-3">{level}</span>
          <span className="wrap-anywhere whitespace-pre-wrap">
            <bdi>{text}</bdi>
          </span>
        </li>
      ))}
    </ol>
  );
}
