import { Tabs as RadixTabs } from "radix-ui";
import type { ReactNode } from "react";
import { cx } from "./cx.ts";

export interface Tab {
  value: string;
  label: string;
  count?: number | string | undefined;
  content: ReactNode;
}

export function Tabs({
  tabs,
  value,
  onChange,
  label,
  pills = false,
  className,
}: {
  tabs: readonly Tab[];
  value: string;
  onChange: (value: string) => void;
  label: string;
  /** Whether the tabs look like small buttons. */
  pills?: boolean;
  className?: string;
}) {
  return (
    <RadixTabs.Root value={value} onValueChange={onChange} className="flex min-h-0 flex-1 flex-col">
      <RadixTabs.List
        className={cx("tabs flex-none", pills && "pills", className)}
        aria-label={label}
      >
        {tabs.map((tab) => (
          <RadixTabs.Trigger key={tab.value} value={tab.value}>
            {tab.label}
            {tab.count !== undefined && <span className="n">{tab.count}</span>}
          </RadixTabs.Trigger>
        ))}
      </RadixTabs.List>
      {tabs.map((tab) => (
        <RadixTabs.Content
          key={tab.value}
          value={tab.value}
          className="min-h-0 flex-1 overflow-y-auto focus-visible:outline-offset-[-2px]"
        >
          {tab.content}
        </RadixTabs.Content>
      ))}
    </RadixTabs.Root>
  );
}
