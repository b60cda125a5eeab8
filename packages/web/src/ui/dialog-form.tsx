/** A form in a dialog: its fields, the error of the last request, and the buttons. */
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { ErrorState } from "./error-state.tsx";

export function DialogForm({
  submit,
  icon,
  request: { error, isPending },
  isReady = true,
  onSubmit,
  onClose,
  children,
}: {
  /** The label of the button that submits the form. */
  submit: string;
  icon?: LucideIcon;
  request: { error: Error | null; isPending: boolean };
  /** Whether the form can be submitted. */
  isReady?: boolean;
  onSubmit: () => void;
  onClose: () => void;
  children: ReactNode;
}) {
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) onSubmit();
      }}
    >
      {children}
      {error && <ErrorState compact error={error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look="primary" icon={icon} busy={isPending} disabled={!isReady}>
          {submit}
        </Button>
      </div>
    </form>
  );
}
