/** Asks before something that cannot be undone, and shows why it failed. */
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
  act,
  onDone,
  onClose,
}: {
  title: string;
  description: ReactNode;
  /** The label of the confirm button. */
  label: string;
  icon?: LucideIcon;
  act: () => Promise<Result>;
  /** Called before the dialog is closed. */
  onDone: (result: Result) => void;
  onClose: () => void;
}) {
  const { mutate, isPending, error } = useMutation({
    mutationFn: act,
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
