/** A section of a form that is collapsed at first, unless it has a value. A problem in it expands it. */
import { type ReactNode, useState } from "react";
import { usePanel } from "./panel-context.ts";

export function Disclosure({
  label,
  path,
  hasValue = false,
  children,
}: {
  label: string;
  /** The path of the section's values in the node's parameters. */
  path: string;
  /** Whether the section has a value when the form opens. */
  hasValue?: boolean;
  children: ReactNode;
}) {
  const { problems } = usePanel();
  const [isOpen, setOpen] = useState(hasValue);
  const hasProblem = [...problems.keys()].some(
    (each) => each === path || each.startsWith(`${path}.`),
  );
  return (
    <details
      aria-label={label}
      className="border-line border-t pt-3"
      open={isOpen || hasProblem}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary className="cursor-pointer type-label text-ink-2">{label}</summary>
      <div className="flex flex-col gap-3 pt-3">{children}</div>
    </details>
  );
}
