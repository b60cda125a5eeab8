/** A command or a snippet to paste, with a copy button. */
import { CopyButton } from "./copy-button.tsx";

export function CommandLine({
  children,
  label = "Copy the command",
}: {
  children: string;
  label?: string;
}) {
  return (
    <div className="flex min-w-0 items-start gap-2 rounded-tile border border-line bg-sunk py-1 pr-1 pl-3">
      <pre className="wrap-anywhere min-w-0 flex-1 whitespace-pre-wrap py-1 text-ink">
        {children}
      </pre>
      <CopyButton text={children} label={label} />
    </div>
  );
}
