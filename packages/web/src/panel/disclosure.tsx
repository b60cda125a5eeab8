/** A part of a form that stays closed until it is used, has a value, or something is wrong in it. */
import { type ReactNode, useState } from "react";
import { usePanel } from "./panel-context.ts";

export function Disclosure({
  label,
  at,
  isUsed = false,
  children,
}: {
  label: string;
  /** The path of its values in the node's parameters. */
  at: string;
  /** Whether it has a value when the form is opened. */
  isUsed?: boolean;
  children: ReactNode;
}) {
  const { problems } = usePanel();
  const [isOpen, setOpen] = useState(isUsed);
  const isWrong = [...problems.keys()].some((path) => path === at || path.startsWith(`${at}.`));
  return (
    <details
      aria-label={label}
      className="border-line border-t pt-3"
      open={isOpen || isWrong}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary className="cursor-pointer type-label text-ink-2">{label}</summary>
      <div className="flex flex-col gap-3 pt-3">{children}</div>
    </details>
  );
}
