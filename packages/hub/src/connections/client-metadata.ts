/** The metadata of the hub as an OAuth client, for its metadata document and for its registration. */
export const clientMetadata = (redirectUri: string) => ({
  client_name: "Signalbox",
  redirect_uris: [redirectUri],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
});
