/** A body that is read in parts, one after the other. */
export interface CutBody extends AsyncDisposable {
  /** The next bytes, at most so many. Nothing when the body has ended. */
  part(maxBytes: number): AsyncGenerator<Uint8Array, void>;
  /** The body has ended, or its connection broke. */
  readonly ended: () => boolean;
}

/** A broken connection ends the body: what arrived before is kept, and the client continues behind it. */
export const cutBody = (body: AsyncIterable<Uint8Array>): CutBody => {
  const pieces = body[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();
  let ended = false;
  const next = async (): Promise<Uint8Array | undefined> => {
    if (rest.byteLength > 0) return rest;
    if (ended) return undefined;
    const read = await pieces.next().catch(() => ({ done: true, value: undefined }));
    if (read.done !== true) return read.value;
    ended = true;
    return undefined;
  };
  return {
    part: async function* (maxBytes) {
      for (let left = maxBytes; left > 0;) {
        const piece = await next();
        if (piece === undefined) return;
        const taken = piece.subarray(0, left);
        rest = piece.subarray(taken.byteLength);
        left -= taken.byteLength;
        if (taken.byteLength > 0) yield taken;
      }
    },
    ended: () => ended,
    // Whoever answers a client before it has sent everything reads the rest.
    [Symbol.asyncDispose]: async () => void (await pieces.return?.()),
  };
};
