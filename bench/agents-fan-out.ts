/**
 * Sends each event to many stream clients, compared with a server that only writes to sockets. It
 * checks that every client got every event once and in order.
 */
import { startAgentHub } from "./agent-hub.ts";
import { startBaseline } from "./baseline-process.ts";
import type { Options, Result } from "./benchmark.ts";
import { startFlags } from "./hub-process.ts";
import type { Load } from "./load-process.ts";
import { invalidReasons, type Measurement, measure } from "./measure.ts";
import { cpuSeconds } from "./process-stats.ts";
import { median, relativeTo, type Spread, spread } from "./statistics.ts";
import type { StreamClientsReport } from "./stream-clients.ts";
import { type StreamClients, startStreamClients } from "./stream-processes.ts";
import { figure, percent, range, table } from "./table.ts";
import type { Target } from "./target.ts";

const CLIENTS = 1_000;
const EVENTS_PER_SECOND = 25;
const GOAL_SHARE = 0.7;
const TIMEOUT_MS = 20_000;

interface ServerWithClients {
  target: Target;
  clients: StreamClients;
}

interface Round {
  sent: Measurement;
  read: StreamClientsReport;
  serverCpuSeconds: number;
  perCpuSecond: number;
  problems: string[];
}

interface Line {
  target: string;
  perCpuSecond: Spread;
  /** Deliveries per CPU-second, relative to the baseline in the same round. */
  share: number;
  microsPerDelivery: number;
  bytesPerEvent: number;
  /** CPU time of the clients, relative to the server's. */
  clientsShare: number;
  rounds: Round[];
}

export async function measureFanOut(options: Options, cli: string, load: Load): Promise<Result> {
  const { quick, reportProgress } = options;
  const servers: ServerWithClients[] = [];
  const measured = new Map<Target, Round[]>();
  const addServer = async (target: Target, token: string) => {
    measured.set(target, []);
    reportProgress(`agents: fan-out: ${figure(CLIENTS)} clients of ${target.name}`);
    servers.push({ target, clients: await startStreamClients(target.port, token, CLIENTS) });
  };
  try {
    await addServer(
      await startBaseline(new URL("./stream-baseline.ts", import.meta.url), startFlags()),
      "none",
    );
    const hub = await startAgentHub({ cli, name: "hub, SQLite" });
    await addServer(hub, hub.token);
    for (const server of servers) await fanOut(load, server, 50);
    for (let round = 1; round <= (quick ? 3 : 7); round += 1)
      for (const server of servers) {
        reportProgress(`agents: fan-out: round ${round}, ${server.target.name}`);
        measured.get(server.target)?.push(await fanOut(load, server, quick ? 100 : 200));
      }
  } finally {
    for (const { clients } of servers) await clients.stop();
    for (const target of measured.keys()) await target.stop();
  }
  return toResult(summarize(measured));
}

async function fanOut(
  load: Load,
  { target, clients }: ServerWithClients,
  events: number,
): Promise<Round> {
  const before = cpuSeconds(target.pid);
  const reading = clients.awaitEvents(events, (events / EVENTS_PER_SECOND) * 1000 + TIMEOUT_MS);
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
    perCpuSecond: (events * CLIENTS) / serverCpuSeconds,
    problems: [
      ...invalidReasons(target.name, sent),
      ...(sent.completed === events
        ? []
        : [`${sent.completed} of ${events} webhooks got a response`]),
      ...(read.min === events && read.max === events
        ? []
        : [`clients got ${read.min} to ${read.max} of ${events} events`]),
      ...read.failures,
    ].map((problem) => `${target.name}: ${problem}`),
  };
}

function summarize(measured: Map<Target, Round[]>): Line[] {
  const [baseline = []] = measured.values();
  return [...measured].map(([{ name }, rounds]) => {
    const of = (value: (round: Round) => number) => rounds.map(value);
    return {
      target: name,
      perCpuSecond: spread(of((round) => round.perCpuSecond)),
      share: relativeTo(baseline, rounds, (round) => round.perCpuSecond),
      microsPerDelivery: median(of((round) => 1e6 / round.perCpuSecond)),
      bytesPerEvent: median(of(({ read }) => read.bytesPerEvent)),
      clientsShare: median(of((round) => round.read.cpuSeconds / round.serverCpuSeconds)),
      rounds,
    };
  });
}

function toResult(lines: Line[]): Result {
  const problems = lines.flatMap(({ rounds }) => rounds.flatMap((round) => round.problems));
  const share = lines.at(-1)?.share ?? Number.NaN;
  return {
    tables: [
      {
        title: `Fan-out: ${EVENTS_PER_SECOND} events per second to ${figure(CLIENTS)} clients of GET /events`,
        text: table(
          [
            "server",
            "deliveries/CPU-s",
            "spread",
            "of baseline",
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
            percent(line.clientsShare),
          ]),
        ),
      },
      ...(problems.length > 0 ? [{ title: "Invalid rounds", text: problems.join("\n") }] : []),
    ],
    goals: [
      {
        what: `${figure(CLIENTS)} clients: at least ${percent(GOAL_SHARE)} of the baseline's deliveries per CPU-second`,
        isMet: share >= GOAL_SHARE,
        result: percent(share),
      },
    ],
    isValid: problems.length === 0,
    data: lines,
  };
}
