/** The form of a `CallFlow` node: the called flow, one of its triggers, and the input of that trigger. */

import { inputSchema, readParameters } from "@signalbox/rules/flows/parameters.ts";
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import { useQuery } from "@tanstack/react-query";
import { api, MAX_CHOICES } from "../api/client.ts";
import type { FlowNode } from "../canvas/graph.ts";
import { definitionOf } from "../canvas/node-kinds.ts";
import { textOf } from "../triggers/text-of.ts";
import { ErrorState } from "../ui/error-state.tsx";
import { ChoiceField } from "./choice-field.tsx";
import type { CustomFormProps } from "./custom-form.ts";
import { usePanel } from "./panel-context.ts";
import { Group, SchemaForm } from "./schema-form.tsx";
import { hasFields, withField } from "./schema-shape.ts";

function inputSchemaOf(trigger: FlowNode | undefined): JsonObject {
  try {
    return trigger ? inputSchema(readParameters(trigger.parameters.parameters ?? [])) : {};
  } catch {
    // The parameters of a draft can be invalid. The form then has a generic field for the input.
    return {};
  }
}

export function CallFlowForm({ schema, value, onChange }: CustomFormProps) {
  const { problems } = usePanel();
  const flow = textOf(value.flow);
  const flows = useQuery({
    queryKey: ["flows", "choices"],
    queryFn: () => api.all("/api/flows", { maxItems: MAX_CHOICES }),
  });
  const calledFlow = useQuery({
    queryKey: ["flows", "called", flow],
    queryFn: () => api.get("/api/flows/:flow", { params: { flow } }),
    enabled: flows.data?.some(({ id }) => id === flow) ?? false,
  });
  const triggers =
    calledFlow.data?.nodes.filter((node) => definitionOf(node)?.kind === "trigger") ?? [];
  const chosenTrigger = textOf(value.trigger);
  const tools = triggers.filter((node) => definitionOf(node)?.isTool);
  const trigger =
    triggers.find(({ id, slug }) => id === chosenTrigger || slug === chosenTrigger) ??
    (tools.length === 1 ? tools[0] : undefined);
  const triggerInput = inputSchemaOf(trigger);
  const error = flows.error ?? calledFlow.error;
  return (
    <div className="flex flex-col gap-4">
      {error && <ErrorState error={error} compact />}
      <ChoiceField
        label="Flow"
        hint="The flow must be published."
        error={problems.get("flow")}
        value={flow}
        options={(flows.data ?? []).map(({ id, app, name }) => ({
          value: id,
          label: `${app} / ${name}`,
        }))}
        onChange={(id) => onChange({ flow: id })}
      />
      <ChoiceField
        label="Trigger"
        required={false}
        error={problems.get("trigger")}
        value={trigger && chosenTrigger !== "" ? trigger.slug : chosenTrigger}
        options={[
          { value: "", label: "The only active tool of the flow" },
          ...triggers.map(({ slug, name }) => ({ value: slug, label: name })),
        ]}
        onChange={(slug) => onChange(withField(value, "trigger", slug || undefined))}
      />
      {hasFields(triggerInput) ? (
        <Group label="Input" error={problems.get("input")}>
          <SchemaForm
            schema={triggerInput}
            path="input"
            value={isObject(value.input) ? value.input : {}}
            onChange={(next) => onChange(withField(value, "input", next))}
          />
        </Group>
      ) : (
        <SchemaForm schema={schema} skip={["flow", "trigger"]} value={value} onChange={onChange} />
      )}
    </div>
  );
}
