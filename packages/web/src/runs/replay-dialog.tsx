/** Starts a new run from the trigger of a past one, with its input or an edited one. */
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { RotateCcw } from "lucide-react";
import { useState } from "react";
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
import type { RunView } from "./run-data.ts";
import { useWholeValue } from "./use-value.ts";

/** Larger inputs are used as they are. */
const MAX_EDITED_BYTES = 1024 * 1024;

export function ReplayDialog({
  run,
  trigger,
  onStarted,
  onClose,
}: {
  run: RunView;
  /** The name of the trigger. */
  trigger: string;
  onStarted: (id: string) => void;
  onClose: () => void;
}) {
  const input = useInput(run);
  const [text, setText] = useState<string>();
  const [isStarting, setStarting] = useState(false);
  const original = input.value && JSON.stringify(input.value, null, 2);
  const edited = readObject(text ?? original ?? "{}");
  const isEdited = text !== undefined && text !== original;
  const start = async () => {
    setStarting(true);
    try {
      const id = await replayRun(run, isEdited && "value" in edited ? edited.value : undefined);
      onClose();
      if (id !== undefined) onStarted(id);
      else
        toasts.add({
          title: "No run started",
          detail: "The event matches no trigger of the published flow any more.",
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
      description={`Starts a new run of ${version} from “${trigger}”. This run stays as it is.`}
      className="w-[640px]"
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            icon={RotateCcw}
            busy={isStarting}
            disabled={input.isLoading || (isEdited && "error" in edited)}
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
          The input has {bytes(input.size)}, which is too much to edit here. It is used as it is.
        </p>
      ) : (
        <Field
          label="Input"
          hint={
            run.event_id && !isEdited
              ? "The event of this run. It is replayed as it is, unless you edit it."
              : "A JSON object: {{ trigger }} in the flow."
          }
          error={"error" in edited ? edited.error : undefined}
        >
          {(control) => (
            <TextArea
              {...control}
              code
              rows={14}
              value={text ?? original ?? ""}
              onChange={({ target }) => setText(target.value)}
            />
          )}
        </Field>
      )}
    </Dialog>
  );
}

interface Input {
  isLoading: boolean;
  error: unknown;
  value?: JsonObject;
  /** Set if the input is too large to be edited. */
  size?: number;
}

function useInput(run: RunView): Input {
  const event = useEvent(run.event_id);
  const isPart = isPreview(run.input);
  const size = isPart ? (run.input as { bytes: number }).bytes : 0;
  const isTooLarge = size > MAX_EDITED_BYTES;
  const whole = useWholeValue(
    { run: run.id, nth: 0, field: "input" },
    run.event_id === null && isPart && !isTooLarge,
  );
  if (run.event_id !== null) {
    if (event.data?.truncated)
      return { isLoading: false, error: null, size: event.data.payload_bytes ?? 0 };
    return {
      isLoading: event.isPending,
      error: event.error,
      ...(event.data && { value: eventInput(event.data) }),
    };
  }
  if (isTooLarge) return { isLoading: false, error: null, size };
  const value = (isPart ? whole.data : run.input) as Json | undefined;
  return {
    isLoading: isPart && whole.isPending,
    error: whole.error,
    ...(value !== undefined && { value: value as JsonObject }),
  };
}
