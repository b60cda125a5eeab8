/** The pictures of people, which are the only images of other sites in the web UI. */

/** The origins of GitHub's pictures, for the Content Security Policy. */
export function avatarOrigins(githubUrl: string): string[] {
  const { origin, protocol, host } = new URL(githubUrl);
  if (host === "github.com") return ["https://avatars.githubusercontent.com"];
  // GitHub Enterprise Server, with and without subdomain isolation.
  return [origin, `${protocol}//avatars.${host}`].filter((each) => URL.canParse(each));
}

/** The URL if browsers may load it, else null. */
export const allowedAvatar = (url: string | null, origins: readonly string[]): string | null =>
  url !== null && origins.includes(URL.parse(url)?.origin ?? "") ? url : null;
