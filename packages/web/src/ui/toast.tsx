/** Short messages in the corner of the page. Some have a button to undo an action. */
import { X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { toProblem } from "../api/problem.ts";
import { Button, IconButton } from "./button.tsx";
import { SignalHead } from "./signal-head.tsx";
import { createToasts, type Toast } from "./toasts.ts";

export const toasts = createToasts({
  schedule: (task, ms) => {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
});

/** Shows the title and the detail that the hub reported. */
export function toastError(error: unknown): void {
  const { title, detail } = toProblem(error);
  toasts.add({ aspect: "red", title, detail });
}

export function Toaster() {
  const shown = useSyncExternalStore(toasts.subscribe, toasts.list);
  return (
    <section
      aria-label="Messages"
      aria-live="polite"
      className="pointer-events-none fixed right-4 bottom-4 z-50 flex w-[380px] max-w-[calc(100vw-32px)] flex-col gap-2"
    >
      {shown.map((toast) => (
        <ToastCard key={toast.id} toast={toast} />
      ))}
    </section>
  );
}

function ToastCard({ toast: { id, aspect = "none", title, detail, undo } }: { toast: Toast }) {
  return (
    <div className="sheet pointer-events-auto flex items-center gap-3 py-2 pr-2 pl-3">
      <SignalHead aspect={aspect} label={aspect === "red" ? "error" : "done"} />
      <div className="min-w-0 flex-1">
        <p className="wrap-anywhere type-strong">{title}</p>
        {detail && <p className="wrap-anywhere type-meta text-ink-2">{detail}</p>}
      </div>
      {undo && (
        <Button
          size="small"
          onClick={() => {
            toasts.remove(id);
            undo();
          }}
        >
          Undo
        </Button>
      )}
      <IconButton size="small" icon={X} label="Dismiss" onClick={() => toasts.remove(id)} />
    </div>
  );
}
