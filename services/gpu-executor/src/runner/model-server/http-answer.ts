/** The body of an answer as text; undefined when it has more bytes than `maxBytes`. */
export const boundedText = async (
  body: AsyncIterable<Uint8Array> | null,
  maxBytes: number,
): Promise<string | undefined> => {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.byteLength;
    if (bytes > maxBytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
};

/** Why a server cannot be reached. `fetch` hides the reason of the system behind a general one. */
export const whyOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
};
