/** The scrim and the sheet of every dialog. When it closes, the element that had the focus gets it back. */
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

/** Mounted only while the dialog is open, so its first render precedes any change of the focus. */
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

/** The element that has the focus. An item of a menu is removed with the menu, so its button is used. */
function findOpener(): HTMLElement | null {
  const active = document.activeElement;
  const button = active?.closest("[role=menu]")?.getAttribute("aria-labelledby");
  if (button) return document.getElementById(button);
  return active instanceof HTMLElement ? active : null;
}
