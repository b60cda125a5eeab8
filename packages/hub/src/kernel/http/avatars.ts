/** Avatars of people are the only images that the web UI loads from other sites. */

/** Returns the origins of GitHub's avatars, for the Content Security Policy. */
export function avatarOrigins(githubUrl: string): string[] {
  const { origin, protocol, host } = new URL(githubUrl);
  if (host === "github.com") return ["https://avatars.githubusercontent.com"];
  // GitHub Enterprise Server, with and without subdomain isolation.
  return [origin, `${protocol}//avatars.${host}`].filter((candidate) => URL.canParse(candidate));
}

/** Returns the URL if it has one of the origins, else null. */
export const allowedAvatar = (url: string | null, origins: readonly string[]): string | null =>
  url !== null && origins.includes(URL.parse(url)?.origin ?? "") ? url : null;
