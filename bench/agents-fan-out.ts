/**
 * One event to many clients of the stream, beside a loop that does nothing but write. Every client is
 * checked: it had all events, once, in order.
 */
import { startAgentHub } from "./agent-inbox.ts";
import type { Options, Result } from "./benchmark.ts";
import { startFloor } from "./floor-process.ts";
import { startFlags } from "./hub-process.ts";
import type { Load } from "./load-process.ts";
import { complaints, type Measured, measure } from "./measure.ts";
import { cpuSeconds } from "./process-facts.ts";
import type { ReadersReport } from "./readers.ts";
import { median, type Spread, spread } from "./statistics.ts";
import { type Readers, startReaders } from "./stream-processes.ts";
import { figure, percent, range, table } from "./table.ts";
import type { Target } from "./target.ts";

const READERS = 1_000;
const EVENTS_PER_SECOND = 25;
const GOAL_SHARE = 0.7;
const PATIENCE_MS = 20_000;

interface Followed {
  target: Target;
  readers: Readers;
}

interface Round {
  sent: Measured;
  read: ReadersReport;
  serverCpuSeconds: number;
  perCpuSecond: number;
  troubles: string[];
}

interface Line {
  target: string;
  perCpuSecond: Spread;
  /** Deliveries per CPU-second, against the floor's in the same round. */
  share: number;
  microsPerDelivery: number;
  bytesPerEvent: number;
  /** CPU of the readers, against the server's. */
  readersShare: number;
  rounds: Round[];
}

export async function measureFanOut(options: Options, cli: string, load: Load): Promise<Result> {
  const { quick, tell } = options;
  const followed: Followed[] = [];
  const measured = new Map<Target, Round[]>();
  const follow = async (target: Target, token: string) => {
    measured.set(target, []);
    tell(`agents: fan-out: ${figure(READERS)} clients of ${target.name}`);
    followed.push({ target, readers: await startReaders(target.port, token, READERS) });
  };
  try {
    await follow(
      await startFloor(new URL("./stream-floor.ts", import.meta.url), startFlags()),
      "unasked",
    );
    const hub = await startAgentHub({ cli, name: "hub, SQLite" });
    await follow(hub, hub.token);
    for (const one of followed) await fanOut(load, one, 50);
    for (let round = 1; round <= (quick ? 3 : 7); round += 1)
      for (const one of followed) {
        tell(`agents: fan-out: round ${round}, ${one.target.name}`);
        measured.get(one.target)?.push(await fanOut(load, one, quick ? 100 : 200));
      }
  } finally {
    for (const { readers } of followed) await readers.stop();
    for (const target of measured.keys()) await target.stop();
  }
  return toResult(summarize(measured));
}

async function fanOut(load: Load, { target, readers }: Followed, events: number): Promise<Round> {
  const before = cpuSeconds(target.pid);
  const reading = readers.awaitEvents(events, (events / EVENTS_PER_SECOND) * 1000 + PATIENCE_MS);
  const sent = await measure(load, target, {
    connections: 8,
    requests: events,
    seconds: 2 * (events / EVENTS_PER_SECOND),
    rate: EVENTS_PER_SECOND,
  });
  const read = await reading;
  const serverCpuSeconds = cpuSeconds(target.pid) - before;
  return {
    sent,
    read,
    serverCpuSeconds,
    perCpuSecond: (events * READERS) / serverCpuSeconds,
    troubles: [
      ...complaints(target.name, sent),
      ...(sent.answered === events ? [] : [`${sent.answered} of ${events} events were answered`]),
      ...(read.least === events && read.most === events
        ? []
        : [`clients had ${read.least} to ${read.most} of ${events} events`]),
      ...read.failures,
    ].map((trouble) => `${target.name}: ${trouble}`),
  };
}

function summarize(measured: Map<Target, Round[]>): Line[] {
  const [floor = []] = measured.values();
  return [...measured].map(([{ name }, rounds]) => {
    const of = (value: (round: Round) => number) => rounds.map(value);
    return {
      target: name,
      perCpuSecond: spread(of((round) => round.perCpuSecond)),
      share: median(
        rounds.map((round, at) => round.perCpuSecond / (floor[at]?.perCpuSecond ?? Number.NaN)),
      ),
      microsPerDelivery: median(of((round) => 1e6 / round.perCpuSecond)),
      bytesPerEvent: median(of(({ read }) => read.bytesPerEvent)),
      readersShare: median(of((round) => round.read.cpuSeconds / round.serverCpuSeconds)),
      rounds,
    };
  });
}

function toResult(lines: Line[]): Result {
  const troubles = lines.flatMap(({ rounds }) => rounds.flatMap((round) => round.troubles));
  const share = lines.at(-1)?.share ?? Number.NaN;
  return {
    tables: [
      {
        title: `Fan-out: ${EVENTS_PER_SECOND} events a second to ${figure(READERS)} clients of GET /events`,
        text: table(
          [
            "server",
            "deliveries/CPU-s",
            "spread",
            "of floor",
            "CPU µs/delivery",
            "bytes",
            "clients/server CPU",
          ],
          lines.map((line) => [
            line.target,
            figure(line.perCpuSecond.median),
            range(line.perCpuSecond),
            percent(line.share),
            figure(line.microsPerDelivery),
            figure(line.bytesPerEvent),
            percent(line.readersShare),
          ]),
        ),
      },
      ...(troubles.length > 0 ? [{ title: "Invalid rounds", text: troubles.join("\n") }] : []),
    ],
    goals: [
      {
        what: `${figure(READERS)} clients: at least ${percent(GOAL_SHARE)} of the floor's deliveries per CPU-second`,
        met: share >= GOAL_SHARE,
        found: percent(share),
      },
    ],
    valid: troubles.length === 0,
    data: lines,
  };
}
