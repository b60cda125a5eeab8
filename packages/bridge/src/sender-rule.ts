/** Decides which senders may wake the agent: `*` in a glob matches any characters, `?` matches one. */
export function createSenderRule(
  globs: readonly string[] | undefined,
): (sender: string | null) => boolean {
  if (globs === undefined) return () => true;
  // An event without a sender matches no glob.
  return (sender) =>
    sender !== null && globs.some((glob) => matchesGlob(glob.toLowerCase(), sender.toLowerCase()));
}

/** Not a regular expression, because backtracking on a hostile name could be exponential. */
function matchesGlob(glob: string, text: string): boolean {
  let [at, from] = [0, 0];
  let star: { at: number; from: number } | undefined;
  while (from < text.length) {
    if (glob[at] === "*") {
      star = { at, from };
      at += 1;
    } else if (at < glob.length && (glob[at] === "?" || glob[at] === text[from])) {
      at += 1;
      from += 1;
    } else if (star) {
      star.from += 1;
      at = star.at + 1;
      from = star.from;
    } else return false;
  }
  while (glob[at] === "*") at += 1;
  return at === glob.length;
}
