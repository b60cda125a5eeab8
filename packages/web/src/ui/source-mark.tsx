/** Shows the source of an event as two letters in a frame. */
const MARKS: Record<string, string> = {
  github: "GH",
  gitlab: "GL",
  stripe: "ST",
  slack: "SL",
  linear: "LN",
  cloudevents: "CE",
  "standard-webhooks": "SW",
  generic: "WH",
  signalbox: "SB",
  flow: "FL",
};

export const markOf = (source: string): string =>
  MARKS[source] ??
  (source
    .replace(/[^\p{L}\p{N}]/gu, "")
    .slice(0, 2)
    .toUpperCase() ||
    "??");

export function SourceMark({ source }: { source: string }) {
  return (
    <span className="mark" title={source} role="img" aria-label={source}>
      {markOf(source)}
    </span>
  );
}
