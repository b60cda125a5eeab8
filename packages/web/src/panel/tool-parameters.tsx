/** Edits the parameters of a tool. Arrays and objects can have a JSON Schema. */
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { Plus, Trash2 } from "lucide-react";
import { textOf } from "../triggers/text-of.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Checkbox } from "../ui/checkbox.tsx";
import { SelectInput, TextArea, TextInput } from "../ui/field.tsx";
import { usePanel } from "./panel-context.ts";
import { Group } from "./schema-form.tsx";
import { readJsonText, withField, writeJsonText } from "./schema-shape.ts";
import { useTypedText } from "./use-typed-text.ts";

const TYPES = ["string", "number", "integer", "boolean", "enum", "array", "object"];
const ITEM_TYPES = ["string", "number", "integer", "boolean", "object"];
const FORMATS = ["date-time", "date", "time", "email", "uri", "uuid"];
/** The fields that depend on the type. A change of the type removes them. */
const TYPE_FIELDS = ["format", "enum", "items", "schema"];

type SetField = (field: string, value: Json | undefined) => void;

export function ToolParameters({
  parameters,
  onChange,
}: {
  parameters: readonly JsonObject[];
  onChange: (parameters: JsonObject[]) => void;
}) {
  const { problems } = usePanel();
  const listError = problems.get("parameters");
  return (
    <Group label="Parameters">
      {listError ? (
        <p role="alert" className="type-meta text-red">
          {listError}
        </p>
      ) : (
        parameters.length === 0 && (
          <p className="type-meta text-ink-3">The tool takes no arguments.</p>
        )
      )}
      {parameters.map((each, index) => (
        <ToolParameter
          // biome-ignore lint/suspicious/noArrayIndexKey: the user edits the name, so it cannot be the key
          key={index}
          parameter={each}
          label={textOf(each.name) || `parameter ${index + 1}`}
          index={index}
          error={["name", "type", ...TYPE_FIELDS, "default"]
            .map((field) => problems.get(`parameters[${index}].${field}`))
            .find(Boolean)}
          onChange={(next) => onChange(parameters.with(index, next))}
          onRemove={() => onChange(parameters.toSpliced(index, 1))}
        />
      ))}
      <Button
        size="small"
        icon={Plus}
        onClick={() => onChange([...parameters, { name: "", type: "string" }])}
      >
        Add a parameter
      </Button>
    </Group>
  );
}

function ToolParameter({
  parameter,
  label,
  index,
  error,
  onChange,
  onRemove,
}: {
  parameter: JsonObject;
  label: string;
  index: number;
  error: string | undefined;
  onChange: (next: JsonObject) => void;
  onRemove: () => void;
}) {
  const setField: SetField = (field, value) => onChange(withField(parameter, field, value));
  const type = textOf(parameter.type) || "string";
  const changeType = (next: string) => {
    const otherFields = Object.entries(parameter).filter(([field]) => !TYPE_FIELDS.includes(field));
    onChange({ ...Object.fromEntries(otherFields), type: next });
  };
  return (
    <div className="flex flex-col gap-2 border-line border-b pb-3">
      <div className="flex items-center gap-2">
        <TextInput
          code
          aria-label={`Name of parameter ${index + 1}`}
          placeholder="name"
          autoFocus={textOf(parameter.name) === ""}
          value={textOf(parameter.name)}
          aria-invalid={error ? true : undefined}
          onChange={({ target }) => setField("name", target.value)}
        />
        <SelectInput
          aria-label={`Type of ${label}`}
          className="w-[110px]"
          value={type}
          onChange={({ target }) => changeType(target.value)}
        >
          {TYPES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </SelectInput>
        <IconButton size="small" icon={Trash2} label={`Remove ${label}`} onClick={onRemove} />
      </div>
      <TextInput
        aria-label={`Description of ${label}`}
        placeholder="Description for agents"
        value={textOf(parameter.description)}
        onChange={({ target }) => setField("description", target.value || undefined)}
      />
      <TypeFields parameter={parameter} type={type} label={label} setField={setField} />
      <div className="flex items-center gap-3">
        <Checkbox
          label={`${label} is optional`}
          checked={parameter.optional === true}
          onChange={() => setField("optional", parameter.optional === true ? undefined : true)}
        />
        <span className="type-meta text-ink-2">optional</span>
        <JsonInput
          label={`Default of ${label}`}
          placeholder="default"
          value={parameter.default}
          onChange={(value) => setField("default", value)}
        />
      </div>
      {error && (
        <p role="alert" className="type-meta text-red">
          {error}
        </p>
      )}
    </div>
  );
}

function TypeFields({
  parameter,
  type,
  label,
  setField,
}: {
  parameter: JsonObject;
  type: string;
  label: string;
  setField: SetField;
}) {
  switch (type) {
    case "string":
      return (
        <OptionalSelect
          label={`Format of ${label}`}
          emptyLabel="any text"
          values={FORMATS}
          value={textOf(parameter.format)}
          onChange={(format) => setField("format", format)}
        />
      );
    case "enum":
      return (
        <ValuesInput
          label={`Values of ${label}`}
          values={parameter.enum}
          onChange={(values) => setField("enum", values)}
        />
      );
    case "array":
    case "object":
      return (
        <>
          {type === "array" && !isObject(parameter.schema) && (
            <OptionalSelect
              label={`Items of ${label}`}
              emptyLabel="items of any type"
              values={ITEM_TYPES}
              value={textOf(parameter.items)}
              onChange={(items) => setField("items", items)}
            />
          )}
          <SchemaInput
            label={`JSON Schema of ${label}`}
            value={parameter.schema}
            onChange={(schema) => setField("schema", schema)}
          />
        </>
      );
    default:
      return null;
  }
}

function OptionalSelect({
  label,
  emptyLabel,
  values,
  value,
  onChange,
}: {
  label: string;
  emptyLabel: string;
  values: readonly string[];
  value: string;
  onChange: (value: string | undefined) => void;
}) {
  const options = value === "" || values.includes(value) ? values : [...values, value];
  return (
    <SelectInput
      aria-label={label}
      value={value}
      onChange={({ target }) => onChange(target.value || undefined)}
    >
      <option value="">{emptyLabel}</option>
      {options.map((each) => (
        <option key={each} value={each}>
          {each}
        </option>
      ))}
    </SelectInput>
  );
}

function ValuesInput({
  label,
  values,
  onChange,
}: {
  label: string;
  values: Json | undefined;
  onChange: (values: string[]) => void;
}) {
  const { props } = useTypedText(Array.isArray(values) ? values.join(", ") : "", (text) =>
    onChange(
      text
        .split(",")
        .map((value) => value.trim())
        .filter(Boolean),
    ),
  );
  return <TextInput aria-label={label} placeholder="Values, separated by commas" {...props} />;
}

function JsonInput({
  label,
  placeholder,
  value,
  onChange,
}: {
  label: string;
  placeholder: string;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
}) {
  const { props } = useTypedText(writeJsonText(value), (text) => onChange(readJsonText(text)));
  return <TextInput code aria-label={label} placeholder={placeholder} {...props} />;
}

/** Invalid JSON is saved as text. The hub then reports it as an error of the parameter. */
function SchemaInput({
  label,
  value,
  onChange,
}: {
  label: string;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
}) {
  const { shown, props } = useTypedText(writeJsonText(value), (text) =>
    onChange(readJsonText(text)),
  );
  return (
    <TextArea
      code
      aria-label={label}
      placeholder='JSON Schema, such as { "type": "object" }'
      rows={Math.min(10, Math.max(1, shown.split("\n").length))}
      {...props}
    />
  );
}
