/** The first and the last byte, both included. */
export interface ByteSpan {
  readonly first: number;
  readonly last: number;
}

export type Range =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly span: ByteSpan }
  | { readonly kind: 'unsatisfiable' };

/**
 * The header `Range` (RFC 9110, section 14.2) for a file of this size. One range of bytes is served. For several ranges,
 * other units and invalid ranges the whole file is served, as the RFC allows.
 */
export const readRange = (header: string | undefined, bytes: number): Range => {
  const [, from = '', to = ''] = /^bytes=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(header ?? '') ?? [];
  if (from === '' && to === '') return { kind: 'whole' };
  if (from === '') {
    const length = Math.min(Number(to), bytes);
    return length === 0
      ? { kind: 'unsatisfiable' }
      : { kind: 'part', span: { first: bytes - length, last: bytes - 1 } };
  }
  const first = Number(from);
  if (to !== '' && Number(to) < first) return { kind: 'whole' };
  if (first >= bytes) return { kind: 'unsatisfiable' };
  return { kind: 'part', span: { first, last: to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1) } };
};
