/** Validates cron expressions, and computes the times at which they fire in a time zone. Pure. */
import { Cron } from "croner";

/** The shortest time between two ticks. */
export const MIN_GAP_MS = 60_000;

/** When a schedule fires. */
export interface CronTimes {
  cron: string;
  /** An IANA name such as `Europe/Berlin`. */
  timeZone: string;
}

export const MAX_CRON_LENGTH = 200;

/** Five fields, six with seconds, or a nickname such as `@daily`. Croner would also accept a date. */
const SHAPE = /^(?:@[a-z]+|\S+(?:\s+\S+){4,5})$/i;

const FIELDS =
  "must have five fields: minute, hour, day of month, month and weekday, such as `0 9 * * 1-5`";

/** If ticks are less than a minute apart, two of the first ticks after any time are, in any time zone. */
const SOME_TIME = new Date(Date.UTC(2024, 0, 1));
const SOME_TICKS = 4;

/** Returns why the expression cannot be used; undefined if it is valid. */
export function cronProblem(text: string): string | undefined {
  const cron = text.trim();
  if (cron.length > MAX_CRON_LENGTH) return undefined; // the schema reports the length
  if (!SHAPE.test(cron)) return FIELDS;
  let ticks: Date[];
  try {
    ticks = parse({ cron, timeZone: "UTC" }).nextRuns(SOME_TICKS, SOME_TIME);
  } catch (error) {
    return `is not a cron expression: ${reasonOf(error)}`;
  }
  if (ticks.length === 0)
    return "never fires, because no such date exists: change the day of month or the month";
  const gaps = ticks
    .slice(1)
    .map((tick, index) => tick.getTime() - (ticks[index] as Date).getTime());
  if (Math.min(...gaps) < MIN_GAP_MS)
    return "fires more than once a minute: use one number as the seconds, or omit the field of seconds";
  return undefined;
}

/** Returns Croner's message without its prefix, such as `invalid value for minute: 60`. */
const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error))
    .replace(/^Cron\w+: /, "")
    .replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());

export function isTimeZone(name: string): boolean {
  if (name.trim() === "") return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

/** Returns the first tick after a time; null if there is none. */
export const nextTick = (times: CronTimes, after: number): number | null =>
  parse(times).nextRun(new Date(after))?.getTime() ?? null;

/** Counts the ticks from `from`, which is a tick itself, to `until`. Stops counting at `max`. */
export function countTicks(times: CronTimes, from: number, until: number, max: number): number {
  const cron = parse(times);
  let count = 0;
  for (
    let tick: number | undefined = from;
    tick !== undefined && tick <= until && count < max;
    tick = cron.nextRun(new Date(tick))?.getTime()
  )
    count += 1;
  return count;
}

/** Returns the last tick from `from`, which is a tick itself, to `until`. */
export function lastTick(times: CronTimes, from: number, until: number): number {
  const cron = parse(times);
  const tickAfter = (time: number) =>
    cron.nextRun(new Date(time))?.getTime() ?? Number.POSITIVE_INFINITY;
  // Searches backwards in growing windows, because there may be millions of ticks since `from`.
  let tick = from;
  for (let window = MIN_GAP_MS; tick === from && until - window > from; window *= 2) {
    const firstInWindow = tickAfter(until - window);
    if (firstInWindow <= until) tick = firstInWindow;
  }
  for (let next = tickAfter(tick); next <= until; next = tickAfter(tick)) tick = next;
  return tick;
}

const parse = ({ cron, timeZone }: CronTimes) =>
  new Cron(cron.trim(), { timezone: timeZone, mode: "5-or-6-parts", paused: true });
