import { idFloor, timeOfId } from "../../kernel/lib/ids.ts";
import { first, query, type Verb } from "../../kernel/store/sql.ts";
import { read, write } from "../../kernel/store/verb.ts";
import {
  acceptClock as accept,
  type ClockReading,
  type RetentionClock,
  readClock,
  startClock,
} from "./retention-clock.ts";

export const getClock = read("own", function* (): Verb<RetentionClock | undefined> {
  const row = yield* first<{ state: string }>(
    `SELECT state FROM retention_clock WHERE id = 1${this.dialect?.forUpdate ?? ""}`,
  );
  return row && (JSON.parse(row.state) as RetentionClock);
});

/** Updates the clock of retention (retention-clock.ts), and returns it. */
export const observeClock = write("own", function* (reading: ClockReading): Verb<RetentionClock> {
  const clock =
    (yield* getClock.call(this)) ?? startClock(yield* newestTime(reading.wall), reading.wall);
  return yield* putClock(readClock(clock, reading));
});

/** Believes a step of the wall clock now. Undefined if no hub has used the database. */
export const acceptClock = write("own", function* (wall: number): Verb<RetentionClock | undefined> {
  const clock = yield* getClock.call(this);
  return clock && (yield* putClock(accept(clock, wall)));
});

function* putClock(clock: RetentionClock): Verb<RetentionClock> {
  yield* query(
    "INSERT INTO retention_clock (id, state) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state",
    [JSON.stringify(clock)],
  );
  return clock;
}

/**
 * The later of the last sweep of a hub that had no retention clock, and the newest event. Events with a
 * time after the wall clock are ignored, because one of the two must be wrong.
 */
function* newestTime(wall: number): Verb<number | undefined> {
  const sweep = yield* first<{ at: number }>("SELECT checked_at AS at FROM health WHERE id = 2");
  const event = yield* first<{ id: string }>(
    "SELECT id FROM events WHERE id < ? ORDER BY id DESC LIMIT 1",
    [idFloor(wall)],
  );
  const times = [...(sweep ? [sweep.at] : []), ...(event ? [timeOfId(event.id)] : [])];
  return times.length === 0 ? undefined : Math.max(...times);
}
