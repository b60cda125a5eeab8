/** Shows an error: the title, detail and field errors that the hub reported, and a button to retry. */
import { RotateCw } from "lucide-react";
import { toProblem } from "../api/problem.ts";
import { Button } from "./button.tsx";
import { cx } from "./cx.ts";
import { SignalHead } from "./signal-head.tsx";
import { withCode } from "./with-code.ts";

export function ErrorState({
  error,
  onRetry,
  compact = false,
}: {
  error: unknown;
  onRetry?: (() => void) | undefined;
  /** Without margins, for a place below the fields of a form. */
  compact?: boolean;
}) {
  const { title, detail, errors } = toProblem(error);
  return (
    <div
      role="alert"
      className={cx(
        "flex w-full items-start gap-3",
        !compact && "mx-auto max-w-[520px] px-6 py-12",
      )}
    >
      <SignalHead aspect="red" label="error" />
      <div className="flex min-w-0 flex-col items-start gap-2">
        <h2 className={compact ? "type-strong" : "type-h2"}>{title}</h2>
        <p className="wrap-anywhere text-ink-2">{withCode(detail)}</p>
        {errors.length > 0 && (
          <ul className="type-meta text-ink-2">
            {errors.map(({ path, message }) => (
              <li key={`${path} ${message}`}>
                <code>{path}</code> {withCode(message)}
              </li>
            ))}
          </ul>
        )}
        {onRetry && (
          <Button icon={RotateCw} onClick={onRetry}>
            Try again
          </Button>
        )}
      </div>
    </div>
  );
}
