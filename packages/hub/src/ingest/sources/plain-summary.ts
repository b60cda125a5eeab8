/** For senders without a fixed shape: the fields that mean the same nearly everywhere. */
import type { Summary } from "../../store/store.ts";
import type { JsonObject } from "../source.ts";
import { firstLine, pickNumber, pickText, pickUrl } from "./pick.ts";

const titles = ["title", "name", "subject", "summary", "message", "text", "description"];
const urls = ["html_url", "web_url", "url", "link"];
const senders = ["sender", "actor", "user", "author"];
const people = ["login", "username", "name", "email"];

/** Looks at the top, then in `data`, where envelopes keep what they carry. */
export function summarizePlain(body: JsonObject): Partial<Summary> {
  const places = (names: string[]) => [...names, ...names.map((name) => `data.${name}`)];
  return {
    action: pickText(body, ...places(["action"])),
    repo: null,
    sender: pickText(
      body,
      ...places(senders.flatMap((who) => [who, ...people.map((name) => `${who}.${name}`)])),
    ),
    number: pickNumber(body, ...places(["number"])),
    title: pickText(body, ...places(titles).map(firstLine)),
    url: pickUrl(body, ...places(urls)),
  };
}
