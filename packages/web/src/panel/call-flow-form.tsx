/** The flow, one of its triggers, and the input as the trigger's parameters have it. */
import { inputSchema, readParameters } from "@signalbox/rules/flows/parameters.ts";
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import { useQuery } from "@tanstack/react-query";
import { api, path } from "../api/client.ts";
import { readAll } from "../api/read-all.ts";
import type { Flow, FlowItem } from "../api/types.ts";
import type { FlowNode } from "../canvas/graph.ts";
import { definitionOf } from "../canvas/node-kinds.ts";
import { textOf } from "../triggers/text-of.ts";
import { ErrorState } from "../ui/error-state.tsx";
import { ChoiceField } from "./choice-field.tsx";
import type { OwnFormProps } from "./own-form.ts";
import { usePanel } from "./panel-context.ts";
import { Group, SchemaForm } from "./schema-form.tsx";
import { hasFields, withField } from "./schema-shape.ts";

function schemaOf(trigger: FlowNode | undefined): JsonObject {
  try {
    return trigger ? inputSchema(readParameters(trigger.parameters.parameters ?? [])) : {};
  } catch {
    return {};
  }
}

export function CallFlowForm({ schema, value, onChange }: OwnFormProps) {
  const { problems } = usePanel();
  const flow = textOf(value.flow);
  const flows = useQuery({
    queryKey: ["flows", "choices"],
    queryFn: () => readAll<FlowItem>("/api/flows"),
  });
  const called = useQuery({
    queryKey: ["flows", "called", flow],
    queryFn: () => api.get<Flow>(path`/api/flows/${flow}`),
    enabled: flows.data?.some(({ id }) => id === flow) ?? false,
  });
  const triggers =
    called.data?.nodes.filter((node) => definitionOf(node)?.kind === "trigger") ?? [];
  const chosen = textOf(value.trigger);
  const tools = triggers.filter((node) => definitionOf(node)?.isTool);
  const trigger =
    triggers.find(({ id, slug }) => id === chosen || slug === chosen) ??
    (tools.length === 1 ? tools[0] : undefined);
  const input = schemaOf(trigger);
  const error = flows.error ?? called.error;
  return (
    <div className="flex flex-col gap-4">
      {error && <ErrorState error={error} compact />}
      <ChoiceField
        label="Flow"
        hint="It must be published."
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
        value={trigger && chosen !== "" ? trigger.slug : chosen}
        options={[
          { value: "", label: "Its only active tool" },
          ...triggers.map(({ slug, name }) => ({ value: slug, label: name })),
        ]}
        onChange={(slug) => onChange(withField(value, "trigger", slug || undefined))}
      />
      {hasFields(input) ? (
        <Group label="Input" error={problems.get("input")}>
          <SchemaForm
            schema={input}
            at="input"
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
