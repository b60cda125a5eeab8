/** What went wrong, in the server's own words, and what to do. */
import { RotateCw } from "lucide-react";
import { toProblem } from "../api/problem.ts";
import { Button } from "./button.tsx";
import { SignalHead } from "./signal-head.tsx";

export function ErrorState({
  error,
  onRetry,
}: {
  error: unknown;
  onRetry?: (() => void) | undefined;
}) {
  const { title, detail, errors } = toProblem(error);
  return (
    <div role="alert" className="mx-auto flex w-full max-w-[520px] gap-3 px-6 py-12">
      <SignalHead aspect="red" label="error" />
      <div className="flex min-w-0 flex-col items-start gap-2">
        <h2 className="type-h2">{title}</h2>
        <p className="wrap-anywhere text-ink-2">{detail}</p>
        {errors.length > 0 && (
          <ul className="type-meta text-ink-2">
            {errors.map(({ path, message }) => (
              <li key={`${path} ${message}`}>
                <code>{path}</code> {message}
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
