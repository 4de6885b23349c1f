import { Type, type Static } from 'typebox';

/** In lower-case hexadecimal. */
export const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });

/**
 * Bytes in an object store, by their hash. Each organisation has its own blobs: a reference means one of the organisation
 * that the referring fact or record belongs to.
 */
export const BlobRef = Type.Object({ sha256: Sha256, bytes: Type.Integer({ minimum: 1 }) });
export type BlobRef = Static<typeof BlobRef>;

/**
 * For the schema of an object that keeps a value of at most MAX_INLINE_BYTES itself, in `inline`, and refers to a larger one
 * in `blob`: exactly one of the two members is not null.
 */
export const inlineOrBlob = (inline: string, blob: string): { readonly oneOf: object[] } => ({
  oneOf: [inline, blob].map((name) => ({ properties: { [name]: Type.Null() } })),
});
