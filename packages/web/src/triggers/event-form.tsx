/** The form of an Event trigger: source, type, params, filter, the live preview and a test event. */

import type { OfferedTrigger } from "@signalbox/contract";
import { declaredParams } from "@signalbox/rules/flows/declared-params.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { useMemo, useState } from "react";
import { CodeField } from "../panel/code-field.tsx";
import { usePanel } from "../panel/panel-context.ts";
import { withField } from "../panel/schema-shape.ts";
import { ErrorState } from "../ui/error-state.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { type DeclaredParams, ParamsEditor } from "./params-editor.tsx";
import { Preview } from "./preview.tsx";
import { SendTestDialog } from "./send-test-dialog.tsx";
import { connectionOf, kindOf, nameOfSender } from "./senders.ts";
import { SourcePicker } from "./source-picker.tsx";
import { textOf } from "./text-of.ts";
import { OfferedTypePicker, TypeField } from "./type-picker.tsx";
import { usePreview } from "./use-preview.ts";
import { useOfferedTriggers, useSenders } from "./use-senders.ts";

const NOTHING_DECLARED: DeclaredParams = new Map();

const paramsOf = ({ params }: JsonObject): JsonObject => (isObject(params) ? params : {});

/** The defaults that the server declares, which prefill the form. */
const defaultParams = (trigger: OfferedTrigger): JsonObject =>
  Object.fromEntries(
    [...declaredParams(trigger)].flatMap(([name, { schema }]) =>
      ["string", "number", "boolean"].includes(typeof schema.default) && schema.default !== ""
        ? [[name, schema.default as Json]]
        : [],
    ),
  );

/** Replaces the defaults of the former type, which the user has not changed, with those of the new one. */
function paramsForType(
  params: JsonObject,
  former: OfferedTrigger | undefined,
  chosen: OfferedTrigger | undefined,
): JsonObject | undefined {
  const prefilled = former ? defaultParams(former) : {};
  const kept = Object.entries(params).filter(([name, value]) => value !== prefilled[name]);
  const next = { ...(chosen && defaultParams(chosen)), ...Object.fromEntries(kept) };
  return Object.keys(next).length > 0 ? next : undefined;
}

export function EventForm({
  flow,
  node,
  parameters,
  onChange,
}: {
  flow: string;
  node: string;
  parameters: JsonObject;
  onChange: (parameters: JsonObject) => void;
}) {
  const { problems } = usePanel();
  const { senders, isPending, error, refetch } = useSenders();
  const source = textOf(parameters.source);
  const type = textOf(parameters.type);
  const connection = connectionOf(source, senders);
  const offers = useOfferedTriggers(connection?.id);
  const offered = connection && (offers.data?.items ?? []);
  const preview = usePreview(parameters);
  const [isSending, setSending] = useState(false);
  const trigger = offered?.find((each) => each.type === type);
  const declared = useMemo(() => (trigger ? declaredParams(trigger) : NOTHING_DECLARED), [trigger]);
  const setField = (field: string, value: Json | undefined) =>
    onChange(withField(parameters, field, value));
  const kind = kindOf(source, senders);
  const name = nameOfSender(source, senders);
  const isPolled = parameters.poll !== undefined;

  if (isPending) return <SkeletonRows rows={3} />;
  if (error) return <ErrorState error={error} onRetry={refetch} />;
  return (
    <div className="flex flex-col gap-4">
      <SourcePicker parameters={parameters} senders={senders} onChange={onChange} />
      {offers.error && <ErrorState error={offers.error} compact />}
      {source !== "" &&
        (offered && offered.length > 0 && !isPolled ? (
          <OfferedTypePicker
            key={source}
            type={type}
            offered={offered}
            onChange={(next) => {
              const chosen = offered.find((each) => each.type === next);
              const params = paramsForType(paramsOf(parameters), trigger, chosen);
              onChange(withField(withField(parameters, "type", next), "params", params));
            }}
          />
        ) : (
          <TypeField
            type={type}
            source={source}
            kind={kind}
            {...(isPolled && {
              hint: "The type of the events. If blank, it is the name of the tool.",
            })}
            onChange={(next) => setField("type", next)}
          />
        ))}
      {source !== "" && (
        <>
          <ParamsEditor
            params={paramsOf(parameters)}
            declared={declared}
            sampleEvent={preview.data?.events[0]?.event.id}
            onChange={(next) => setField("params", next)}
          />
          <CodeField
            label="Filter"
            language="jsonata"
            hint="A JSONata expression that must be true, such as data.issue.number > 5. Its input is { id, source, type, received_at, data }."
            error={problems.get("filter")}
            value={textOf(parameters.filter)}
            onChange={(text) => setField("filter", text === "" ? undefined : text)}
          />
        </>
      )}
      <Preview
        preview={preview}
        source={source}
        name={name}
        // Other sources are events of this hub, which only flows can emit.
        onSend={connection || kind ? () => setSending(true) : undefined}
      />
      {isSending && (
        <SendTestDialog
          target={{ flow, node, parameters, name, offered, kind }}
          verdictOf={(event) => preview.data?.events.find((each) => each.event.id === event)}
          onClose={() => setSending(false)}
        />
      )}
    </div>
  );
}
