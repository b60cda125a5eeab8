/** The list of all attempts of a step. */
import { durationOf, type Step, signalOfStep } from "../canvas/run-states.ts";
import { clockMs, duration } from "../ui/format.ts";
import { SignalHead } from "../ui/signal-head.tsx";
import { ordinal } from "./step-names.ts";

export function AttemptsView({
  attempts,
  chosen,
  onChoose,
}: {
  attempts: readonly Step[];
  chosen: number;
  onChoose: (nth: number) => void;
}) {
  return (
    <ol className="flex flex-col gap-2 pt-3 pb-4">
      {attempts.map((step) => {
        const { aspect, label } = signalOfStep(step.status);
        const took = durationOf(step);
        return (
          <li key={step.nth}>
            <button
              type="button"
              className="tile flex w-full items-center gap-3 px-3 py-2 text-left hover:border-field"
              aria-current={step.nth === chosen || undefined}
              onClick={() => onChoose(step.nth)}
            >
              <SignalHead aspect={aspect} label={label} />
              <span className="min-w-0 flex-1">
                <b className="type-strong">{ordinal(step.attempt)} attempt</b>
                <span className="wrap-anywhere line-clamp-3 type-meta text-ink-2" dir="auto">
                  {step.error?.message ?? label}
                </span>
              </span>
              <span className="text-right type-code-s text-ink-2">
                {clockMs(step.started_at)}
                <br />
                {took === undefined ? "" : duration(took)}
              </span>
            </button>
          </li>
        );
      })}
    </ol>
  );
}
