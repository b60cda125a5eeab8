/** The dialog that replays a run: it starts a new run with the same input, or with an edited one. */
import { RotateCcw } from "lucide-react";
import { useMemo, useState } from "react";
import { useEvent } from "../inbox/use-event.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { Field, TextArea } from "../ui/field.tsx";
import { bytes } from "../ui/format.ts";
import { readObject } from "../ui/read-object.ts";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { toastError, toasts } from "../ui/toast.tsx";
import { isPreview } from "./preview.ts";
import { eventInput, isDraft } from "./replay.ts";
import { replayRun } from "./run-actions.ts";
import type { RunFields } from "./run-data.ts";
import { useWholeValue } from "./use-value.ts";

/** Larger inputs cannot be edited. */
const MAX_EDITED_BYTES = 1024 * 1024;

export function ReplayDialog({
  run,
  trigger,
  onStarted,
  onClose,
}: {
  run: RunFields;
  /** The name of the trigger. */
  trigger: string;
  onStarted: (id: string) => void;
  onClose: () => void;
}) {
  const input = useInput(run);
  const [text, setText] = useState<string>();
  const [isStarting, setStarting] = useState(false);
  const shown = text ?? input.text ?? "";
  const parsed = useMemo(() => readObject(shown), [shown]);
  const isEdited = text !== undefined && text !== input.text;
  const start = async () => {
    setStarting(true);
    try {
      const id = await replayRun(run, isEdited && "value" in parsed ? parsed.value : undefined);
      onClose();
      if (id !== undefined) onStarted(id);
      else
        toasts.add({
          title: "No run started",
          detail: "The event no longer matches this trigger of the published flow.",
        });
    } catch (error) {
      toastError(error);
      setStarting(false);
    }
  };
  const version = isDraft(run) ? "the draft as it is now" : "the published version";
  return (
    <Dialog
      open
      onClose={onClose}
      title="Replay"
      description={`Starts a new run of ${version} from “${trigger}”. This run does not change.`}
      className="w-[640px]"
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            icon={RotateCcw}
            busy={isStarting}
            disabled={input.isLoading || (isEdited && "error" in parsed)}
            onClick={() => void start()}
          >
            {isEdited ? "Replay with this input" : "Replay"}
          </Button>
        </>
      }
    >
      {input.error ? (
        <ErrorState error={input.error} />
      ) : input.isLoading ? (
        <SkeletonRows rows={4} height={28} />
      ) : input.size !== undefined ? (
        <p className="text-ink-2">
          The input has {bytes(input.size)}, which is too large to edit here. It is replayed
          unchanged.
        </p>
      ) : (
        <Field
          label="Input"
          hint={
            run.event_id && !isEdited
              ? "The event of this run. It is replayed unchanged, unless you edit it."
              : "A JSON object. The nodes of the flow read it as {{ trigger }}."
          }
          error={"error" in parsed ? parsed.error : undefined}
        >
          {(control) => (
            <TextArea
              {...control}
              code
              rows={14}
              value={shown}
              onChange={({ target }) => setText(target.value)}
            />
          )}
        </Field>
      )}
    </Dialog>
  );
}

interface ReplayInput {
  isLoading: boolean;
  error: unknown;
  /** The input as JSON; undefined until it is loaded, or if it is too large. */
  text: string | undefined;
  /** Set if the input is too large to be edited. */
  size: number | undefined;
}

function useInput(run: RunFields): ReplayInput {
  const event = useEvent(run.event_id);
  const preview = isPreview(run.input) ? run.input : undefined;
  const whole = useWholeValue(
    { run: run.id, nth: 0, field: "input" },
    run.event_id === null && preview !== undefined && preview.bytes <= MAX_EDITED_BYTES,
  );
  const value = preview ? whole.data : run.input;
  const size = event.data?.size ?? preview?.bytes ?? 0;
  const isTooLarge = size > MAX_EDITED_BYTES;
  const text = useMemo(() => {
    const shown = event.data ? eventInput(event.data) : value;
    return isTooLarge || shown === undefined ? undefined : JSON.stringify(shown, null, 2);
  }, [event.data, value, isTooLarge]);
  const source = run.event_id === null ? whole : event;
  return {
    // Unlike `isPending`, `isLoading` is false if nothing has to be loaded.
    isLoading: source.isLoading,
    error: source.error,
    text,
    size: isTooLarge ? size : undefined,
  };
}
