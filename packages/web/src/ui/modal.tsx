/** The backdrop and the sheet of every dialog. On close, the element that had the focus before gets it back. */
import { Dialog } from "radix-ui";
import { type ComponentProps, useState } from "react";
import { cx } from "./cx.ts";

export function Modal({
  open = true,
  onClose,
  ...sheet
}: SheetProps & { open?: boolean; onClose: () => void }) {
  return (
    <Dialog.Root open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-scrim" />
        <Sheet {...sheet} />
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface SheetProps extends ComponentProps<typeof Dialog.Content> {
  /** Called after the focus has returned. */
  onClosed?: () => void;
}

/** It is mounted when the dialog opens, so on its first render the focus has not moved yet. */
function Sheet({ onClosed, className, ...content }: SheetProps) {
  const [opener] = useState(findOpener);
  return (
    <Dialog.Content
      className={cx("sheet -translate-x-1/2 fixed left-1/2 z-50", className)}
      // Radix would focus its trigger, which these dialogs do not have.
      onCloseAutoFocus={(event) => {
        event.preventDefault();
        opener?.focus({ preventScroll: true });
        onClosed?.();
      }}
      {...content}
    />
  );
}

/**
 * Returns the element that has the focus. If it is an item of a menu, returns the button of the menu,
 * because the item is removed when the menu closes.
 */
function findOpener(): HTMLElement | null {
  const active = document.activeElement;
  const buttonId = active?.closest("[role=menu]")?.getAttribute("aria-labelledby");
  if (buttonId) return document.getElementById(buttonId);
  return active instanceof HTMLElement ? active : null;
}
