/**
 * The dialog that sends a test event. The event is stored, matched and starts runs like any other event. The
 * dialog then shows the verdicts.
 */

import type { OfferedTrigger, SourceKind } from "@signalbox/contract";
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import { useMutation } from "@tanstack/react-query";
import { Send } from "lucide-react";
import { useState } from "react";
import { api, type BodyAt } from "../api/client.ts";
import { Dialog } from "../ui/dialog.tsx";
import { DialogForm } from "../ui/dialog-form.tsx";
import { Field, SelectInput, TextArea, TextInput } from "../ui/field.tsx";
import { readObject } from "../ui/read-object.ts";
import { matchingData } from "./matching-data.ts";
import type { PreviewedEvent } from "./preview-list.ts";
import { TestResult } from "./test-result.tsx";
import { textOf } from "./text-of.ts";
import { refreshPreviews } from "./use-preview.ts";

export interface TestTarget {
  flow: string;
  node: string;
  parameters: JsonObject;
  /** The name of the source. */
  name: string;
  /** The triggers that the server offers; undefined if the source is not a connection. */
  offered: readonly OfferedTrigger[] | undefined;
  kind: SourceKind | undefined;
}

type TestEvent = BodyAt<"post", "/api/events/test">;

export function SendTestDialog({
  target,
  verdictOf,
  onClose,
}: {
  target: TestTarget;
  /** The verdict of the draft on an event; undefined until the preview has the event. */
  verdictOf: (event: string) => PreviewedEvent | undefined;
  onClose: () => void;
}) {
  const send = useMutation({
    mutationFn: (body: TestEvent) => api.post("/api/events/test", { body }),
    onSuccess: () => void refreshPreviews(),
  });
  const props = { target, request: send, onSend: send.mutate, onClose };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Send a test event"
      description={
        target.offered
          ? `The hub stores an event as if ${target.name} had sent it. The event is matched, and can start runs.`
          : "The hub signs a sample with the endpoint's secret and sends it to itself. The event is matched, and can start runs."
      }
    >
      {send.data ? (
        <TestResult
          event={send.data.id}
          target={target}
          draft={verdictOf(send.data.id)}
          onAgain={send.reset}
          onClose={onClose}
        />
      ) : target.offered ? (
        <DataForm {...props} offered={target.offered} />
      ) : (
        <SampleForm {...props} />
      )}
    </Dialog>
  );
}

interface FormProps {
  target: TestTarget;
  request: { error: Error | null; isPending: boolean };
  onSend: (body: TestEvent) => void;
  onClose: () => void;
}

const paramsOf = ({ params }: JsonObject): JsonObject => (isObject(params) ? params : {});

/** The form for a connection. The initial data matches the trigger; the user can change it. */
function DataForm({
  target: { parameters },
  offered,
  onSend,
  ...props
}: FormProps & { offered: readonly OfferedTrigger[] }) {
  const poll = isObject(parameters.poll) ? parameters.poll : {};
  const fixedType = textOf(parameters.type) || textOf(poll.tool);
  const [type, setType] = useState(fixedType || (offered[0]?.type ?? ""));
  const dataOf = (eventType: string) =>
    matchingData(paramsOf(parameters), offered.find((each) => each.type === eventType)?.sample);
  const [text, setText] = useState(() => JSON.stringify(dataOf(type), null, 2));
  const parsed = readObject(text);
  return (
    <DialogForm
      {...props}
      submit="Send"
      icon={Send}
      isReady={type !== "" && "value" in parsed}
      onSubmit={() =>
        onSend({
          source: textOf(parameters.source),
          type,
          data: "value" in parsed ? parsed.value : {},
        })
      }
    >
      <Field label="Event type">
        {(control) =>
          fixedType ? (
            <TextInput {...control} code readOnly value={type} />
          ) : (
            <SelectInput
              {...control}
              value={type}
              onChange={({ target }) => {
                setType(target.value);
                setText(JSON.stringify(dataOf(target.value), null, 2));
              }}
            >
              {offered.map((each) => (
                <option key={each.type}>{each.type}</option>
              ))}
            </SelectInput>
          )
        }
      </Field>
      <Field
        label="Data"
        error={"error" in parsed ? parsed.error : undefined}
        hint="The sample of the server, if there is one, with values that match the conditions."
      >
        {(control) => (
          <TextArea
            {...control}
            code
            rows={10}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        )}
      </Field>
    </DialogForm>
  );
}

/** The form for a webhook. The hub has a sample for each kind of sender. */
function SampleForm({ target: { parameters, kind }, onSend, ...props }: FormProps) {
  const [type, setType] = useState(textOf(parameters.type));
  const [action, setAction] = useState(textOf(paramsOf(parameters).action));
  const hasActions = (kind?.sample_types.length ?? 0) > 0;
  return (
    <DialogForm
      {...props}
      submit="Send"
      icon={Send}
      onSubmit={() =>
        onSend({
          source: textOf(parameters.source),
          ...(type && { type }),
          ...(hasActions && action && { action }),
        })
      }
    >
      <Field label="Event type" hint="If blank, the type of the sample is used.">
        {(control) => (
          <TextInput
            {...control}
            code
            value={type}
            onChange={({ target }) => setType(target.value)}
          />
        )}
      </Field>
      {hasActions && (
        <Field label="Action" hint="If blank, the action of the sample is used.">
          {(control) => (
            <TextInput
              {...control}
              code
              value={action}
              onChange={({ target }) => setAction(target.value)}
            />
          )}
        </Field>
      )}
    </DialogForm>
  );
}
