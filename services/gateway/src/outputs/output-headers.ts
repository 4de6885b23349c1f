import { create as contentDisposition } from 'content-disposition';
import type { StoredOutput } from './store/output-store.ts';

/** Files come from workflows, so a browser may show only harmless types, and must save the others. */
export const outputHeaders = (output: StoredOutput): Readonly<Record<string, string>> => ({
  'Content-Type': output.content_type,
  'Content-Disposition': contentDisposition(output.filename, {
    type: isHarmless(output.content_type) ? 'inline' : 'attachment',
  }),
  'Content-Security-Policy':
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self'",
  // Other origins may show an image whose address they know.
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'X-Content-Type-Options': 'nosniff',
  'Accept-Ranges': 'bytes',
  'Cache-Control': 'public, max-age=31536000, immutable',
  ETag: `"${output.sha256}"`,
  'Last-Modified': new Date(output.stored_at).toUTCString(),
});

/** SVG is an image that runs scripts. */
const isHarmless = (contentType: string): boolean => {
  const mime = contentType.split(';', 1)[0]?.trim() ?? '';
  return mime === 'text/plain' || (/^(?:image|video|audio)\//.test(mime) && !mime.includes('svg'));
};
