/** Asks the user before an action that cannot be undone, and shows the error if the action fails. */
import { useMutation } from "@tanstack/react-query";
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { ErrorState } from "./error-state.tsx";

export function ConfirmDialog<Result>({
  title,
  description,
  label,
  icon,
  onConfirm,
  onDone,
  onClose,
}: {
  title: string;
  description: ReactNode;
  /** The label of the confirm button. */
  label: string;
  icon?: LucideIcon;
  onConfirm: () => Promise<Result>;
  /** Called with the result of `onConfirm`, before the dialog is closed. */
  onDone: (result: Result) => void;
  onClose: () => void;
}) {
  const { mutate, isPending, error } = useMutation({
    mutationFn: onConfirm,
    onSuccess: (result) => {
      onDone(result);
      onClose();
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      description={description}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" icon={icon} busy={isPending} onClick={() => mutate()}>
            {label}
          </Button>
        </>
      }
    >
      {error && <ErrorState compact error={error} />}
    </Dialog>
  );
}
