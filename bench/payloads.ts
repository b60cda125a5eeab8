/**
 * Realistic payloads: `issues` events of 25 repositories and 100 users, all different. They are
 * generated from one real example with other names, ids, times and texts, because identical bytes
 * would make caches and compression look too good. The seed is fixed, so every run uses the same ones.
 */
import { createRequire } from "node:module";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const TARGET_BYTES = 10_240;
const PAYLOADS = 512;
const REPOSITORIES = 25;
const PEOPLE = 100;

/** The values of the example that are replaced. */
const EXAMPLE = {
  login: "Codertocat",
  repo: "Hello-World",
  person: "21031067",
  issue: "/issues/1",
};

interface Variant {
  random: () => number;
  repository: number;
  person: number;
  issue: number;
}

/** Returns the payloads, with the id of a GitHub App's installation if it is defined. */
export function makePayloads(installation?: number): Buffer[] {
  const example = nearestExample();
  return Array.from({ length: PAYLOADS }, (_, at) => {
    const random = randomFrom(at);
    const variant = {
      random,
      repository: Math.floor(random() * REPOSITORIES),
      person: Math.floor(random() * PEOPLE),
      issue: 1 + Math.floor(random() * 9_999),
    };
    const payload = vary(example, "", variant) as { [key: string]: Json };
    if (installation !== undefined) payload.installation = { id: installation };
    return Buffer.from(JSON.stringify(payload));
  });
}

/** The real `issues` event whose size is closest to the average of GitHub's events. */
function nearestExample(): Json {
  // The examples are a dependency of the hub's tests.
  const hub = createRequire(new URL("../packages/hub/package.json", import.meta.url));
  const types = hub("@octokit/webhooks-examples") as { name: string; examples: Json[] }[];
  const issues = types.find(({ name }) => name === "issues")?.examples ?? [];
  const distance = (example: Json) => Math.abs(JSON.stringify(example).length - TARGET_BYTES);
  const [nearest] = [...issues].sort((a, b) => distance(a) - distance(b));
  if (!nearest) throw new Error("@octokit/webhooks-examples has no issues event");
  return nearest;
}

function vary(value: Json, key: string, variant: Variant): Json {
  if (typeof value === "string") return varyText(value, key, variant);
  if (typeof value === "number") return varyNumber(value, key, variant);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => vary(item, key, variant));
  const inner = variantFor(value, key, variant);
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, vary(part, name, inner)]),
  );
}

/** The same repository or person gets the same values in every payload. */
function variantFor(value: { [key: string]: Json }, key: string, variant: Variant): Variant {
  if (key === "repository")
    return {
      ...variant,
      person: variant.repository,
      random: randomFrom(10_000 + variant.repository),
    };
  if (!("login" in value)) return variant;
  const person = key === "owner" ? variant.repository : Math.floor(variant.random() * PEOPLE);
  return { ...variant, person, random: randomFrom(20_000 + person) };
}

function varyText(text: string, key: string, variant: Variant): string {
  if (key === "node_id") return randomText(text.length, variant.random);
  if (key.endsWith("_at")) return new Date(1.7e12 + variant.random() * 5e10).toISOString();
  if (key === "title") return words(6, variant.random);
  if (key === "body") return words(12, variant.random);
  return text
    .replaceAll(`${EXAMPLE.login}/${EXAMPLE.repo}`, `${login(variant.repository)}/${repo(variant)}`)
    .replaceAll(EXAMPLE.repo, repo(variant))
    .replaceAll(EXAMPLE.login, login(variant.person))
    .replaceAll(EXAMPLE.person, String(personId(variant)))
    .replaceAll(new RegExp(`${EXAMPLE.issue}\\b`, "g"), `/issues/${variant.issue}`);
}

function varyNumber(value: number, key: string, variant: Variant): number {
  if (key === "number") return variant.issue;
  if (String(value) === EXAMPLE.person) return personId(variant);
  return value > 1_000 ? Math.floor((0.1 + 0.9 * variant.random()) * 1e9) : value;
}

const personId = ({ person }: Variant) =>
  10_000_000 + Math.floor(randomFrom(30_000 + person)() * 8e7);
const login = (person: number) => words(2, randomFrom(40_000 + person)).replace(" ", "-");
const repo = ({ repository }: Variant) =>
  words(2, randomFrom(50_000 + repository)).replace(" ", "-");

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

/** Mulberry32, a small deterministic generator. */
function randomFrom(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b1);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
