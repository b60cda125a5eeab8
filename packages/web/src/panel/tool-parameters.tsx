/** The parameters of a tool: simple ones in a few fields, all others as JSON Schema. */
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
/** What is said of one type, and means nothing for another. */
const TYPE_FIELDS = ["format", "enum", "items", "schema"];

type Put = (field: string, value: Json | undefined) => void;

export function ToolParameters({
  list,
  onChange,
}: {
  list: readonly JsonObject[];
  onChange: (list: JsonObject[]) => void;
}) {
  const { problems } = usePanel();
  return (
    <Group label="Parameters">
      {list.length === 0 && <p className="type-meta text-ink-3">The tool takes no arguments.</p>}
      {list.map((each, nth) => (
        <ToolParameter
          // biome-ignore lint/suspicious/noArrayIndexKey: the name is what is being edited
          key={nth}
          parameter={each}
          label={textOf(each.name) || `parameter ${nth + 1}`}
          nth={nth}
          error={["name", ...TYPE_FIELDS, "default"]
            .map((field) => problems.get(`parameters[${nth}].${field}`))
            .find(Boolean)}
          onChange={(next) => onChange(list.map((other, at) => (at === nth ? next : other)))}
          onRemove={() => onChange(list.filter((_, at) => at !== nth))}
        />
      ))}
      <Button
        size="small"
        icon={Plus}
        onClick={() => onChange([...list, { name: "", type: "string" }])}
      >
        Add a parameter
      </Button>
    </Group>
  );
}

function ToolParameter({
  parameter,
  label,
  nth,
  error,
  onChange,
  onRemove,
}: {
  parameter: JsonObject;
  label: string;
  nth: number;
  error: string | undefined;
  onChange: (next: JsonObject) => void;
  onRemove: () => void;
}) {
  const put: Put = (field, value) => onChange(withField(parameter, field, value));
  const type = textOf(parameter.type) || "string";
  const changeType = (next: string) => {
    const kept = Object.entries(parameter).filter(([field]) => !TYPE_FIELDS.includes(field));
    onChange({ ...Object.fromEntries(kept), type: next });
  };
  return (
    <div className="flex flex-col gap-2 border-line border-b pb-3">
      <div className="flex items-center gap-2">
        <TextInput
          code
          aria-label={`Name of parameter ${nth + 1}`}
          placeholder="name"
          autoFocus={textOf(parameter.name) === ""}
          value={textOf(parameter.name)}
          aria-invalid={error ? true : undefined}
          onChange={({ target }) => put("name", target.value)}
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
        placeholder="What it means, for agents"
        value={textOf(parameter.description)}
        onChange={({ target }) => put("description", target.value || undefined)}
      />
      <TypeFields parameter={parameter} type={type} label={label} put={put} />
      <div className="flex items-center gap-3">
        <Checkbox
          label={`${label} is optional`}
          checked={parameter.optional === true}
          onChange={() => put("optional", parameter.optional === true ? undefined : true)}
        />
        <span className="type-meta text-ink-2">optional</span>
        <JsonInput
          label={`Default of ${label}`}
          placeholder="default"
          value={parameter.default}
          onChange={(value) => put("default", value)}
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

/** What the type needs besides its name. */
function TypeFields({
  parameter,
  type,
  label,
  put,
}: {
  parameter: JsonObject;
  type: string;
  label: string;
  put: Put;
}) {
  switch (type) {
    case "string":
      return (
        <Options
          label={`Format of ${label}`}
          none="any text"
          values={FORMATS}
          value={textOf(parameter.format)}
          onChange={(format) => put("format", format)}
        />
      );
    case "enum":
      return (
        <ValuesInput
          label={`Values of ${label}`}
          values={parameter.enum}
          onChange={(values) => put("enum", values)}
        />
      );
    case "array":
    case "object":
      return (
        <>
          {type === "array" && !isObject(parameter.schema) && (
            <Options
              label={`Items of ${label}`}
              none="items of any type"
              values={ITEM_TYPES}
              value={textOf(parameter.items)}
              onChange={(items) => put("items", items)}
            />
          )}
          <SchemaInput
            label={`JSON Schema of ${label}`}
            value={parameter.schema}
            onChange={(schema) => put("schema", schema)}
          />
        </>
      );
    default:
      return null;
  }
}

function Options({
  label,
  none,
  values,
  value,
  onChange,
}: {
  label: string;
  none: string;
  values: readonly string[];
  value: string;
  onChange: (value: string | undefined) => void;
}) {
  const known = value === "" || values.includes(value) ? values : [...values, value];
  return (
    <SelectInput
      aria-label={label}
      value={value}
      onChange={({ target }) => onChange(target.value || undefined)}
    >
      <option value="">{none}</option>
      {known.map((each) => (
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

/** Text that is not JSON yet is kept too: the hub names what is wrong with it. */
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
