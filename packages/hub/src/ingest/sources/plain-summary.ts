/** Summarizes payloads without a known shape by common field names. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Summary } from "../../store/store.ts";
import { firstLine, pickNumber, pickText, pickUrl } from "./pick.ts";

const titles = ["title", "name", "subject", "summary", "message", "text", "description"];
const urls = ["html_url", "web_url", "url", "link"];
const senders = ["sender", "actor", "user", "author"];
const nameFields = ["login", "username", "name", "email"];

/** Searches the top level first, then `data`, the usual field of envelopes. */
export function summarizePlain(body: JsonObject): Partial<Summary> {
  const paths = (names: string[]) => [...names, ...names.map((name) => `data.${name}`)];
  return {
    action: pickText(body, ...paths(["action"])),
    repo: null,
    sender: pickText(
      body,
      ...paths(
        senders.flatMap((sender) => [sender, ...nameFields.map((name) => `${sender}.${name}`)]),
      ),
    ),
    number: pickNumber(body, ...paths(["number"])),
    title: pickText(body, ...paths(titles).map(firstLine)),
    url: pickUrl(body, ...paths(urls)),
  };
}
