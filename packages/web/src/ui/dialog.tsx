import { X } from "lucide-react";
import { Dialog as RadixDialog } from "radix-ui";
import type { ReactNode } from "react";
import { IconButton } from "./button.tsx";
import { cx } from "./cx.ts";

export function Dialog({
  open,
  onClose,
  title,
  description,
  children,
  actions,
  className = "w-[520px]",
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  description?: ReactNode;
  children?: ReactNode;
  actions?: ReactNode;
  className?: string;
}) {
  return (
    <RadixDialog.Root open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <RadixDialog.Portal>
        <RadixDialog.Overlay className="fixed inset-0 z-40 bg-scrim" />
        <RadixDialog.Content
          className={cx(
            "sheet -translate-x-1/2 fixed top-[12vh] left-1/2 z-50 flex max-h-[76vh] max-w-[calc(100vw-32px)] flex-col",
            className,
          )}
          {...(!description && { "aria-describedby": undefined })}
        >
          <div className="flex items-start gap-3 px-5 pt-4 pb-3">
            <div className="min-w-0 flex-1">
              <RadixDialog.Title className="type-h2">{title}</RadixDialog.Title>
              {description && (
                <RadixDialog.Description className="text-ink-2">
                  {description}
                </RadixDialog.Description>
              )}
            </div>
            <RadixDialog.Close asChild>
              <IconButton icon={X} label="Close" size="small" />
            </RadixDialog.Close>
          </div>
          <div className="min-h-0 flex-1 overflow-y-auto px-5 pb-4">{children}</div>
          {actions && (
            <div className="flex justify-end gap-2 border-line border-t px-5 py-3">{actions}</div>
          )}
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}
