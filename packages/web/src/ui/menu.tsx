import { Check, type LucideIcon } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { cx } from "./cx.ts";
import { Kbd } from "./kbd.tsx";

export interface MenuItem {
  label: string;
  icon?: LucideIcon | undefined;
  note?: string | undefined;
  keys?: string | undefined;
  checked?: boolean | undefined;
  danger?: boolean;
  disabled?: boolean;
  onSelect: () => void;
}

/** A menu that opens from `trigger`, which must be a button. */
export function Menu({
  trigger,
  items,
  label,
  align = "start",
}: {
  trigger: ReactNode;
  items: readonly (MenuItem | "-")[];
  label: string;
  align?: "start" | "end";
}) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          className="sheet list z-50"
          align={align}
          sideOffset={6}
          aria-label={label}
          loop
        >
          {items.map((item, index) =>
            item === "-" ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: separators have no name
              <DropdownMenu.Separator key={index} className="my-1 h-px bg-line" />
            ) : (
              <DropdownMenu.Item
                key={item.label}
                className={cx("item", item.danger && "danger")}
                disabled={item.disabled ?? false}
                onSelect={item.onSelect}
              >
                {item.icon && <item.icon className="icon" aria-hidden />}
                <span className="flex-1 truncate">{item.label}</span>
                {item.note && <span className="type-meta text-ink-3">{item.note}</span>}
                {item.keys && <Kbd>{item.keys}</Kbd>}
                {item.checked && <Check className="icon" aria-label="selected" />}
              </DropdownMenu.Item>
            ),
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
