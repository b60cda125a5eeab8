/**
 * Payloads as an inbox sees them: `issues` events of some repositories and many people, no two alike.
 * Made from one real example by telling it anew with other names, ids, times and words; to send the
 * same bytes again and again would flatter whoever caches or compresses. The same on every run.
 */
import { createRequire } from "node:module";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const WANTED_BYTES = 10_240;
const PAYLOADS = 512;
const REPOSITORIES = 25;
const PEOPLE = 100;

/** Who and what the example is about. */
const EXAMPLE = {
  login: "Codertocat",
  repo: "Hello-World",
  person: "21031067",
  issue: "/issues/1",
};

interface Told {
  random: () => number;
  repository: number;
  person: number;
  issue: number;
}

export function makePayloads(): Buffer[] {
  const example = nearestExample();
  return Array.from({ length: PAYLOADS }, (_, at) => {
    const random = randomFrom(at);
    const told = {
      random,
      repository: Math.floor(random() * REPOSITORIES),
      person: Math.floor(random() * PEOPLE),
      issue: 1 + Math.floor(random() * 9_999),
    };
    return Buffer.from(JSON.stringify(retell(example, "", told)));
  });
}

/** A real `issues` event of about the size that GitHub's events have on average. */
function nearestExample(): Json {
  // The examples belong to the hub's tests.
  const hub = createRequire(new URL("../packages/hub/package.json", import.meta.url));
  const types = hub("@octokit/webhooks-examples") as { name: string; examples: Json[] }[];
  const issues = types.find(({ name }) => name === "issues")?.examples ?? [];
  const distance = (example: Json) => Math.abs(JSON.stringify(example).length - WANTED_BYTES);
  const [nearest] = [...issues].sort((a, b) => distance(a) - distance(b));
  if (!nearest) throw new Error("@octokit/webhooks-examples has no issues event");
  return nearest;
}

function retell(value: Json, key: string, told: Told): Json {
  if (typeof value === "string") return retellText(value, key, told);
  if (typeof value === "number") return retellNumber(value, key, told);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => retell(item, key, told));
  const within = aboutWhom(value, key, told);
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, retell(part, name, within)]),
  );
}

/** A repository is told alike each time, and so is a person. */
function aboutWhom(value: { [key: string]: Json }, key: string, told: Told): Told {
  if (key === "repository")
    return { ...told, person: told.repository, random: randomFrom(10_000 + told.repository) };
  if (!("login" in value)) return told;
  const person = key === "owner" ? told.repository : Math.floor(told.random() * PEOPLE);
  return { ...told, person, random: randomFrom(20_000 + person) };
}

function retellText(text: string, key: string, told: Told): string {
  if (key === "node_id") return randomText(text.length, told.random);
  if (key.endsWith("_at")) return new Date(1.7e12 + told.random() * 5e10).toISOString();
  if (key === "title") return words(6, told.random);
  if (key === "body") return words(12, told.random);
  return text
    .replaceAll(`${EXAMPLE.login}/${EXAMPLE.repo}`, `${login(told.repository)}/${repo(told)}`)
    .replaceAll(EXAMPLE.repo, repo(told))
    .replaceAll(EXAMPLE.login, login(told.person))
    .replaceAll(EXAMPLE.person, String(personId(told)))
    .replaceAll(new RegExp(`${EXAMPLE.issue}\\b`, "g"), `/issues/${told.issue}`);
}

function retellNumber(value: number, key: string, told: Told): number {
  if (key === "number") return told.issue;
  if (String(value) === EXAMPLE.person) return personId(told);
  return value > 1_000 ? Math.floor((0.1 + 0.9 * told.random()) * 1e9) : value;
}

const personId = ({ person }: Told) => 10_000_000 + Math.floor(randomFrom(30_000 + person)() * 8e7);
const login = (person: number) => words(2, randomFrom(40_000 + person)).replace(" ", "-");
const repo = ({ repository }: Told) => words(2, randomFrom(50_000 + repository)).replace(" ", "-");

const VOCABULARY =
  `signal lamp train switch track platform whistle engine carriage junction tunnel bridge timetable
  error button table window server client request answer header cookie token secret login page form
  should would cannot fails breaks hangs shows hides loses keeps after before when while without
  sometimes always never again slowly wrong missing empty double large small blue red old new first
  last the a an in on of for with from`.split(/\s+/);

const words = (count: number, random: () => number): string =>
  Array.from({ length: count }, () => VOCABULARY[Math.floor(random() * VOCABULARY.length)]).join(
    " ",
  );

const randomText = (length: number, random: () => number): string =>
  Array.from({ length }, () => Math.floor(random() * 36).toString(36)).join("");

/** Mulberry32: small, even enough, and the same everywhere. */
function randomFrom(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b1);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
