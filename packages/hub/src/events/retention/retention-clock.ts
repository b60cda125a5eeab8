/**
 * The time that retention uses. The wall clock may be wrong, and data that is removed because of it cannot
 * be restored. Therefore retention has a clock of its own, stored in the database and shared by all
 * replicas. It follows the wall clock, but a step of the wall clock does not change the age of any row.
 *
 * A range holds the stamps (`received_at`, `processed_at`, …) that processes have written between two
 * steps. `offset` converts them to this clock's time. After a step, new stamps are in another range, and
 * this clock advances with the monotonic clock. When a step is believed, the clock is set to the wall clock
 * and all offsets change with it, so that ages stay the same.
 */

/** A stamp between `from` and `to` has the time `stamp + offset` on the retention clock. */
interface StampRange {
  from: number;
  to: number;
  offset: number;
}

export interface RetentionTime {
  now: number;
  /** Undefined if every stamp has the right time. */
  ranges?: readonly StampRange[];
}

export interface RetentionClock extends RetentionTime {
  ranges: readonly StampRange[];
  /** Incremented when a step is believed, which changes all times of this clock. */
  steps: number;
  /** A step that is not believed yet, and the time on this clock when it was noticed. */
  pending?: { offset: number; since: number };
}

export interface ClockReading {
  wall: number;
  /** The time that this process expects, by its monotonic clock, and the `steps` of the clock then. */
  expected?: { now: number; steps: number } | undefined;
  /** How far the wall clock may be from the expected time, in both directions. */
  maxGapMs?: number | undefined;
}

const DAY_MS = 24 * 3_600_000;
const BELIEVED_AFTER_MS = DAY_MS;
/** The widest difference between a stamp and the readings of its process before and after it. */
const MARGIN_MS = DAY_MS;
const MAX_RANGES = 32;

/** `newest`: the newest time known from the data; undefined if the database is new. */
export const startClock = (newest: number | undefined, wall: number): RetentionClock => ({
  now: newest ?? wall,
  ranges: [{ from: newest === undefined ? wall : 0, to: newest ?? wall, offset: 0 }],
  steps: 0,
});

export function readClock(clock: RetentionClock, reading: ClockReading): RetentionClock {
  const { wall, expected, maxGapMs = DAY_MS } = reading;
  const now = expected?.steps === clock.steps ? Math.max(clock.now, expected.now) : clock.now;
  const distance = ({ offset }: Pick<StampRange, "offset">) => Math.abs(wall + offset - now);
  const { ranges, steps } = clock;
  if (distance({ offset: 0 }) <= maxGapMs)
    return { now: wall, ranges: addStamp(ranges, wall, 0), steps };

  const [nearest] = [...ranges].sort((a, b) => distance(a) - distance(b));
  const offset = nearest && distance(nearest) <= maxGapMs ? nearest.offset : now - wall;
  const time = Math.max(now, wall + offset);
  const pending = clock.pending?.offset === offset ? clock.pending : { offset, since: time };
  const read = { now: time, ranges: addStamp(ranges, wall, offset), steps, pending };
  return time - pending.since >= BELIEVED_AFTER_MS ? believe(read, offset) : read;
}

/** Believes a step of the wall clock immediately. */
export function acceptClock(clock: RetentionClock, wall: number): RetentionClock {
  const read = readClock(clock, { wall });
  return read.pending ? believe(read, read.pending.offset) : read;
}

const believe = ({ now, ranges, steps }: RetentionClock, by: number): RetentionClock => ({
  now: now - by,
  ranges: ranges.map((range) => ({ ...range, offset: range.offset - by })),
  steps: steps + 1,
});

function addStamp(ranges: readonly StampRange[], stamp: number, offset: number): StampRange[] {
  const isSame = (range: StampRange) => range.offset === offset;
  if (!ranges.some(isSame)) return limit([...ranges, { from: stamp, to: stamp, offset }]);
  return ranges.map((range) =>
    isSame(range) ? union(range, { ...range, from: stamp, to: stamp }) : range,
  );
}

/** The larger offset makes rows younger. */
const union = (a: StampRange, b: StampRange): StampRange => ({
  from: Math.min(a.from, b.from),
  to: Math.max(a.to, b.to),
  offset: Math.max(a.offset, b.offset),
});

/** Above the limit, merges the two ranges whose offsets differ least. */
function limit(ranges: StampRange[]): StampRange[] {
  if (ranges.length <= MAX_RANGES) return ranges;
  const sorted = ranges.sort((a, b) => a.offset - b.offset);
  const gap = (index: number) =>
    (sorted[index + 1]?.offset ?? Number.NaN) - (sorted[index]?.offset ?? 0);
  let closest = 0;
  for (let index = 1; index < sorted.length - 1; index += 1)
    if (gap(index) < gap(closest)) closest = index;
  const [a, b] = sorted.splice(closest, 2) as [StampRange, StampRange];
  return [...sorted, union(a, b)];
}

/** Stamps between `from` and `to`, both included. */
export interface Span {
  from: number;
  to: number;
}

/**
 * Returns the stamps that are at least `age` old. A stamp in several ranges must be old enough in all of
 * them, and a stamp in none is not old.
 */
export function expiredSpans({ now, ranges }: RetentionTime, age: number): Span[] {
  const ends = now - age;
  if (!ranges) return [{ from: 0, to: ends }];
  const covered = ranges.map(({ from, to, offset }) => ({
    from: from - MARGIN_MS,
    to: to + MARGIN_MS,
    expiredTo: ends - offset,
  }));
  const edges = covered.flatMap(({ from, to, expiredTo }) => [from, to, expiredTo]);
  const sorted = [...new Set(edges)].sort((a, b) => a - b);
  const spans: Span[] = [];
  for (const [index, to] of sorted.entries()) {
    const from = sorted[index - 1];
    if (from === undefined) continue;
    const around = covered.filter((range) => range.from <= from && to <= range.to);
    if (around.length === 0 || around.some(({ expiredTo }) => expiredTo < to)) continue;
    const last = spans.at(-1);
    if (last?.to === from) last.to = to;
    else spans.push({ from, to });
  }
  return spans;
}
