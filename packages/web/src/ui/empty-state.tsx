/** Replaces an empty list: a picture of a track, a title, an explanation, and what the user can do. */
import type { ReactNode } from "react";
import { CommandLine } from "./command-line.tsx";

export function EmptyState({
  title,
  children,
  command,
  actions,
}: {
  title: string;
  children?: ReactNode;
  command?: string | undefined;
  actions?: ReactNode;
}) {
  return (
    <div className="mx-auto flex w-full max-w-[460px] flex-col gap-4 px-6 py-12">
      <div className="relative" aria-hidden>
        <div className="track opacity-60" />
        <span className="absolute top-1/2 left-[72%] -translate-y-1/2 rounded-full border-[3px] border-track bg-page p-[4px]" />
      </div>
      <div className="flex flex-col gap-1">
        <h2 className="type-h2">{title}</h2>
        {children && <p className="text-ink-2">{children}</p>}
      </div>
      {command && <CommandLine>{command}</CommandLine>}
      {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
    </div>
  );
}
