/** A body on its way into a store. */
export interface StoredBody {
  readonly pieces: AsyncGenerator<Uint8Array, void>;
  /** The error of the body itself, which is not an error of the store. */
  readonly broken: () => unknown;
}

/** Distinguishes a body that failed from a store that failed. */
export const storedBody = (body: AsyncIterable<Uint8Array>): StoredBody => {
  let broken: unknown;
  const pieces = async function* (): AsyncGenerator<Uint8Array, void> {
    try {
      yield* body;
    } catch (error) {
      broken = error;
      throw error;
    }
  };
  return { pieces: pieces(), broken: () => broken };
};
