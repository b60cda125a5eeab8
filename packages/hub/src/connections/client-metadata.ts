/** What the hub tells as an OAuth client, in its metadata document or when it registers. */
export const clientMetadata = (redirectUri: string) => ({
  client_name: "Signalbox",
  redirect_uris: [redirectUri],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
});
