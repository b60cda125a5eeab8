/** The form of a Schedule trigger: the cron expression, its time zone, and the next times. */
import { cronProblem, isTimeZone } from "@signalbox/rules/flows/cron.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { CalendarClock } from "lucide-react";
import { useEffect, useId, useMemo, useState } from "react";
import { usePanel } from "../panel/panel-context.ts";
import { withField } from "../panel/schema-shape.ts";
import { Button } from "../ui/button.tsx";
import { Field, TextInput } from "../ui/field.tsx";
import { duration } from "../ui/format.ts";
import { Menu } from "../ui/menu.tsx";
import { formatTime, nextFireTimes } from "./fire-times.ts";
import { textOf } from "./text-of.ts";

const EXAMPLES = [
  ["Every 15 minutes", "*/15 * * * *"],
  ["Every hour", "0 * * * *"],
  ["Every day at 9:00", "0 9 * * *"],
  ["Monday to Friday at 9:00", "0 9 * * 1-5"],
  ["Every Monday at 9:00", "0 9 * * 1"],
  ["On the first of the month at 9:00", "0 9 1 * *"],
] as const;

const LOCAL_TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const TIME_ZONES = ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];
const INVALID_TIME_ZONE =
  "must be the IANA name of a time zone, such as Europe/Berlin, America/New_York or UTC";

export function ScheduleForm({
  parameters,
  onChange,
}: {
  parameters: JsonObject;
  onChange: (parameters: JsonObject) => void;
}) {
  const { problems } = usePanel();
  const listId = useId();
  const cron = textOf(parameters.cron);
  const timeZone = textOf(parameters.timeZone);
  const setField = (field: string, value: Json | undefined) =>
    onChange(withField(parameters, field, value));
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-col items-start gap-2">
        <Field
          className="w-full"
          label="Cron expression"
          required
          hint="Minute, hour, day of month, month, weekday. The schedule fires at most once per minute."
          error={cron.trim() === "" ? problems.get("cron") : cronProblem(cron)}
        >
          {(control) => (
            <TextInput
              {...control}
              code
              placeholder="0 9 * * 1-5"
              value={cron}
              onChange={({ target }) => setField("cron", target.value)}
            />
          )}
        </Field>
        <Menu
          label="Examples"
          trigger={
            <Button size="small" icon={CalendarClock}>
              Examples
            </Button>
          }
          items={EXAMPLES.map(([label, example]) => ({
            label,
            note: example,
            checked: cron === example,
            onSelect: () => setField("cron", example),
          }))}
        />
      </div>
      <Field
        label="Time zone"
        hint={
          timeZone === LOCAL_TIME_ZONE
            ? undefined
            : `If blank, UTC is used. The time zone of this browser is ${LOCAL_TIME_ZONE}.`
        }
        error={
          timeZone === "" || isTimeZone(timeZone) ? problems.get("timeZone") : INVALID_TIME_ZONE
        }
      >
        {(control) => (
          <>
            <TextInput
              {...control}
              code
              list={listId}
              placeholder="UTC"
              value={timeZone}
              onChange={({ target }) => setField("timeZone", target.value || undefined)}
            />
            <datalist id={listId}>
              {TIME_ZONES.map((zone) => (
                <option key={zone} value={zone} />
              ))}
            </datalist>
          </>
        )}
      </Field>
      <NextTimes cron={cron} timeZone={timeZone || "UTC"} />
    </div>
  );
}

const MINUTE_MS = 60_000;

/** The current time, updated every minute. */
function useCurrentMinute(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setTimeout(() => setNow(Date.now()), MINUTE_MS - (now % MINUTE_MS));
    return () => clearTimeout(timer);
  }, [now]);
  return now;
}

function NextTimes({ cron, timeZone }: { cron: string; timeZone: string }) {
  const now = useCurrentMinute();
  const times = useMemo(() => nextFireTimes(cron, timeZone, now), [cron, timeZone, now]);
  if (times.length === 0) return null;
  return (
    <section aria-label="Next times" className="flex flex-col gap-1 rounded-tile bg-sunk p-3">
      <h4 className="type-label text-ink-2">Fires next</h4>
      <ol className="flex flex-col gap-1">
        {times.map((time) => (
          <li key={time} className="flex flex-wrap items-baseline gap-x-3">
            <time dateTime={new Date(time).toISOString()}>{formatTime(time, timeZone)}</time>
            <span className="ml-auto type-meta text-ink-3">in {duration(time - now)}</span>
            {timeZone !== LOCAL_TIME_ZONE && (
              <span className="w-full type-meta text-ink-3">
                {formatTime(time, LOCAL_TIME_ZONE)} local time
              </span>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
