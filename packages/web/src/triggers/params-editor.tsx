/** Edits the params of a trigger: those that its server declares, and conditions on other paths. */
import { allowedValues, type DeclaredParam } from "@signalbox/rules/flows/declared-params.ts";
import { writePath } from "@signalbox/rules/flows/issues.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import type { Operator } from "@signalbox/rules/match/operators.ts";
import { ListTree, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { usePanel } from "../panel/panel-context.ts";
import { withField } from "../panel/schema-shape.ts";
import { type Row, useRows } from "../panel/use-rows.ts";
import { useTypedText } from "../panel/use-typed-text.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Field, SelectInput, TextInput } from "../ui/field.tsx";
import { conditionProblem, OPERATORS, readCondition, writeCondition } from "./condition.ts";
import { PathDialog } from "./path-dialog.tsx";

export type DeclaredParams = ReadonlyMap<string, DeclaredParam>;

export function ParamsEditor({
  params,
  declared,
  sampleEvent,
  onChange,
}: {
  params: JsonObject;
  declared: DeclaredParams;
  /** The id of the newest event of the source, from whose payload the user can pick a path. */
  sampleEvent: string | undefined;
  onChange: (params: JsonObject | undefined) => void;
}) {
  const entries = Object.entries(params);
  const declaredValues = Object.fromEntries(entries.filter(([name]) => declared.has(name)));
  const conditions = Object.fromEntries(entries.filter(([name]) => !declared.has(name)));
  const change = (next: JsonObject) => onChange(Object.keys(next).length > 0 ? next : undefined);
  return (
    <div className="flex flex-col gap-4">
      {[...declared].map(([name, param]) => (
        <DeclaredParamField
          key={name}
          name={name}
          declared={param}
          param={declaredValues[name]}
          onChange={(next) => change({ ...withField(declaredValues, name, next), ...conditions })}
        />
      ))}
      <Conditions
        conditions={conditions}
        hasDeclared={declared.size > 0}
        sampleEvent={sampleEvent}
        onChange={(next) => change({ ...declaredValues, ...next })}
      />
    </div>
  );
}

/** Returns a problem that the browser finds, or the one that the hub has reported. */
function useProblem(path: string, param: Json | undefined): string | undefined {
  const { problems } = usePanel();
  return conditionProblem(path, param ?? "") ?? problems.get(writePath(["params", path]));
}

function DeclaredParamField({
  name,
  declared: { schema, isRequired },
  param,
  onChange,
}: {
  name: string;
  declared: DeclaredParam;
  param: Json | undefined;
  onChange: (param: Json | undefined) => void;
}) {
  const { problems } = usePanel();
  const { title, description } = schema;
  return (
    <Field
      label={typeof title === "string" ? title : name}
      required={isRequired}
      hint={typeof description === "string" ? description : undefined}
      error={problems.get(writePath(["params", name]))}
    >
      {(control) => (
        <ConditionInput
          label={name}
          control={control}
          param={param}
          allowed={allowedValues(schema)}
          // A blank value of the operator `is` matches any value, like no condition.
          onChange={(next) => onChange(next === "" ? undefined : next)}
        />
      )}
    </Field>
  );
}

/** A select field for the operator, and a control for its value. */
function ConditionInput({
  label,
  control,
  param,
  allowed,
  onChange,
}: {
  label: string;
  control: Record<string, unknown>;
  param: Json | undefined;
  allowed: readonly Json[] | undefined;
  onChange: (param: Json) => void;
}) {
  const condition = readCondition(param);
  const { op, text } = condition;
  const { props } = useTypedText(text, (next) => onChange(writeCondition({ op, text: next })));
  const choose = (next: string) => onChange(writeCondition({ op, text: next }));
  return (
    <div className="flex min-w-0 gap-1">
      <SelectInput
        aria-label={`Operator of ${label}`}
        className="w-[112px] flex-none"
        value={op}
        onChange={({ target }) => onChange(writeCondition({ op: target.value as Operator, text }))}
      >
        {OPERATORS.map((each) => (
          <option key={each.op} value={each.op}>
            {each.label}
          </option>
        ))}
      </SelectInput>
      {op === "exists" ? (
        <SelectInput {...control} value={text} onChange={({ target }) => choose(target.value)}>
          <option value="true">yes</option>
          <option value="false">no</option>
        </SelectInput>
      ) : allowed && (op === "eq" || op === "ne") ? (
        <SelectInput {...control} value={text} onChange={({ target }) => choose(target.value)}>
          <option value="">any value</option>
          {[...new Set([...allowed.map(String), ...(text === "" ? [] : [text])])].map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </SelectInput>
      ) : (
        <TextInput
          {...control}
          {...props}
          code
          placeholder={op === "in" ? "values, separated by commas" : "any value"}
        />
      )}
    </div>
  );
}

function Conditions({
  conditions,
  hasDeclared,
  sampleEvent,
  onChange,
}: {
  conditions: JsonObject;
  hasDeclared: boolean;
  sampleEvent: string | undefined;
  onChange: (conditions: JsonObject) => void;
}) {
  const [rows, changeRows] = useRows(conditions, (next) => onChange(next ?? {}));
  const [isPicking, setPicking] = useState(false);
  return (
    <fieldset className="flex min-w-0 flex-col gap-3 rounded-tile border border-line p-3">
      <legend className="px-1 type-label text-ink-2">
        {hasDeclared ? "More conditions" : "Conditions"}
      </legend>
      {rows.length === 0 && (
        <p className="type-meta text-ink-3">
          {hasDeclared
            ? "You can add conditions on other fields of the event."
            : "Every event of the source and type matches."}
        </p>
      )}
      {rows.map(([path, param], index) => (
        <ConditionRow
          // biome-ignore lint/suspicious/noArrayIndexKey: the user edits the path, so it cannot be the key
          key={index}
          index={index}
          row={[path, param]}
          onChange={(row) => changeRows(rows.with(index, row))}
          onRemove={() => changeRows(rows.toSpliced(index, 1))}
        />
      ))}
      <div className="flex flex-wrap gap-2">
        <Button
          size="small"
          icon={Plus}
          disabled={rows.some(([path]) => path === "")}
          onClick={() => changeRows([...rows, ["", ""]])}
        >
          Add a condition
        </Button>
        {sampleEvent !== undefined && (
          <Button size="small" icon={ListTree} onClick={() => setPicking(true)}>
            Pick from an event
          </Button>
        )}
      </div>
      {isPicking && sampleEvent !== undefined && (
        <PathDialog
          event={sampleEvent}
          onPick={(path, value) =>
            changeRows([...rows.filter(([each]) => each !== path && each !== ""), [path, value]])
          }
          onClose={() => setPicking(false)}
        />
      )}
    </fieldset>
  );
}

function ConditionRow({
  index,
  row: [path, param],
  onChange,
  onRemove,
}: {
  index: number;
  row: Row;
  onChange: (row: Row) => void;
  onRemove: () => void;
}) {
  const conditionError = useProblem(path, param);
  // A new row is blank, and shows no error.
  const problem = path !== "" ? conditionError : param === "" ? undefined : "A path is required.";
  const name = path || `condition ${index + 1}`;
  return (
    <div className="flex flex-col gap-1 border-line border-b pb-3">
      <div className="flex items-center gap-1">
        <TextInput
          code
          aria-label={`Path of condition ${index + 1}`}
          placeholder="issue.labels[].name"
          autoFocus={path === ""}
          aria-invalid={problem ? true : undefined}
          value={path}
          onChange={({ target }) => onChange([target.value, param])}
        />
        <IconButton size="small" icon={Trash2} label={`Remove ${name}`} onClick={onRemove} />
      </div>
      <ConditionInput
        label={name}
        control={{ "aria-label": `Value of ${name}` }}
        param={param}
        allowed={undefined}
        onChange={(next) => onChange([path, next])}
      />
      {problem && (
        <p role="alert" className="wrap-anywhere type-meta text-red">
          {problem}
        </p>
      )}
    </div>
  );
}
