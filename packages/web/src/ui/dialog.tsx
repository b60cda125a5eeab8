import { X } from "lucide-react";
import { Dialog as RadixDialog } from "radix-ui";
import type { ReactNode } from "react";
import { IconButton } from "./button.tsx";
import { cx } from "./cx.ts";
import { Modal } from "./modal.tsx";

const EDITABLE_FIELD = ":is(input, select, textarea):not([readonly], :disabled, [tabindex='-1'])";

/** Focuses the first field. By default, Radix would focus the close button. */
function focusFirstField(event: Event): void {
  const field = (event.currentTarget as HTMLElement).querySelector<HTMLElement>(EDITABLE_FIELD);
  if (!field) return;
  event.preventDefault();
  field.focus();
}

/** Toasts are outside of the dialog, but a click on one must not close the dialog. */
const isInToast = ({ target }: Event) =>
  target instanceof Element && target.closest("[aria-label=Messages]") !== null;

export function Dialog({
  open,
  onClose,
  title,
  description,
  children,
  actions,
  keepOpen = false,
  className = "w-[520px]",
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  description?: ReactNode;
  children?: ReactNode;
  actions?: ReactNode;
  /** Whether a click outside leaves the dialog open, because it shows a secret that is not shown again. */
  keepOpen?: boolean;
  className?: string;
}) {
  return (
    <Modal
      open={open}
      onClose={onClose}
      className={cx("top-[12vh] flex max-h-[76vh] max-w-[calc(100vw-32px)] flex-col", className)}
      {...(!description && { "aria-describedby": undefined })}
      onOpenAutoFocus={focusFirstField}
      onInteractOutside={(event) => {
        if (keepOpen || isInToast(event.detail.originalEvent)) event.preventDefault();
      }}
    >
      <div className="flex items-start gap-3 px-5 pt-4 pb-2">
        <div className="min-w-0 flex-1">
          <RadixDialog.Title className="wrap-anywhere type-h2">{title}</RadixDialog.Title>
          {description && (
            <RadixDialog.Description className="wrap-anywhere text-ink-2">
              {description}
            </RadixDialog.Description>
          )}
        </div>
        <RadixDialog.Close asChild>
          <IconButton icon={X} label="Close" size="small" />
        </RadixDialog.Close>
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto px-5 pt-1 pb-4">{children}</div>
      {actions && (
        <div className="flex justify-end gap-2 border-line border-t px-5 py-3">{actions}</div>
      )}
    </Modal>
  );
}
