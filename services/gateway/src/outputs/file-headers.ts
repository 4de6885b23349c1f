import { create as contentDisposition } from 'content-disposition';
import type { StoredOutput } from './store/output-store.ts';

/** What a response says about a file. */
export type DescribedFile = Omit<StoredOutput, 'key'>;

/** Files come from workflows and clients, so a browser may show only harmless types, and must save the others. */
export const fileHeaders = (file: DescribedFile): Readonly<Record<string, string>> => ({
  'Content-Type': file.content_type,
  'Content-Disposition': contentDisposition(file.filename, {
    type: isHarmless(file.content_type) ? 'inline' : 'attachment',
  }),
  'Content-Security-Policy':
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self'",
  // Other origins may show an image whose address they know.
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'X-Content-Type-Options': 'nosniff',
  'Accept-Ranges': 'bytes',
  'Last-Modified': new Date(file.stored_at).toUTCString(),
});

/** SVG is an image that runs scripts. */
const isHarmless = (contentType: string): boolean => {
  const mime = contentType.split(';', 1)[0]?.trim() ?? '';
  return mime === 'text/plain' || (/^(?:image|video|audio)\//.test(mime) && !mime.includes('svg'));
};
