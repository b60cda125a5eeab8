/** The token of an `Authorization: Bearer …` header; undefined if the header has another form. */
export const bearerToken = (authorization: string | null | undefined): string | undefined =>
  /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
