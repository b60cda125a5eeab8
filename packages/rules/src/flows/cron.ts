/** Cron expressions in a time zone: which are valid, and when they fire. Pure. */
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

/** Five fields, six with seconds, or a nickname. Croner would also accept a date, which fires once. */
const SHAPE = /^(?:@[a-z]+|\S+(?:\s+\S+){4,5})$/i;

const FIELDS =
  "must have five fields: minute, hour, day of month, month and weekday, such as `0 9 * * 1-5`";

/** The gap does not depend on the time zone. The first ticks contain the smallest one. */
const SOME_TIME = new Date(Date.UTC(2024, 0, 1));
const SOME_TICKS = 4;

/** Why the expression cannot be used; undefined if it is valid. */
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
  const gaps = ticks.slice(1).map((tick, at) => tick.getTime() - (ticks[at] as Date).getTime());
  if (Math.min(...gaps) < MIN_GAP_MS)
    return "fires more than once a minute: use one number as the seconds, or omit the field of seconds";
  return undefined;
}

/** Croner's message without its prefix, such as `invalid value for minute: 60`. */
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

/** The first tick after this time; null if there is none. */
export const nextTick = (times: CronTimes, after: number): number | null =>
  parse(times).nextRun(new Date(after))?.getTime() ?? null;

/** The number of ticks from `from`, which is one of them, to `until`; counted up to `max`. */
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

/** The last tick up to `until`. `from` is a tick, too. */
export function lastTick(times: CronTimes, from: number, until: number): number {
  const cron = parse(times);
  const tickAfter = (time: number) =>
    cron.nextRun(new Date(time))?.getTime() ?? Number.POSITIVE_INFINITY;
  // Searches backwards in growing windows, because there may be millions of ticks since `from`.
  let tick = from;
  for (let window = MIN_GAP_MS; tick === from && until - window > from; window *= 2) {
    const found = tickAfter(until - window);
    if (found <= until) tick = found;
  }
  for (let next = tickAfter(tick); next <= until; next = tickAfter(tick)) tick = next;
  return tick;
}

const parse = ({ cron, timeZone }: CronTimes) =>
  new Cron(cron.trim(), { timezone: timeZone, mode: "5-or-6-parts", paused: true });
